"""Transformers that execute programs of the trace language exactly."""
