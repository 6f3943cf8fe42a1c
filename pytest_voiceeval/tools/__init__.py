"""The tools room; see ARCHITECTURE.md."""
