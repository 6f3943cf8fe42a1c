"""The scoring room; see ARCHITECTURE.md."""
