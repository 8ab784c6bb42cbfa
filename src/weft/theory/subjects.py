"""What a prediction is about: a language, a program, a function or a task, by name or as a value.

A name is read in this order; a prefix picks one reading, as in `task:parity`:

    mine.json            file:      an automaton
    mine.crasp           crasp:     a C-RASP program; `crasp:NAME` is one of the library
    mine.py:accepts                 a function of words, a task or a program in a Python file
    tomita-4             language:  a named language
    sorting              task:      a task, with parameters
    dyck                 program:   a program of the library
    (ab|aabb)*           re:        a regular expression
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from weft.automata import DFA, LANGUAGES, Language, expression_dfa, language, read_automaton
from weft.crasp.program import CraspProgram
from weft.errors import WeftError
from weft.extensions import kind_in_file, reference
from weft.extensions.points import point_of
from weft.extensions.user_files import load_file
from weft.files import is_file
from weft.language.program import Program
from weft.tasks import TASKS, Task, task
from weft.tasks.formal.formal_language import FormalLanguage

Kind = Literal["language", "C-RASP program", "function", "task", "program"]
PREFIXES = ("language", "task", "program", "crasp", "file", "re")
OPERATORS = frozenset("*+?|()[]{}.^")
"""A text with none of these is taken for a misspelt name, not for a regular expression."""
LISTS = (
    "`weft predict --list`, `weft tasks` and `weft list` show the languages, tasks and programs. "
)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a prediction is about.

    Attributes:
        name: as it was given.
        kind: what it is.
        description: what it is, in words.
        value: the automaton, C-RASP program, function, task or program.
        alphabet: the letters of the words; empty for tasks.
        also: other readings of the name, each as a name with a prefix.
    """

    name: str
    kind: Kind
    description: str
    value: Any
    alphabet: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


def read_subject(
    given: object, alphabet: str | Sequence[str] = "", parameters: Mapping[str, Any] | None = None
) -> Subject:
    """What a name or a value refers to, or a `WeftError` that says what could be written.

    Args:
        given: a name, an automaton, a named language, a C-RASP program, a function of words, a task
            or a program.
        alphabet: the letters, for an expression or a function.
        parameters: of a task.

    Example:
        >>> read_subject("(ab)*").description
        'regular expression (ab)*'
        >>> read_subject("parity").kind, read_subject("parity").also
        ('language', ('task:parity', 'program:parity'))
        >>> read_subject("task:parity", parameters={"length": 12}).value.length
        12
    """
    if isinstance(given, Path):
        given = str(given)
    if isinstance(given, str):
        subject = _named(given, alphabet, dict(parameters or {}))
    else:
        subject = _valued(given, alphabet)
    if parameters and subject.kind != "task":
        raise WeftError(
            f"{subject.name} is a {subject.kind}, which has no parameters",
            remedy=f"Leave {', '.join(parameters)} out",
        )
    if alphabet and tuple(alphabet) != subject.alphabet:
        raise WeftError(
            f"{subject.name} is a {subject.kind} with an alphabet of its own",
            remedy="Leave the alphabet out; it is for expressions and functions",
        )
    return subject


def _valued(given: object, alphabet: str | Sequence[str]) -> Subject:
    match given:
        case DFA():
            return _automaton(f"an automaton of {given.size} states", given, "automaton")
        case Language():
            return _language(given)
        case CraspProgram():
            return _crasp(given.name or "a C-RASP program", given)
        case Task():
            return _task(given.name, given)
        case Program():
            return _program(str(given), given)
        case _ if isinstance(given, type) and issubclass(given, Program):
            return _program(given.__name__, given())
        case _ if callable(given):
            return _function(getattr(given, "__name__", "a function"), given, alphabet)
    raise WeftError(
        f"cannot predict for a value of type {type(given).__name__}",
        remedy="Give a name, an automaton, a C-RASP program, a function, a task or a program",
    )


def _named(text: str, alphabet: str | Sequence[str], parameters: dict[str, Any]) -> Subject:
    prefix, colon, rest = text.partition(":")
    if colon and prefix in PREFIXES:
        return _prefixed(prefix, text, rest, alphabet, parameters)
    if text.endswith(".json"):
        return _prefixed("file", text, text, alphabet, parameters)
    if text.endswith(".crasp"):
        return _prefixed("crasp", text, text, alphabet, parameters)
    if _in_python_file(text):
        return _from_file(text, alphabet, parameters)
    readings = _readings(text, parameters)
    if readings:
        also = tuple(f"{each}:{text}" for each in readings[1:])
        first = _prefixed(readings[0], text, text, alphabet, parameters)
        return Subject(**{**vars(first), "also": also})
    if not OPERATORS & set(text) and not alphabet:
        near = get_close_matches(text, [*LANGUAGES, *TASKS, *_programs()], n=1)
        raise WeftError(
            f"there is no language, task or program '{text}'",
            remedy=(f"Did you mean '{near[0]}'? " if near else LISTS)
            + f"For a regular expression write 're:{text}', or give its alphabet",
        )
    return _expression(text, text, alphabet)


