"""Turing machines: the program that simulates them, and some well-known machines."""
