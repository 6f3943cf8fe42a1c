"""The call room; see ARCHITECTURE.md."""
