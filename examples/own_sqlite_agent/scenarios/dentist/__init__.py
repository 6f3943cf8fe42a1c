"""Appointments of a dental practice, by phone."""

from . import scenarios

__all__ = ["scenarios"]
