"""Trace supervision: training from a program's traces (ALTA paper, appendices C.1 and D.1)."""
