"""The report room; see ARCHITECTURE.md."""
