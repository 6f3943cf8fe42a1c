"""The packs room; see ARCHITECTURE.md."""
