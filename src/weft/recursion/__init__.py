"""Structural recursion: inductive types, functions by equations, and their reduction."""
