"""The data room; see ARCHITECTURE.md."""
