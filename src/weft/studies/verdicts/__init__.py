"""Verdicts: what a program expresses, what theory predicts, and what training learned."""
