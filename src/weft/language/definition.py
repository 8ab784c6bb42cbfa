"""From the declarations of a class to a checked `Definition`.

Every mistake is found here, before anything runs, and named with its class, line and remedy.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterable
from types import FunctionType, MappingProxyType
from typing import Any

from weft.errors import Location, WeftError, did_you_mean, unknown_name
from weft.language.declare import (
    Declaration,
    HaltDeclaration,
    HeadDeclaration,
    VariableDeclaration,
)
from weft.language.program import Definition, Halt, Head, Program, Variable, plain_step
from weft.language.ranges import Categorical, Number, OutOfRange, Range, Subset, Value
from weft.language.state_access import NOT_PLAIN, Escape, escape_error, uses
from weft.language.vocabulary import Vocabulary, vocabulary

ROLES = ("output", "halt")


def define(program: Program) -> Definition:
    """The checked definition of a program written as a class."""
    declared = collect(program)
    check_words(program, declared)
    definition = build(
        program.name,
        declared,
        output=getattr(program, "output", None),
        halt=getattr(program, "halt", None),
        tokens=program.tokens,
        positions=program.positions,
    )
    check_step(program.name, definition, program.step_function)
    return definition


def check_words(program: Program, declared: dict[str, Declaration]) -> None:
    """The attributes of a program that are not declarations: counts, and the step."""
    for word in ("positions", "layers", "max_layers"):
        value = getattr(program, word)
        if value is not None and (not isinstance(value, int) or value < 0):
            raise WeftError(
                f"{word} is {value!r}",
                subject=f"{program.name}.{word}",
                where=attribute_location(program.name, declared, word),
                remedy=f"Give a whole number, as in {word} = 10",
            )
    wrong = _wrong_step(plain_step(type(program)))
    if wrong is not None:
        raise WeftError(
            wrong,
            subject=f"{program.name}.step",
            where=attribute_location(program.name, declared, "step"),
            remedy="Write def step(z), or def step(self, z) if it needs parameters",
        )


def _wrong_step(step: Any) -> str | None:
    """What is wrong with the signature of a step; None if it is `(z)` or `(self, z)`."""
    if step is None:
        return None
    if not isinstance(step, FunctionType):
        return "step is not a function of the state"
    code = step.__code__
    if code.co_flags & NOT_PLAIN:
        return "step is a generator or asynchronous, so calling it would not execute it"
    names = code.co_varnames[: code.co_argcount]
    extra = code.co_kwonlyargcount or code.co_posonlyargcount or step.__defaults__
    rest = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if extra or rest or not (len(names) == 1 or (len(names) == 2 and names[0] == "self")):
        return f"step is not a function of the state: it takes {inspect.signature(step)}"
    return None


def attribute_location(
    owner: str, declared: dict[str, Declaration], attribute: str
) -> Location | None:
    """Where a class (or its `__init__`) assigns an attribute; the class itself if nowhere."""
    places = [declaration.where for declaration in declared.values()]
    if not places:
        return None
    file = places[0].file
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == owner:
            if node.lineno <= places[0].line <= (node.end_lineno or node.lineno):
                result = _assignment(node, attribute)
                return Location(file, result or places[0].line)
    return None


def _assignment(cls: ast.ClassDef, attribute: str) -> int | None:
    for node in ast.walk(cls):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == attribute:
            return node.lineno
        if isinstance(node, ast.Assign):
            parts = (part for target in node.targets for part in ast.walk(target))
            names = {getattr(part, "id", getattr(part, "attr", None)) for part in parts}
            if attribute in names:
                return node.lineno
    return None


def collect(program: Program) -> dict[str, Declaration]:
    """The declarations of a program's class and instance, in order, by name."""
    declared: dict[str, Declaration] = {}
    for owner in [*(vars(base) for base in reversed(type(program).__mro__)), vars(program)]:
        for name, value in owner.items():
            if not isinstance(value, Declaration) or name in ROLES:
                continue
            if hasattr(Program, name) or name == "step":
                raise WeftError(
                    f"'{name}' is a word of the language, not a name for a variable",
                    subject=f"{program.name}.{name}",
                    where=value.where,
                    remedy=f"Choose another name, such as '{name}_'",
                )
            other = next((n for n, known in declared.items() if known is value), name)
            if other != name:
                raise WeftError(
                    f"it is '{other}' under a second name",
                    subject=f"{program.name}.{name}",
                    where=attribute_location(program.name, declared, name),
                    remedy=f"Use '{other}', or declare a variable of its own",
                )
            declared[name] = value
    return declared


