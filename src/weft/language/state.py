"""The base of all objects that stand for a state: they cannot be used as values.

`state_access` finds escapes in the source of a step. Some are not visible there, as when the state
is passed to a function from a table. Code that then uses the object itself ends up here.
"""

from __future__ import annotations

from typing import Any, NoReturn

_LOOKING = {
    "it is written out as text": ("__str__", "__repr__", "__format__"),
    "it is hashed": ("__hash__",),
    "it is compared": ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"),
    "it is tested": ("__bool__",),
    "it is looped over": ("__iter__", "__len__", "__contains__", "__reversed__"),
    "it is copied": ("__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__"),
    "it is called": ("__call__",),
    "its attributes are listed": ("__dir__",),
    "it is used as a number": ("__index__", "__int__", "__float__", "__complex__"),
}


class StateObject:
    """A state: variables by attribute or by name, and nothing else."""

    __slots__ = ()

    def __escape__(self, what: str) -> NoReturn:
        """Refuse to be used as a value."""
        raise NotImplementedError


def _refusing(what: str) -> Any:
    def refuse(self: StateObject, *_: Any) -> NoReturn:
        self.__escape__(what)

    return refuse


for _what, _names in _LOOKING.items():
    for _name in _names:
        setattr(StateObject, _name, _refusing(_what))
