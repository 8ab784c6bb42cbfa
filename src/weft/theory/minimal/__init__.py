"""Minimal programs (ALTA paper, sections 3.2 and 4.1, appendices B.3 and C.2)."""