def build(
    owner: str,
    declared: dict[str, Declaration],
    *,
    output: Any,
    halt: Any,
    tokens: Any,
    positions: int | None,
) -> Definition:
    """A definition from named declarations, each of them checked."""
    words = _vocabulary(owner, declared, tokens)
    checker = _Checker(owner, declared, words, positions)
    variables: dict[str, Variable] = {}
    heads: dict[str, Head] = {}
    for name, declaration in declared.items():
        if isinstance(declaration, VariableDeclaration):
            variables[name] = checker.variable(name, declaration)
        elif isinstance(declaration, HeadDeclaration):
            heads[name], variables[name] = checker.head(name, declaration)
    return Definition(
        variables=MappingProxyType(variables),
        heads=MappingProxyType(heads),
        output=checker.output(output),
        halt=None if halt is None else checker.halt(halt),
        vocabulary=words,
        positions=positions,
    )


class _Checker:
    """The declarations of one program, with the checks on each kind of them."""

    def __init__(
        self, owner: str, declared: dict[str, Declaration], words: Vocabulary, positions: int | None
    ) -> None:
        self.owner = owner
        self.declared = declared
        self.words = words
        self.positions = positions
        self.names = {id(declaration): name for name, declaration in declared.items()}

    def error(self, name: str, what: str, remedy: str, where: Location | None = None) -> WeftError:
        if where is None and name in self.declared:
            where = self.declared[name].where
        if where is None:
            where = attribute_location(self.owner, self.declared, name)
        return WeftError(what, subject=f"{self.owner}.{name}", where=where, remedy=remedy)

    def name_of(self, user: str, role: str, reference: Any) -> str:
        """The declared name that a reference stands for."""
        name = self.names.get(id(reference)) if isinstance(reference, Declaration) else reference
        if isinstance(name, str) and name in self.declared:
            return name
        what = f"its {role} is {reference!r}, which is not a variable of {self.owner}"
        if isinstance(reference, Declaration):  # its repr says nothing
            what = f"its {role} was declared outside {self.owner}"
        suggestion = did_you_mean(str(name), list(self.declared))
        raise self.error(user, what, f"Name a variable of this program; {suggestion}")

    def variable(self, name: str, declaration: VariableDeclaration) -> Variable:
        given = [
            word
            for word in ("token", "position", "default")
            if getattr(declaration, word) is not None
        ]
        if len(given) > 1:
            raise self.error(
                name,
                f"it is initialised from {' and '.join(given)}",
                "Start a variable from the token, the position or a default: one of them",
            )
        for word in given[:1]:
            if word != "default" and not callable(getattr(declaration, word)):
                raise self.error(
                    name,
                    f"{word}= is {getattr(declaration, word)!r}, which is not a function",
                    f"Give a function of the {word}, as in {word}=lambda x: x",
                )
        default = None
        if not given or given == ["default"]:
            default = self.default(name, declaration)
        variable = Variable(
            name,
            declaration.range,
            declaration.where,
            declaration.token,
            declaration.position,
            default,
        )
        self.check_initial(variable)
        return variable

    def default(self, name: str, declaration: VariableDeclaration) -> Value:
        default = declaration.default
        if default is None:
            default = frozenset() if isinstance(declaration.range, Subset) else 0
        try:
            return declaration.range.store(default)
        except OutOfRange as error:
            remedy = f"Give default= a value in {declaration.range.describe()}"
            raise self.error(name, f"it cannot start as {default!r}: {error}", remedy) from None

    def check_initial(self, variable: Variable) -> None:
        """Try the initialiser on every token, or every position, that is known."""
        given: list[tuple[Any, int]] = []
        if variable.token is not None and self.words.size is not None:
            given = [(self.words.name(number), 0) for number in range(self.words.size)]
        elif variable.position is not None and self.positions is not None:
            given = [(None, position) for position in range(self.positions)]
        for token, position in given:
            try:
                variable.initial(token, position)
            except WeftError as error:
                raise self.error(variable.name, error.what, error.remedy) from None

    def head(self, name: str, declaration: HeadDeclaration) -> tuple[Head, Variable]:
        query = key = None
        if declaration.query is not None or declaration.key is not None:
            query = self.head_input(name, "query", declaration.query, (Categorical, Subset))
            key = self.head_input(name, "key", declaration.key, (Categorical,))
            self.check_sizes(name, query, key)
        value = self.head_input(name, "value", declaration.value, (Categorical, Number))
        head = Head(name, query, key, value, declaration.offsets, declaration.where)
        range_ = self.head_range(name, value, declaration.output)
        return head, Variable(name, range_, declaration.where, is_head=True)

    def head_input(
        self, head: str, role: str, reference: Any, kinds: tuple[type[Range], ...]
    ) -> str:
        name = self.name_of(head, role, reference)
        declaration = self.declared[name]
        if isinstance(declaration, HeadDeclaration):
            raise self.error(
                head,
                f"its {role} '{name}' is the output of another head; all heads of a layer read the "
                "stream as it stood before that layer, so they cannot see each other",
                f"Copy it into a variable in step (z.{name}_ = z.{name}) and attend to that "
                "variable one layer later",
            )
        assert isinstance(declaration, VariableDeclaration)
        if not isinstance(declaration.range, kinds):
            wanted = " or ".join(_KIND[kind] for kind in kinds)
            raise self.error(
                head,
                f"its {role} '{name}' is {_KIND[type(declaration.range)]}",
                f"A {role} must be {wanted}",
            )
        return name

    def range_of(self, name: str) -> Range:
        declaration = self.declared[name]
        assert isinstance(declaration, VariableDeclaration)
        return declaration.range

    def check_sizes(self, head: str, query: str, key: str) -> None:
        asked = self.range_of(query)
        asked_size = asked.size if isinstance(asked, Subset) else len(asked)
        if asked_size != len(self.range_of(key)):
            raise self.error(
                head,
                f"its query '{query}' ranges over {asked_size} values, its key '{key}' over "
                f"{len(self.range_of(key))}",
                "Give query and key the same number of values",
            )

    def head_range(self, head: str, value: str, output: Any) -> Range:
        result = self.range_of(value)
        if output is None:
            return result
        if not isinstance(output, VariableDeclaration) or id(output) in self.names:
            raise self.error(
                head,
                "output= is the range of the head's output, not another variable",
                "Write output=weft.number(buckets) or output=weft.var(n); the head's own name is "
                "the name of its output",
            )
        if type(output.range) is not type(result):
            raise self.error(
                head,
                f"its value '{value}' is {_KIND[type(result)]}, its output "
                f"{_KIND[type(output.range)]}",
                "Give value and output the same kind",
            )
        if isinstance(result, Categorical) and len(output.range) < len(result):
            raise self.error(
                head,
                f"its value '{value}' has {len(result)} values, its output {len(output.range)}",
                "Give the output at least as many values as the value has",
            )
        return output.range

    def output(self, reference: Any) -> str:
        if reference is None:
            raise self.error("output", "the program has no output", "Write output = some_variable")
        name = self.name_of("output", "variable", reference)
        declaration = self.declared[name]
        if isinstance(declaration, HeadDeclaration):
            raise self.error(
                "output",
                f"'{name}' is the output of a head, which is cleared when a layer ends",
                "Copy it into a variable in step, and make that variable the output",
                declaration.where,
            )
        if not isinstance(self.range_of(name), Categorical):
            raise self.error(
                "output",
                f"'{name}' is {_KIND[type(self.range_of(name))]}",
                "The output must be categorical: in step, turn it into a weft.var",
                declaration.where,
            )
        return name

    def halt(self, condition: Any) -> Halt:
        if not isinstance(condition, HaltDeclaration):
            raise self.error(
                "halt",
                f"{_shown(condition)} is not a condition",
                "Write halt = variable == value, as in halt = done == 1",
            )
        name = self.name_of("halt", "variable", condition.variable)
        declaration = self.declared[name]
        if isinstance(declaration, HeadDeclaration) or not isinstance(
            self.range_of(name), Categorical
        ):
            raise self.error(
                "halt",
                f"'{name}' is not a categorical variable",
                "Halt on a weft.var, as in halt = done == 1",
                declaration.where,
            )
        try:
            return Halt(name, self.range_of(name).store(condition.value))
        except OutOfRange as error:
            raise self.error(
                "halt",
                f"'{name}' never holds {condition.value!r}: {error}",
                f"Compare it with a value in {self.range_of(name).describe()}",
                declaration.where,
            ) from None


