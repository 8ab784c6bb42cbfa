"""Extension points: a user's own programs, tasks, mechanisms, callbacks and executors.

Wherever Weft takes the name of one of these, on the command line, in configs and in Python, it can
be given in three ways:

    path/file.py:Name    a class in a Python file; the name may be left out if there is only one
    a registered name    after `register("task", "doubling", Doubling)`, or by decorator
    an entry point       of an installed package, in the group `weft.tasks` and so on

Built-in names come first, then registered ones, then entry points. A package is imported when one
of its names is used, so a broken one affects nothing else.

A class is checked when it is registered or loaded: that it has the right base class, that no method
is missing, and that its methods and its constructor take the arguments that Weft calls them with.
"""

from weft.extensions.points import POINTS, ExtensionPoint, NameReference, reference
from weft.extensions.registry import (
    available,
    exists,
    find,
    kind_in_file,
    make,
    register,
    unregister,
)
from weft.extensions.user_files import file_reference, load_file
from weft.extensions.versioning import check_versions, copy_files, versions

__all__ = [
    "POINTS",
    "ExtensionPoint",
    "NameReference",
    "available",
    "check_versions",
    "copy_files",
    "exists",
    "file_reference",
    "find",
    "kind_in_file",
    "load_file",
    "make",
    "reference",
    "register",
    "unregister",
    "versions",
]
