"""The bots room; see ARCHITECTURE.md."""
