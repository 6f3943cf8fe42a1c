"""The wire room; see ARCHITECTURE.md."""
