"""SUBLEQ: the one-instruction computer as a program, with an assembler and a plain machine."""
