"""Oracles for program traces: CPython, a walk over Python's own syntax tree, and `sys.settrace`.

Nothing here imports the package: the formats are written out again.
"""

from __future__ import annotations

import ast
import copy
import sys
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

MAX_VALUE = 10**15


class StepLimit(Exception):
    """A run is longer than the limit."""


class ValueLimit(Exception):
    """A number is larger than the limit."""


class NegativeIndex(IndexError):
    """CPython counts from the end; the language refuses."""


@dataclass
class Outcome:
    """The trace of a run as text, and the final state; or the exception and its line."""

    trace: list[str] = field(default_factory=list)
    final: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    line: int = 0


def written(value: Any) -> str:
    return repr(value).replace(" ", "")


# CPython alone


def execute(source: str, inputs: dict[str, Any]) -> Outcome:
    """The final state by CPython: the last line returns the local variables."""
    body, last = source.rstrip("\n").rsplit("\n", 1)
    assert last == "\treturn"
    namespace: dict[str, Any] = {}
    exec(compile(f"{body}\n\treturn dict(locals())\n", "<program>", "exec"), namespace)
    try:
        return Outcome(final=namespace["f"](**copy.deepcopy(inputs)))
    except (IndexError, UnboundLocalError, NameError) as error:
        traceback = error.__traceback__
        assert traceback is not None
        while traceback.tb_next:
            traceback = traceback.tb_next
        return Outcome(error=type(error).__name__, line=traceback.tb_lineno)


# A walk over Python's syntax tree


class Walk:
    """Executes statements one at a time and notes what each writes."""

    def __init__(self, source: str, inputs: dict[str, Any], limit: int) -> None:
        function = ast.parse(source).body[0]
        assert isinstance(function, ast.FunctionDef)
        self.body = function.body
        self.limit = limit
        self.state = copy.deepcopy(inputs)
        self.assigned = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self.out = Outcome()
        self.line = 0

    def run(self) -> Outcome:
        try:
            self.statements(self.body)
        except StepLimit:
            return Outcome(self.out.trace, error="StepLimit", line=self.line)
        except Exception as error:
            return Outcome(self.out.trace, error=type(error).__name__, line=self.line)
        self.out.final = self.state
        return self.out

    def note(self, line: int, name: str | None = None) -> None:
        tail = f"{name}:{written(self.state[name])}" if name else ""
        self.out.trace.append(f"L{line},{tail}")

    def statements(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.While):
                while self.header(statement):
                    self.statements(statement.body)
            elif isinstance(statement, ast.If):
                self.statements(statement.body if self.header(statement) else statement.orelse)
            else:
                self.simple(statement)

    def header(self, statement: ast.While | ast.If) -> bool:
        self.enter(statement.lineno)
        value = self.evaluate(statement.test)
        assert isinstance(value, bool)
        self.note(statement.lineno)
        return value

    def enter(self, line: int) -> None:
        self.line = line
        if len(self.out.trace) >= self.limit:
            raise StepLimit

    def simple(self, statement: ast.stmt) -> None:
        self.enter(statement.lineno)
        match statement:
            case ast.Return(value=None):
                self.note(statement.lineno)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                result = self.evaluate(value)
                if abs(result) > MAX_VALUE:
                    raise ValueLimit
                self.state[name] = result
                self.note(statement.lineno, name)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name))) as call):
                self.evaluate(call)
                self.note(statement.lineno, name)
            case _:
                raise AssertionError(ast.dump(statement))

    def evaluate(self, node: ast.expr) -> Any:
        for part in ast.walk(node):
            if isinstance(part, ast.Subscript):
                index = self.evaluate(part.slice)
                if index < 0:
                    raise NegativeIndex(index)
        expression = compile(ast.Expression(node), "<expression>", "eval")
        return eval(expression, {"len": len, "__builtins__": {}}, self.state)


def walk(source: str, inputs: dict[str, Any], limit: int = 2000) -> Outcome:
    """The trace and the final state by a walk over Python's syntax tree."""
    return Walk(source, inputs, limit).run()


# Line events of CPython


def line_events(source: str, inputs: dict[str, Any]) -> list[str]:
    """The trace by `sys.settrace`: what the line before an event has changed.

    The line says which variable it writes, since a value may be written that is there already.
    """
    rows = source.split("\n")
    namespace: dict[str, Any] = {}
    exec(compile(source, "<program>", "exec"), namespace)
    trace: list[str] = []
    before: list[int] = []

    def finish(frame: FrameType) -> None:
        if not before:
            return
        line = before.pop()
        code = rows[line - 1].strip()
        name = code.split(" = ")[0] if " = " in code else code.split(".")[0] if "." in code else ""
        tail = f"{name}:{written(frame.f_locals[name])}" if name else ""
        trace.append(f"L{line},{tail}")

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        if event in ("line", "return"):
            finish(frame)
        if event == "line":
            before.append(frame.f_lineno)
        return local

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        return local if frame.f_code.co_name == "f" else None

    arguments = copy.deepcopy(inputs)
    previous = sys.gettrace()
    sys.settrace(call)
    try:
        namespace["f"](**arguments)
    finally:
        sys.settrace(previous)
    return trace
