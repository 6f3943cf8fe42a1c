"""The judge room; see ARCHITECTURE.md."""
