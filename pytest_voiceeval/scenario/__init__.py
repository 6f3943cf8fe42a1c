"""The scenario room; see ARCHITECTURE.md."""