def _programs() -> list[str]:
    from weft.programs import LIBRARY

    return list(LIBRARY)


def _readings(text: str, parameters: Mapping[str, Any]) -> list[str]:
    """The prefixes under which a name without one is known; parameters are those of a task."""
    plain = text.partition("(")[0].strip()
    readings = ["language"] if text in LANGUAGES else []
    readings += ["task"] if plain in TASKS and plain else []
    readings += ["program"] if plain in _programs() else []
    if parameters and "task" in readings:
        readings.remove("task")
        readings.insert(0, "task")
    return readings


def _prefixed(
    prefix: str, name: str, text: str, alphabet: str | Sequence[str], parameters: dict[str, Any]
) -> Subject:
    match prefix:
        case "language":
            return _language(language(text), name)
        case "task":
            named = reference(text, "task")
            whole = named.path if named.name is None else f"{named.path}:{named.name}"
            return _task(name, task(whole, **{**named.arguments, **parameters}))
        case "program":
            from weft.programs import program

            return _program(name, program(text))
        case "crasp":
            from weft.crasp.loading import load

            return _crasp(name, load(text))
        case "file":
            return _automaton(name, read_automaton(text), f"automaton in {text}")
        case _:
            return _expression(name, text, alphabet)


def _in_python_file(text: str) -> bool:
    path, _, name = text.partition("(")[0].rpartition(":")
    return (path or name).endswith(".py")


def _from_file(text: str, alphabet: str | Sequence[str], parameters: dict[str, Any]) -> Subject:
    """A function, a task or a program that a Python file defines."""
    named = reference(text)
    if not is_file(named.path):
        raise WeftError(f"there is no file {named.path}", remedy="Give the path of a Python file")
    if named.name is not None and not named.arguments:
        points = tuple(map(point_of, ("task", "program")))
        value = vars(load_file(Path(named.path))).get(named.name)
        if callable(value) and not isinstance(value, type):
            return _function(text, value, alphabet)
        if not any(point.accepts(value) for point in points):
            raise WeftError(
                f"{named.path} has no function, task or program '{named.name}'",
                remedy="Name one that it defines",
            )
    elif alphabet:
        raise WeftError(
            f"{text} names no function, and only functions of a file take an alphabet",
            remedy=f"Write {named.path}:NAME",
        )
    prefix = kind_in_file(text, ("task", "program"))
    return _prefixed(prefix, text, text, alphabet, parameters)


# Each kind


def _expression(name: str, text: str, alphabet: str | Sequence[str]) -> Subject:
    dfa = expression_dfa(text, alphabet or None)
    return _automaton(name, dfa, f"regular expression {text}")


def _automaton(name: str, dfa: DFA, description: str) -> Subject:
    return Subject(
        name=name, kind="language", description=description, value=dfa, alphabet=dfa.alphabet
    )


def _language(known: Language, name: str = "") -> Subject:
    description = f"{known.notation}: {known.description}"
    return _automaton(name or known.name, known.dfa, description)


def _crasp(name: str, program: CraspProgram) -> Subject:
    lines = "1 line" if len(program.lines) == 1 else f"{len(program.lines)} lines"
    return Subject(
        name=name,
        kind="C-RASP program",
        description=f"C-RASP program of {lines}",
        value=program,
        alphabet=program.alphabet,
    )


def _function(name: str, function: Callable[..., Any], alphabet: str | Sequence[str]) -> Subject:
    if not alphabet:
        raise WeftError(
            f"{name} is a function of words over an alphabet that is not given",
            remedy="Give the alphabet, as in --alphabet ab",
        )
    return Subject(
        name=name,
        kind="function",
        description="Python function of words",
        value=function,
        alphabet=tuple(alphabet),
    )


def _task(name: str, made: Task) -> Subject:
    if isinstance(made, FormalLanguage):
        description = f"task formal-language of {made.language}, target {made.target}"
    else:
        description = f"task {made.name}"
    return Subject(name=name, kind="task", description=description, value=made)


def _program(name: str, program: Program) -> Subject:
    return Subject(
        name=name, kind="program", description=f"program {type(program).__name__}", value=program
    )
