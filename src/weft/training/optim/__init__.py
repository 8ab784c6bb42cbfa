"""Optimisers and learning-rate schedules, by name."""