_KIND: dict[type[Range], str] = {
    Categorical: "a categorical variable",
    Number: "a number",
    Subset: "a set",
}


def _shown(value: Any) -> str:
    return "a variable" if isinstance(value, Declaration) else repr(value)


def check_step(owner: str, definition: Definition, step: Any) -> None:
    """All variables that `step` and its helpers name exist, no head is written, nothing escapes."""
    if step is None:
        return
    for access in uses(step, 0):
        if isinstance(access, Escape):
            raise escape_error(owner, access)
        if access.name not in definition.variables:
            raise unknown_variable(owner, access.name, definition.variables, access.where)
        if access.writes and definition.variables[access.name].is_head:
            raise head_write_error(owner, access.name, access.where)


def unknown_variable(
    owner: str, name: str, variables: Iterable[str], where: Location | None
) -> WeftError:
    """The step names a variable that the program does not have."""
    what = f"there is no variable '{name}'"
    return unknown_name(what, name, variables, subject=f"{owner}.step", where=where)


def head_write_error(owner: str, name: str, where: Location | None) -> WeftError:
    """A step may read a head's output but not assign to it."""
    return WeftError(
        f"'{name}' is the output of a head and cannot be written",
        subject=f"{owner}.step",
        where=where,
        remedy=f"Declare a variable, as in {name}_ = weft.var(...), and write that",
    )


def _vocabulary(owner: str, declared: dict[str, Declaration], tokens: Any) -> Vocabulary:
    try:
        return vocabulary(tokens)
    except WeftError as error:
        where = attribute_location(owner, declared, "tokens")
        remedy = error.remedy or "List the tokens, as in tokens = ['a', 'b']"
        raise error.revised(subject=f"{owner}.tokens", where=where, remedy=remedy) from None
