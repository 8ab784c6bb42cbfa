"""The library of programs, and how a program is named on the command line.

A name is one of the library (`parity`), a C-RASP program (`crasp:dyck-1`, `path/file.crasp`), or a
class in a file (`path/file.py:Class`), with parameters, if it has any, in brackets
(`parity-absolute(positions=128)`).
"""

from weft.programs.crasp import is_crasp
from weft.programs.library import LIBRARY, Entry, is_built_in, program

__all__ = ["LIBRARY", "Entry", "is_built_in", "is_crasp", "program"]
