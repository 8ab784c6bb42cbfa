"""The library of programs, and how a program is named on the command line.

A name is one of the library (`parity`), or a class in a file (`path/file.py:Class`), with
parameters, if it has any, in brackets (`parity-absolute(positions=128)`).
"""

from weft.programs.library import LIBRARY, Entry, program

__all__ = ["LIBRARY", "Entry", "program"]
