"""Sources: functions as syntax trees, with lines and columns as they stand in the file."""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from weft.errors import Location

if TYPE_CHECKING:
    from weft.language.program import Program


@dataclass(frozen=True)
class FunctionSource:
    """The definition of a function and the file that it stands in."""

    node: ast.FunctionDef
    file: str
    indent: int

    def location(self, node: ast.AST) -> Location:
        """Where a node of this function stands."""
        line = getattr(node, "lineno", self.node.lineno)
        column = getattr(node, "col_offset", None)
        end = getattr(node, "end_col_offset", None)
        if column is None or getattr(node, "end_lineno", line) != line:
            return Location(self.file, line)
        return Location(self.file, line, column + self.indent, (end or column) + self.indent)

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters that can be given by place."""
        return [a.arg for a in (*self.node.args.posonlyargs, *self.node.args.args)]


def function_source(function: Any) -> FunctionSource | None:
    """The source of a plain Python function; None if its source is not available."""
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        return None
    return _source_of_code(function.__code__, function.__code__.co_filename)


@lru_cache(maxsize=4096)
def _source_of_code(code: CodeType, file: str) -> FunctionSource | None:
    # `file` is part of the key: equal code in two files compares equal.
    try:
        lines, start = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return None
    text = "".join(lines)
    try:
        tree = ast.parse(textwrap.dedent(text))
    except SyntaxError:  # a lambda within an expression, a decorator's remains
        return None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        return None
    if tree.body[0].name != code.co_name:  # a lambda in a decorator, not the function below it
        return None
    ast.increment_lineno(tree, start - 1)
    indent = len(text) - len(text.lstrip())
    return FunctionSource(tree.body[0], file, indent)


def free_variables(function: FunctionType) -> dict[str, Any]:
    """What a function's free names stand for: its closure, above its module's globals."""
    cells = function.__closure__ or ()
    closure = {}
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            closure[name] = cell.cell_contents
        except ValueError:  # not yet bound
            continue
    return closure


def source_hash(program: Program) -> str:
    """A hash of what a program is made from, to tell it from its next version.

    That is the file in which its class stands and, if there is one, its `source_text`.
    """
    try:
        text = inspect.getsource(inspect.getmodule(type(program)) or type(program))
    except (OSError, TypeError):
        text = type(program).__name__
    return hashlib.sha256((text + program.source_text).encode()).hexdigest()
