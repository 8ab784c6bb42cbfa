"""Fragments of a step that run on their own, in one state, with returns and iterations tracked.

Code that cannot be followed symbolically is executed as it stands (`tabulation`). The fragment is
first rewritten so that it can run outside its function: a `return` is raised, and the iterations of
loops are counted as work.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from weft.language.expressions import FAILED, Failure, value_key
from weft.language.frontend.machine import SymbolicMachine
from weft.language.state import StateObject

RETURN = "__weft_return"
TICK = "__weft_tick"
OVER = "__weft_over"


class Returned(BaseException):
    """A `return` within a fragment; not an `Exception`, so no handler there catches it."""

    def __init__(self, value: Any = None) -> None:
        super().__init__()
        self.value = value


class Unforeseen(BaseException):
    """A fragment uses a variable that its syntax does not show; no handler catches it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Escaped(BaseException):
    """A fragment uses its state as a value; no handler catches it."""


class Box(StateObject):
    """A state for a fragment: the variables it may use, and which of them it wrote."""

    __content__: tuple[dict[str, Any], dict[str, Any], list[str], list[str]]

    def __init__(self, values: dict[str, Any]) -> None:
        object.__setattr__(self, "__content__", (values, {}, [], []))

    def __escape__(self, what: str) -> NoReturn:
        self.__content__[3].append(what)
        raise Escaped(what)

    def __getitem__(self, name: str) -> Any:
        value = self.__content__[0][_foreseen(self, name)]
        if value is FAILED:
            raise Failure(name)
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        values, written, *_ = self.__content__
        values[_foreseen(self, name)] = written[name] = value

    __getattr__ = __getitem__
    __setattr__ = __setitem__


def _foreseen(box: Box, name: str) -> str:
    values, _, missing, _ = box.__content__
    if name not in values:
        missing.append(name)
        raise Unforeseen(name)
    return name


class Fragment:
    """A fragment of a step as a function of variables: gives what it returned, bound and wrote.

    Fragments are computed from the results of other fragments, so each result is computed once.
    """

    def __init__(self, text: str, run: Callable[..., Any]) -> None:
        self.text = text if len(text) <= 60 else text[:57] + "..."
        self.__name__ = self.text
        self._run = run
        self._results: dict[Any, Any] = {}

    def __call__(self, *values: Any) -> Any:
        key = value_key(values)
        if key not in self._results:
            self._results[key] = self._outcome(values)
        result = self._results[key]
        if isinstance(result, Exception):
            raise result
        return result

    def _outcome(self, values: tuple[Any, ...]) -> Any:
        try:
            return self._run(*values)
        except (Exception, SystemExit) as error:
            plain = error if isinstance(error, Exception) else Failure("it exits")
            return plain.with_traceback(None)


class Ticker:
    """Counts the iterations of loops as work, which a derivation has a limit of."""

    def __init__(self, machine: SymbolicMachine) -> None:
        self.machine = machine

    def over(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items of a loop, counted."""
        for item in items:
            self.machine.spend(1)
            yield item

    def tick(self) -> None:
        """Count an iteration."""
        self.machine.spend(1)


class Rewriter(ast.NodeTransformer):
    """Makes a fragment fit to run on its own: returns are raised, iterations of loops counted."""

    def visit_Return(self, node: ast.Return) -> ast.AST:
        call = ast.Call(ast.Name(RETURN, ast.Load()), [node.value] if node.value else [], [])
        return ast.copy_location(ast.Raise(exc=call, cause=None), node)

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        tick = ast.Expr(ast.Call(ast.Name(TICK, ast.Load()), [], []))
        node.body.insert(0, ast.copy_location(tick, node.body[0]))  # no line of its own
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = _counted(node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.iter = _counted(node.iter)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return InnerRewriter().generic_visit(node)


def _counted(items: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(OVER, ast.Load()), [items], []), items)


class InnerRewriter(Rewriter):
    """Within a function a `return` is just that."""

    def visit_Return(self, node: ast.Return) -> ast.AST:
        return self.generic_visit(node)


def own_jumps(node: ast.AST) -> Iterator[ast.AST]:
    """The `break` and `continue` that leave the fragment itself, not a loop within it."""
    if isinstance(node, (ast.Break, ast.Continue)):
        yield node
    elif isinstance(node, (ast.For, ast.While)):
        for statement in node.orelse:
            yield from own_jumps(statement)
    elif not isinstance(node, (ast.FunctionDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from own_jumps(child)


def catches_all(root: ast.AST) -> bool:
    """Whether a handler would also catch the exception that stands for `return`."""
    has_return = any(isinstance(node, ast.Return) for node in ast.walk(root))
    return has_return and any(
        isinstance(node, ast.ExceptHandler)
        and (node.type is None or "BaseException" in ast.unparse(node.type))
        for node in ast.walk(root)
    )
