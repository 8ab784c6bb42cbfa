"""The library of C-RASP programs: formal languages and transduction tasks.

    load("dyck-1")                       a program
    load("bounded-dyck", depth=3)        one of a family, by its parameters
    names(), ENTRIES                     all of them

Languages are in `counting`, `regular` and `positional`: those of counters, the regular ones that
need no positions, and those that do. Tasks with an answer to write are in `transduction`.
"""

from weft.crasp.library import counting, positional, regular, transduction
from weft.crasp.library.catalogue import ENTRIES, Entry, entry, load, names

__all__ = [
    "ENTRIES",
    "Entry",
    "counting",
    "entry",
    "load",
    "names",
    "positional",
    "regular",
    "transduction",
]
