"""The cases of a Python function, read from its source: patterns and right-hand sides."""

from __future__ import annotations

import ast
from types import FunctionType, ModuleType
from typing import Any, cast

from weft.errors import Location, WeftError
from weft.language.source import FunctionSource
from weft.recursion.expressions import Apply, Build, Expression, Match, Pattern, Variable, variables
from weft.recursion.function import Equation, Function, Scope
from weft.recursion.inductive import Inductive, InductiveMeta, Symbols, is_alphabet, symbol_table

MOST_NESTED = 40
"""Levels of a pattern or of a right-hand side; deeper ones are refused."""
DEFINING: list[Function] = []
"""Functions that are being defined, whose names are not bound yet."""


class NotYetDefined(WeftError):
    """A name that may still be defined below."""


def beside(python: FunctionType, other: Any) -> bool:
    """Whether two functions are defined in the same module, class or function."""
    same = python.__globals__ is getattr(other, "__globals__", None)
    return same and python.__qualname__.rpartition(".")[0] == other.__qualname__.rpartition(".")[0]


Row = tuple[tuple[Pattern, ...], ast.expr, Location]
"""A case: its patterns, the expression it returns, and where it stands."""


class CaseReader:
    """Reads the source of one function."""

    def __init__(self, python: FunctionType, source: FunctionSource, scope: Scope) -> None:
        self.python, self.source, self.scope = python, source, scope
        self.node = source.node
        self.name = source.node.name
        self.function: Function

    # What is wrong

    def error(self, node: ast.AST | None, what: str, remedy: str = "") -> WeftError:
        where = self.source.location(node if node is not None else self.node)
        return WeftError(what, subject=self.name, where=where, remedy=remedy)

    # Names

    def lookup(self, node: ast.expr, *, annotation: bool = False) -> Any:
        """What a name or dotted name stands for; None if nothing.

        Names in the body are looked up as Python does when it runs: in the enclosing functions, if
        they have the name, else in the module. Annotations also see a local scope around them.
        """
        parts: list[str] = []
        inner = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            return None
        for one in reversed(DEFINING):
            if one.name == inner.id and not parts and beside(self.python, one.python):
                return one
        for space in self.scope.spaces(inner.id, annotation):
            if inner.id in space:
                found = space[inner.id]
                for part in reversed(parts):
                    found = getattr(found, part, None) if isinstance(found, ModuleType) else None
                return found
        return None

    def annotated(self, node: ast.expr | None, what: str) -> InductiveMeta:
        """The inductive type of an annotation."""
        example = "Annotate it with an inductive type, as in def f(n: Nat) -> Nat"
        if node is None:
            raise self.error(None, f"{what} has no type", example)
        written = node
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                written = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                written = node
        found = self.lookup(written, annotation=True)
        if isinstance(found, InductiveMeta) and found.is_constructor:
            raise self.error(
                node,
                f"{what} is the constructor {found.__name__}",
                f"Its type: {found.type.__name__}",
            )
        if not isinstance(found, InductiveMeta) or found in (Inductive, Symbols):
            raise self.error(node, f"{what} is not an inductive type", example)
        return found

    def parameters(self) -> tuple[tuple[str, InductiveMeta], ...]:
        """Names and types of the parameters."""
        given = self.node.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.kw_defaults:
            raise self.error(
                None,
                "its parameters have defaults, or are not plain",
                "Write plain parameters with types, as in def f(n: Nat) -> Nat",
            )
        others = [one for one in self.node.decorator_list if not self._is_recursive(one)]
        if others:
            raise self.error(others[0], "it has another decorator", "Leave @recursive alone")
        if isinstance(self.node, ast.AsyncFunctionDef) or getattr(self.node, "type_params", []):
            raise self.error(None, "it is not a plain function")
        outside = self.python.__qualname__.rpartition(".")[0]
        if outside and not outside.endswith("<locals>"):
            raise self.error(None, "it stands in a class", "Define it in a module or a function")
        names = [*given.posonlyargs, *given.args]
        if any(one.arg == "_" for one in names):
            raise self.error(
                None, "a parameter is named _, which patterns do not bind", "Rename it"
            )
        if not names:
            raise self.error(None, "it has no parameter to recurse on")
        return tuple(
            (one.arg, self.annotated(one.annotation, f"its parameter '{one.arg}'")) for one in names
        )

    def _is_recursive(self, node: ast.expr) -> bool:
        from weft.recursion.function import recursive

        target = node.func if isinstance(node, ast.Call) else node
        return self.lookup(target, annotation=True) is recursive or (
            isinstance(target, ast.Attribute) and target.attr == "recursive"
        )

    def check_nesting(self, node: ast.AST) -> None:
        """Refuse patterns and terms that are nested too deeply to be compiled."""
        level, nodes = 0, [node]
        while nodes := [
            inner
            for one in nodes
            for inner in ast.iter_child_nodes(one)
            if isinstance(inner, (ast.pattern, ast.expr))
        ]:
            level += 1
            if level > MOST_NESTED:
                raise self.error(
                    node,
                    f"it is nested more than {MOST_NESTED} levels deep",
                    "Give parts of it to functions of their own",
                )

    # Cases

    def rows(self) -> list[Row]:
        """The cases of the function."""
        body = list(self.node.body)
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            del body[0]
        shape = "Write one match statement, each of whose cases is one return, or one return"
        if len(body) != 1:
            raise self.error(body[1] if body else None, "its body is not one statement", shape)
        only = body[0]
        parameters = [Variable(name, kind) for name, kind in self.function.parameters]
        if isinstance(only, ast.Return) and only.value is not None:
            return [(tuple(parameters), only.value, self.source.location(only))]
        if not isinstance(only, ast.Match):
            raise self.error(only, "its body is not a match statement", shape)
        places = self._subjects(only)
        return [self._row(case, places, parameters) for case in only.cases]

    def _subjects(self, node: ast.Match) -> list[int]:
        subject = node.subject
        listed = subject.elts if isinstance(subject, ast.Tuple) else [subject]
        names = [name for name, _ in self.function.parameters]
        places = []
        for one in listed:
            if not isinstance(one, ast.Name) or one.id not in names:
                raise self.error(
                    one,
                    "a match is on parameters only",
                    "To distinguish values of another function, pass its value to a function of "
                    "its own, which matches on it",
                )
            places.append(names.index(one.id))
        if len(set(places)) < len(places):
            raise self.error(subject, "a parameter is matched twice")
        return places

    def _row(self, case: ast.match_case, places: list[int], parameters: list[Variable]) -> Row:
        where = self.source.location(case.pattern)
        self.check_nesting(case.pattern)
        if case.guard is not None:
            raise self.error(
                case.guard,
                "a case has a guard, which equations do not have",
                "Pass the value of the condition to a function of its own, which matches on it",
            )
        if len(case.body) != 1 or not isinstance(case.body[0], ast.Return):
            raise self.error(case.body[0], "a case is not one return")
        value = case.body[0].value
        if value is None:
            raise self.error(case.body[0], "a case returns nothing")
        row: list[Pattern] = list(parameters)
        given = [case.pattern]
        if len(places) > 1 and not _is_wildcard(case.pattern):
            if not isinstance(case.pattern, ast.MatchSequence) or len(case.pattern.patterns) != len(
                places
            ):
                raise self.error(case.pattern, f"a case is not {len(places)} patterns in brackets")
            given = case.pattern.patterns
        elif len(places) > 1:
            given = [case.pattern] * len(places)
        for place, one in zip(places, given, strict=True):
            row[place] = self.pattern(one, parameters[place].type)
        matched = [name for place in places for name in variables(row[place])]
        names = {name for name, _ in self.function.parameters}
        for variable in matched:
            if variable.name in names:
                raise self.error(
                    case.pattern, f"the variable '{variable.name}' is a parameter, too", "Rename it"
                )
        return tuple(row), value, where

    def pattern(self, node: ast.pattern, kind: InductiveMeta) -> Pattern:
        """A pattern for terms of a type."""
        if isinstance(node, ast.MatchAs) and node.pattern is None:
            if node.name is None:
                return Variable("_", kind)
            named = self.lookup(ast.Name(node.name))
            if isinstance(named, InductiveMeta):
                raise self.error(
                    node,
                    f"'{node.name}' without brackets is a variable, not the constructor",
                    f"Write {node.name}(...)",
                )
            return Variable(node.name, kind)
        if isinstance(node, ast.MatchClass):
            return self._class_pattern(node, kind)
        remedy = "Patterns are constructors, variables and _"
        if isinstance(node, ast.MatchOr):
            remedy = "Write one case for each alternative"
        raise self.error(node, "this is not a pattern of an equation", remedy)

    def _class_pattern(self, node: ast.MatchClass, kind: InductiveMeta) -> Pattern:
        head = self.lookup(node.cls)
        name = ast.unparse(node.cls)
        if not isinstance(head, InductiveMeta):
            raise self.error(node, f"'{name}' is not a constructor", self._constructors(kind))
        if node.kwd_patterns:
            raise self.error(node, "arguments of constructors are given by place")
        if is_alphabet(kind) and head is kind:
            return Match(self._symbol(node, node.patterns, kind))
        if not head.is_constructor or head.type is not kind:
            raise self.error(
                node, f"'{name}' does not make a {kind.__name__}", self._constructors(kind)
            )
        if len(node.patterns) != head.arity:
            raise self.error(node, f"{name} takes {head.arity}, and has {len(node.patterns)} here")
        inner = zip(node.patterns, head.arguments, strict=True)
        return Match(head, tuple(self.pattern(one, argument) for one, (_, argument) in inner))

    def _symbol(self, node: ast.AST, given: list[Any], kind: InductiveMeta) -> Any:
        """The symbol that the argument of `Letter("a")` names."""
        table = symbol_table(kind)
        value = given[0] if len(given) == 1 else None
        if isinstance(value, ast.MatchValue):
            value = value.value
        if not isinstance(value, ast.Constant) or value.value not in table:
            raise self.error(
                node,
                f"this is not a symbol of {kind.__name__}",
                f'Write one as in {kind.__name__}("{next(iter(table))}")',
            )
        return table[value.value]

    def _constructors(self, kind: InductiveMeta) -> str:
        if is_alphabet(kind):
            return f"Symbols of {kind.__name__}: {' '.join(symbol_table(kind))}"
        names = ", ".join(one.__name__ for one in kind.constructors)
        return f"Constructors of {kind.__name__}: {names}"

    # Right-hand sides

    def equations(self, rows: list[Row]) -> tuple[Equation, ...]:
        """The equations of the cases, with types and arities checked."""
        made = []
        for number, (patterns, value, where) in enumerate(rows):
            bound = dict(self.function.parameters)
            known = {one.name: one for row in patterns for one in variables(row)}
            bound |= {name: one.type for name, one in known.items()}
            self.check_nesting(value)
            right = self.expression(value, bound)
            self._check_type(value, right, self.function.result)
            made.append(Equation(self.function, number, patterns, right, where))
        return tuple(made)

    def expression(self, node: ast.expr, bound: dict[str, InductiveMeta]) -> Expression:
        """A right-hand side."""
        if isinstance(node, ast.Name):
            if node.id in bound:
                return Variable(node.id, bound[node.id])
            found = self.lookup(node)
            remedy = ""
            if isinstance(found, InductiveMeta):
                remedy = f"Write {node.id}(...)"
            raise self.error(node, f"'{node.id}' is not a variable of this case", remedy)
        if not isinstance(node, ast.Call):
            raise self.error(
                node,
                f"'{ast.unparse(node)}' is not a term",
                "A right-hand side is made of variables, constructors and calls of functions",
            )
        if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
            raise self.error(node, "arguments are given by place, one by one")
        head = self._head(node, bound)
        name = ast.unparse(node.func)
        if isinstance(head, InductiveMeta) and is_alphabet(head):
            return Build(self._symbol(node, list(node.args), head))
        takes = head.arguments if isinstance(head, InductiveMeta) else head.parameters
        if len(node.args) != len(takes):
            raise self.error(node, f"{name} takes {len(takes)}, and is given {len(node.args)}")
        arguments = []
        for one, (_, kind) in zip(node.args, takes, strict=True):
            argument = self.expression(one, bound)
            self._check_type(one, argument, kind)
            arguments.append(argument)
        if isinstance(head, InductiveMeta):
            return Build(head, tuple(arguments))
        return Apply(head, tuple(arguments), self.source.location(node))

    def _head(self, node: ast.Call, bound: dict[str, InductiveMeta]) -> Any:
        """The constructor, alphabet or function that is applied."""
        name = ast.unparse(node.func)
        if isinstance(node.func, ast.Name) and node.func.id in bound:
            raise self.error(node, f"'{name}' is a variable here, not a function", "Rename it")
        if name == self.name:
            return self.function
        found = self.lookup(node.func)
        if isinstance(found, InductiveMeta) and (found.is_constructor or is_alphabet(found)):
            return found
        if isinstance(found, Function):
            return found
        if found is None and isinstance(node.func, ast.Name):
            error = self.error(node, f"there is no constructor or function '{name}'")
            raise NotYetDefined(
                error.what,
                subject=error.subject,
                where=error.where,
                remedy="Define it, with @recursive",
            )
        if isinstance(found, InductiveMeta):
            raise self.error(node, f"'{name}' is a type", self._constructors(found))
        raise self.error(
            node,
            f"'{name}' is not a constructor or a function by equations",
            "Define it with @recursive",
        )

    def _check_type(self, node: ast.expr, expression: Expression, kind: InductiveMeta) -> None:
        found = expression_type(expression)
        if found is not kind:
            raise self.error(
                node, f"'{ast.unparse(node)}' is a {found.__name__}, not a {kind.__name__}"
            )


def expression_type(expression: Expression) -> InductiveMeta:
    """The type of a right-hand side."""
    if isinstance(expression, Variable):
        return expression.type
    if isinstance(expression, Apply):
        return expression.function.result
    head = expression.head
    return head.type if isinstance(head, InductiveMeta) else head_type(head)


def head_type(value: Any) -> InductiveMeta:
    """The class of a value: its constructor, or its alphabet."""
    return cast(InductiveMeta, type(value))


def _is_wildcard(node: ast.pattern) -> bool:
    return isinstance(node, ast.MatchAs) and node.pattern is None and node.name is None
