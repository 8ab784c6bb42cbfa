"""Bounded execution: every interpreter gives up a loop that does not end after the same round.

The reference interpreter executes a step as it stands, and the front end executes what it cannot
follow. Both do so here. If the code that runs, or code that it names, has a loop, its lines are
traced (`sys.settrace`) and the rounds of each loop are counted from where it is entered. Code
without loops runs untraced. Loops within a builtin, as in `sum(range(10**12))`, are not seen, so
iterators that surely have no end, as in `sum(itertools.count())`, are refused by name.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NoReturn, TypeVar

from weft.errors import Location, WeftError
from weft.language.source import free_variables, function_source
from weft.language.state_access import resolve

Result = TypeVar("Result")

ROUNDS = 10_000
"""How many iterations a loop of a step may take, counted from its entry."""


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
        if not has_loop(frame.f_code):
            return None
        if frame.f_trace is not None:  # a generator that is resumed
            return frame.f_trace
        stuck = self_loops(frame.f_code)
        frame.f_trace_opcodes = bool(stuck)
        return self._lines(stuck)

    def _lines(self, stuck: frozenset[int]) -> Callable[..., Any]:
        last, rounds = 0, dict[int, int]()

        def line(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
            nonlocal last
            here = frame.f_lineno
            if event == "line":
                rounds[here] = 0 if here > last else rounds.get(here, 0) + 1
                last = here
                if rounds[here] > ROUNDS:
                    self._stop(frame)
            elif event == "opcode" and frame.f_lasti in stuck:
                self._stop(frame)
            return line

        return line

    def _stop(self, frame: FrameType) -> NoReturn:
        self.endless = EndlessLoop(Location(frame.f_code.co_filename, frame.f_lineno))
        raise self.endless


@lru_cache(maxsize=4096)
def has_loop(code: CodeType) -> bool:
    """Whether a code object has a backward jump."""
    return any("BACKWARD" in instruction.opname for instruction in dis.get_instructions(code))


@lru_cache(maxsize=4096)
def self_loops(code: CodeType) -> frozenset[int]:
    """Where an instruction jumps to itself, as `while True: pass` on one line; no line passes."""
    result = dis.get_instructions(code)
    return frozenset(i.offset for i in result if "BACKWARD" in i.opname and i.argval == i.offset)


def reaches_loop(function: Any) -> bool:
    """Whether a function, or anything that it or its helpers name, has a loop."""
    return any(_has_loop(result) for result in reachable([function]))


def code_reaches_loop(code: CodeType, names: Mapping[str, Any]) -> bool:
    """Whether code that runs where names stand for these things reaches a loop."""
    result = reachable(_mentioned(code, names, None))
    return any(map(has_loop, _codes(code))) or any(map(_has_loop, result))


def _has_loop(function: FunctionType) -> bool:
    return any(map(has_loop, _codes(function.__code__)))


def check_can_end(owner: str, function: Any) -> None:
    """Refuse a step whose loops could not be ended.

    A builtin would not return from an iterator without an end, and a handler of everything in a
    loop would catch `EndlessLoop` and go on.
    """
    for reached in reachable([function]):
        source = function_source(reached)
        if source is None or _in_stdlib(reached):
            continue
        for place, why in _swallowing(source.node):
            raise WeftError(
                f"{why} in a loop would also catch that the loop does not end",
                subject=f"{owner}.step",
                where=source.location(place),
                remedy="Catch the exceptions that can occur, as in `except ValueError`",
            )
        calls = [node for node in ast.walk(source.node) if isinstance(node, ast.Call)]
        sizes = {id(call.func): len(call.args) + len(call.keywords) for call in calls}
        for node in ast.walk(source.node):
            if isinstance(node, (ast.Name, ast.Attribute)):
                if _is_endless(resolve(reached, node), sizes.get(id(node))):
                    raise WeftError(
                        f"{ast.unparse(node)} may have no end",
                        subject=f"{owner}.step",
                        where=source.location(node),
                        remedy="Loop over a range",
                    )


def _in_stdlib(function: FunctionType) -> bool:
    return (function.__module__ or "").split(".")[0] in sys.stdlib_module_names


def _swallowing(root: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """What in a loop catches everything that a loop or a call within it raises."""
    for loop in ast.walk(root):
        if not isinstance(loop, (ast.For, ast.While)):
            continue
        for node in ast.walk(loop):
            runs = (ast.For, ast.While, ast.Call, ast.comprehension)
            if node is loop or not isinstance(node, (ast.Try, ast.TryStar, ast.With)):
                continue
            inside = [inner for part in node.body for inner in ast.walk(part)]
            if not any(isinstance(inner, runs) for inner in inside):
                continue
            if isinstance(node, ast.With):
                yield node, "`with`"
                continue
            for handler in node.handlers:
                if handler.type is None or "BaseException" in ast.unparse(handler.type):
                    yield handler, "an `except` of everything"
            last = [inner for part in node.finalbody for inner in ast.walk(part)]
            if any(isinstance(inner, (ast.Return, ast.Break, ast.Continue)) for inner in last):
                yield node.finalbody[0], "a jump out of `finally`"


def _is_endless(function: Any, arguments: int | None) -> bool:
    """Whether a function called with this many arguments (None: unknown) iterates forever."""
    if function is itertools.repeat:
        return arguments != 2
    if function is iter:  # `iter(function, end)` goes on until it meets the end
        return arguments == 2
    return function is itertools.count or function is itertools.cycle


def reachable(things: list[Any]) -> Iterator[FunctionType]:
    """The functions that these may run; what is called is not known, so whatever is named."""
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
        yield function
        names = {**function.__globals__, **free_variables(function)}
        mentioned = _mentioned(function.__code__, names, owner)
        if _in_stdlib(function):  # its registries, such as copyreg's, hold what any package adds
            mentioned = [part for part in mentioned if not isinstance(part, (dict, list, set))]
        waiting += mentioned
        waiting += (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())


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
    result = []
    for part in _codes(code):
        mentioned = (*part.co_names, *part.co_freevars)
        things = [names[name] for name in mentioned if name in names]
        modules = [thing for thing in things if isinstance(thing, ModuleType)]
        for holder in [*modules, *([] if owner is None else [owner])]:
            things += [inspect.getattr_static(holder, name, None) for name in mentioned]
        result += things
    return result
