"""Bounded execution: a loop that does not end is given up after the same round by whoever runs it.

The reference interpreter executes a step as it stands, and the front end executes what it cannot
follow. Both do so here. If the code that runs, or code that it names, has a loop, its lines are
traced (`sys.settrace`) and the rounds of each loop are counted from where it is entered. Code
without loops runs untraced. Loops within a builtin, as in `sum(range(10**12))`, are not seen.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

from weft.errors import Location
from weft.language.source import free_variables

Result = TypeVar("Result")

ROUNDS = 100_000
"""How many rounds a loop of a step may make, counted from where it is entered."""


class EndlessLoop(BaseException):
    """A loop made more than `ROUNDS` rounds; not an `Exception`, so that no handler takes it."""

    def __init__(self, where: Location) -> None:
        super().__init__(ENDLESS)
        self.where = where


ENDLESS = f"a loop does not end within {ROUNDS:,} rounds"


def call_bounded(function: Callable[..., Result], *arguments: Any, traced: bool = True) -> Result:
    """Call a function; `EndlessLoop` if a loop within it makes too many rounds.

    Args:
        function: what is called, with the arguments.
        traced: whether there may be a loop (see `reaches_loop`); without, it is a plain call.

    A tracer that is there already, such as a debugger, stays, and nothing is counted then.
    """
    if not traced or sys.gettrace() is not None:
        return function(*arguments)
    counter = _Counter()
    sys.settrace(counter.enter)
    try:
        result = function(*arguments)
    finally:
        sys.settrace(None)
        if counter.endless is not None:  # even if a handler of the step caught it
            raise counter.endless from None
    return result


class _Counter:
    """Counts rounds: a line at or before the previous one of its call is the next round."""

    def __init__(self) -> None:
        self.endless: EndlessLoop | None = None

    def enter(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        return self._lines() if has_loop(frame.f_code) else None

    def _lines(self) -> Callable[..., Any]:
        last, rounds = 0, dict[int, int]()

        def line(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
            nonlocal last
            here = frame.f_lineno
            if event == "line":
                rounds[here] = 0 if here > last else rounds.get(here, 0) + 1
                last = here
                if rounds[here] > ROUNDS:
                    self.endless = EndlessLoop(Location(frame.f_code.co_filename, here))
                    raise self.endless
            return line

        return line


@lru_cache(maxsize=4096)
def has_loop(code: CodeType) -> bool:
    """Whether a piece of code itself can go back to where it was."""
    return any("BACKWARD" in instruction.opname for instruction in dis.get_instructions(code))


def reaches_loop(function: Any) -> bool:
    """Whether a function, or anything that it or its helpers name, has a loop."""
    return _any_loop([function])


def code_reaches_loop(code: CodeType, names: Mapping[str, Any]) -> bool:
    """Whether code that runs where names stand for these things reaches a loop."""
    return any(map(has_loop, _codes(code))) or _any_loop(_mentioned(code, names, None))


def _any_loop(things: list[Any]) -> bool:
    """Follow names and what they hold; what is called is not known, so all of it counts."""
    waiting, seen = things, list[Any]()
    known = set[int]()
    while waiting:
        thing = waiting.pop()
        if id(thing) in known or isinstance(thing, (int, float, str, bytes, type(None))):
            continue
        known.add(id(thing))
        seen.append(thing)  # an id means something only while its object lives
        owner = thing.__self__ if isinstance(thing, MethodType) else None
        function = thing.__func__ if isinstance(thing, MethodType) else thing
        if not isinstance(function, FunctionType):
            waiting += _content(thing)
            continue
        if any(map(has_loop, _codes(function.__code__))):
            return True
        names = {**function.__globals__, **free_variables(function)}
        waiting += _mentioned(function.__code__, names, owner)
        waiting += (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    return False


def _content(thing: Any) -> list[Any]:
    """What may run when an object is used: functions of its class, or what it holds."""
    match thing:
        case tuple() | list() | set() | frozenset():
            return list(thing)
        case dict():
            return list(thing.values())
        case functools.partial():
            return [thing.func]
        case ModuleType():
            return []
    wrapped = inspect.getattr_static(thing, "__wrapped__", None)  # functools.lru_cache
    cls = thing if isinstance(thing, type) else type(thing)
    values = [value for base in cls.__mro__ for value in vars(base).values()]
    plain = [v.__func__ if isinstance(v, (staticmethod, classmethod)) else v for v in values]
    return [wrapped, *(value for value in plain if isinstance(value, FunctionType))]


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A piece of code with the functions and comprehensions defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _mentioned(code: CodeType, names: Mapping[str, Any], owner: Any) -> list[Any]:
    """What names in a piece of code stand for; of modules and of `self`, the attributes named."""
    found = []
    for part in _codes(code):
        mentioned = (*part.co_names, *part.co_freevars)
        things = [names[name] for name in mentioned if name in names]
        modules = [thing for thing in things if isinstance(thing, ModuleType)]
        for holder in [*modules, *([] if owner is None else [owner])]:
            things += [inspect.getattr_static(holder, name, None) for name in mentioned]
        found += things
    return found
