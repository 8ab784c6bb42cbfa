"""Calling what a user wrote: whatever it raises becomes one error that names the place.

A program's module, `__init__`, `encode`, `decode`, `sample` and `task` are arbitrary Python. Weft
calls them through this module only. An exception there, `sys.exit` included, is a `WeftError` with
the user's own line; so is a `sample` that returns no tokens. (`step` has its own rules and messages
in the interpreters.)
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import Location, WeftError

if TYPE_CHECKING:
    import random

    from weft.language.program import Program
    from weft.language.stream import Stream

PACKAGE = Path(__file__).parents[1]
LIBRARY = PACKAGE / "programs"


@contextmanager
def user_code(what: str, *, subject: str = "", remedy: str = "") -> Iterator[None]:
    """Turn what a user's code raises into a `WeftError`: "`what`: KeyError: 'x'", with the line."""
    try:
        yield
    except WeftError:
        raise
    except (Exception, SystemExit) as error:
        raise WeftError(
            f"{what}: {described(error)}",
            subject=subject,
            where=_place(error),
            remedy=remedy,
        ) from error


def described(error: BaseException) -> str:
    """An exception on one line, as in "KeyError: 'x'"."""
    if isinstance(error, SystemExit):
        return "it calls sys.exit"
    if isinstance(error, SyntaxError):
        line = f", line {error.lineno}" if error.lineno else ""
        return f"{type(error).__name__}: {error.msg}{line}"
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _place(error: BaseException) -> Location | None:
    """The innermost line of the traceback that a user, or the library of programs, wrote."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        inside = path.is_relative_to(PACKAGE) and not path.is_relative_to(LIBRARY)
        if not inside and path.is_file() and "lib/python" not in path.as_posix():
            return Location(frame.filename, frame.lineno or 0)
    return None


def encode_text(program: Program, text: str) -> list[Any]:
    """The tokens that a program's `encode` gives for a text."""
    try:
        with user_code(f"its encode fails on {_cut(text)!r}", subject=program.name):
            return list(_call(program, "encode", "text", text))
    except WeftError as error:
        if error.__cause__ is not None:
            raise
        what = f"cannot read {_cut(text)!r}: {error.what}"  # the reason of the program's own encode
        raise error.revised(what=what, subject=error.subject or program.name) from None


def decode_stream(program: Program, stream: Stream) -> Any:
    """What a program's `decode` makes of its last stream."""
    with user_code("its decode fails", subject=program.name):
        return _call(program, "decode", "stream", stream)


def sample_input(program: Program, rng: random.Random, length: int) -> list[Any]:
    """An input that a program's `sample` draws: tokens of its vocabulary."""
    remedy = "Write it as sample(self, rng, length), to return a list of tokens"
    with user_code(f"its sample fails for length {length}", subject=program.name, remedy=remedy):
        given = _call(program, "sample", "rng, length", rng, length)
    if not isinstance(given, Iterable):
        raise WeftError(
            f"its sample returns {_cut(repr(given))}, not a list of tokens",
            subject=program.name,
            remedy=remedy,
        )
    tokens = list(given)
    if not tokens:
        raise WeftError(
            f"its sample returns no tokens for length {length}", subject=program.name, remedy=remedy
        )
    try:
        program.vocabulary.all_numbers(tokens)
    except WeftError as error:
        what = f"its sample returns {_cut(repr(tokens))}: {error.what}"
        raise error.revised(what=what, subject=program.name) from None
    return tokens


def expected_answer(program: Program, tokens: Iterable[Any]) -> Any:
    """What a program's `task` says the answer is."""
    given = list(tokens)
    shown = _cut(program.vocabulary.show(given))
    remedy = "Write it as task(self, tokens), to return what decode should"
    with user_code(f"its task fails on {shown!r}", subject=program.name, remedy=remedy):
        return _call(program, "task", "tokens", given)


def _call(program: Program, name: str, parameters: str, *arguments: Any) -> Any:
    """Call a method that a user may have overridden."""
    method: Callable[..., Any] = getattr(program, name)
    if not callable(method):
        raise WeftError(
            f"its {name} is {_cut(repr(method))}, not a method",
            subject=program.name,
            remedy=f"Write it as {name}(self, {parameters})",
        )
    return method(*arguments)


def _cut(text: str, longest: int = 60) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
