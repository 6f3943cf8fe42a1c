"""Test voice agents with pytest."""
