"""The library of C-RASP programs: formal languages and transduction tasks.

    load("dyck-1")                       a program
    load("bounded-dyck", depth=3)        one of a family, by its parameters
    names(), ENTRIES                     all of them

`counting`, `regular` and `positional` hold languages, in this order: those that need counts, the
regular ones, and those that need to know positions.
"""

from weft.crasp.library import counting, positional, regular
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
]
