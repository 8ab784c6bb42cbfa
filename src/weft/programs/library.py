"""The table of library programs, and `program`, which finds one by name."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from weft.config import keywords
from weft.errors import WeftError, did_you_mean
from weft.files import is_file, is_folder
from weft.language.program import Program
from weft.language.user_code import user_code


@dataclass(frozen=True)
class Entry:
    """A library program.

    Attributes:
        name: what it is called on the command line.
        module: where its class is.
        attribute: the class.
        example: an input to try it on.
        longest: up to how many tokens a sample of its inputs is checked, everywhere, in tests.
    """

    name: str
    module: str
    attribute: str
    example: str
    longest: int = 12

    def load(self) -> type[Program]:
        """The class."""
        return getattr(importlib.import_module(self.module), self.attribute)  # type: ignore[no-any-return]

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.load().__doc__ or "").strip().splitlines()[0]


LIBRARY: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("parity", "weft.programs.parity", "Parity", "10110"),
        Entry("parity-absolute", "weft.programs.parity", "ParityAbsolute", "10110"),
        Entry("parity-sum", "weft.programs.parity", "ParitySum", "10110"),
        Entry("parity-count", "weft.programs.parity", "ParityCount", "10110"),
        Entry("addition", "weft.programs.addition", "Addition", "12+34"),
        Entry("subtraction", "weft.programs.subtraction", "Subtraction", "12-34"),
        Entry("comparison", "weft.programs.comparison", "Comparison", "1234?1243"),
        Entry("multiplication", "weft.programs.multiplication", "Multiplication", "12*34"),
        Entry("dfa", "weft.programs.automata", "Dfa", "110"),
        Entry("regex", "weft.programs.automata", "Regex", "aaaa"),
        Entry("turing", "weft.programs.turing.program", "Turing", "1011"),
        Entry("subleq", "weft.programs.subleq.program", "Subleq", "9 10 3 10 11 6 0 0 -1 3 5 7"),
        Entry(
            "scan",
            "weft.programs.scan.program",
            "Scan",
            "jump around left twice and walk",
            longest=22,
        ),
        Entry("sort-unique", "weft.programs.sorting", "SortUnique", "27184", longest=11),
        Entry("sort", "weft.programs.sorting", "Sort", "31415926"),
        Entry("reverse", "weft.programs.sequences", "Reverse", "stressed"),
        Entry("reverse-absolute", "weft.programs.sequences", "ReverseAbsolute", "stressed"),
        Entry("copy", "weft.programs.sequences", "Copy", "weft"),
        Entry("histogram", "weft.programs.counting", "Histogram", "abacab"),
        Entry("most-frequent", "weft.programs.counting", "MostFrequent", "abacab"),
        Entry("dyck", "weft.programs.dyck", "Dyck", "([]{})"),
        Entry("successor", "weft.programs.recursion", "Successor", "11"),
        Entry("tree-traversal", "weft.programs.recursion", "Traversal", "abd...c..", longest=16),
        Entry("rule-110", "weft.programs.cellular", "Automaton", "00000000001"),
        Entry("breadth-first", "weft.programs.graph", "BreadthFirst", "a ab bc ac ce", longest=14),
        Entry("induction-head", "weft.programs.causal", "InductionHead", "badge", longest=14),
        Entry("count-so-far", "weft.programs.causal", "CountSoFar", "abaaba"),
        Entry("anbn", "weft.programs.causal", "AnBn", "aaab"),
    )
}


def program(name: str) -> Program:
    """The program with this name: of the library, or `path/file.py:Class`.

    Example:
        >>> import weft
        >>> weft.program("parity")
        <program Parity>
        >>> weft.program("parity-absolute(positions=8)").positions
        8
    """
    path, attribute, arguments = _split(name)
    if attribute is not None or path.endswith(".py"):
        found = _from_file(Path(path), attribute)
    elif path in LIBRARY:
        found = LIBRARY[path].load()
    else:
        if is_folder(path) or is_file(path):
            what = f"{path} is a {'folder' if is_folder(path) else 'file'}, not a program"
            raise WeftError(what, remedy="Give a library name (weft list) or path/file.py:Class")
        raise WeftError(
            f"there is no program '{path}'",
            remedy=f"Or name a class in a file, as path/file.py:Class; "
            f"{did_you_mean(path, list(LIBRARY))}",
        )
    return _made(name, found, arguments)


def _split(name: str) -> tuple[str, str | None, dict[str, Any]]:
    """`path/file.py:Class(n=3)` into path, class and arguments."""
    matched = re.fullmatch(
        r"(?P<path>[^()]*?)(?::(?P<cls>\w+))?(?:\((?P<args>.*)\))?", name.strip()
    )
    if matched is None:
        raise _unreadable(name)
    return matched["path"], matched["cls"], _arguments(name, matched["args"])


def _arguments(name: str, written: str | None) -> dict[str, Any]:
    arguments = keywords(written or "")
    if arguments is None:
        raise _unreadable(name)
    return arguments


def _unreadable(name: str) -> WeftError:
    return WeftError(
        f"'{name}' does not name a program",
        remedy="Write a library name, or path/file.py:Class, with arguments as in name(n=3)",
    )


def _made(name: str, found: Any, arguments: dict[str, Any]) -> Program:
    if isinstance(found, Program) and not arguments:
        return found
    if not (isinstance(found, type) and issubclass(found, Program)):
        raise WeftError(
            f"'{name}' is not a program", remedy="Name a subclass of weft.Program, or an instance"
        )
    _check_parameters(name, found, arguments)
    with user_code(f"'{name}' cannot be made"):
        made: Program = found(**arguments)
    return made


def _check_parameters(name: str, found: type[Program], arguments: dict[str, Any]) -> None:
    """Refuse arguments that the program's `__init__` does not take, before it runs."""
    constructor: Any = found.__init__
    takes = inspect.signature(constructor if constructor is not object.__init__ else lambda self: 0)
    shown = ", ".join(str(one) for one in list(takes.parameters.values())[1:])
    try:
        takes.bind(None, **arguments)
    except TypeError as error:
        raise WeftError(
            f"'{name}' cannot be made: {error}",
            remedy=f"Its parameters are ({shown})" if shown else "It has no parameters",
        ) from None


def _from_file(path: Path, attribute: str | None) -> Any:
    module = _import_file(path)
    programs = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, Program)
        or (
            isinstance(value, type)
            and issubclass(value, Program)
            and value.__module__ == module.__name__
        )
    }
    if attribute is None and len(programs) == 1:
        return next(iter(programs.values()))
    if not programs:
        raise WeftError(
            f"{path} defines no program", remedy="Write a subclass of weft.Program in it"
        )
    if attribute is None or attribute not in programs:
        missing = f"no program '{attribute}'" if attribute else f"{len(programs)} programs"
        raise WeftError(
            f"{path} has {missing}",
            remedy=f"Name one as {path}:Class; {did_you_mean(attribute or '', list(programs))}",
        )
    return programs[attribute]


def _import_file(path: Path) -> ModuleType:
    if not is_file(path):
        what = f"{path} is a folder" if is_folder(path) else f"there is no file {path}"
        raise WeftError(what, remedy="Give the path of a Python file")
    name = f"weft_program_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise WeftError(f"{path} is not a Python file", remedy="Give a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with user_code(f"{path} cannot be imported", remedy="Correct the file and try again"):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
