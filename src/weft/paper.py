"""The notation of the ALTA paper, as a thin layer over `Program`.

The listings of the paper run as printed: `var`, `numeric_var`, `set_var`, `qkv`, `v_relative`,
`halt_spec`, `program_spec`, and `MLPBuilder` for rules written out. The paper spells some words in
several ways; all of them are accepted.

Example:
    >>> from weft.paper import halt_spec, program_spec, v_relative, var
    >>> import weft
    >>> def ffn_fn(z):
    ...     if z["done"] != 1 and z["done_left"] == 1:
    ...         z["parity"] = z["parity_left"] ^ z["parity"]
    ...         z["done"] = 1
    >>> parity = program_spec(
    ...     variables={
    ...         "parity": var(range=2, input_init_fn=lambda x: 0 if x == 2 else x),
    ...         "done": var(range=2, input_init_fn=lambda x: x == 2),
    ...     },
    ...     heads={"parity_left": v_relative("parity", -1), "done_left": v_relative("done", -1)},
    ...     ffn_fn=ffn_fn, output_name="parity", input_range=3,
    ...     halt=halt_spec("done", halt_value=1),
    ... )
    >>> weft.run(parity, [2, 1, 0, 1]).outputs
    (0, 1, 1, 0)
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from weft.errors import Location, WeftError, caller_location, check_known, unknown_name
from weft.language.declare import (
    Declaration,
    HaltDeclaration,
    HeadDeclaration,
    VariableDeclaration,
    declare_attend,
    declare_number,
    declare_subset,
    declare_var,
)
from weft.language.definition import build, check_step
from weft.language.program import Program
from weft.language.ranges import OutOfRange, Range
from weft.language.rules import Rule, RuleSet

__all__ = [
    "MLPBuilder",
    "halt_spec",
    "numeric_var",
    "numerical_var",
    "program_spec",
    "qkv",
    "relative_v",
    "set_var",
    "v_relative",
    "var",
]

_SPELLINGS = {
    "var_range": "range",
    "output": "output_name",
    "halt_spec": "halt",
    "vars": "variables",
    "attention_heads": "heads",
    "pos_range": "position_range",
    "mlp": "rules",
    "mlp_rules": "rules",
    "transition_rules": "rules",
    "mlp_fn": "ffn_fn",
    "mlp_func": "ffn_fn",
    "halt_value": "value",
    "relative_position_mask": "relative_positions",
    "relative_mask": "relative_positions",
    "output_spec": "output_variable",
    "sets": "values",
    "buckets": "values",
}


def _take(function: str, names: Sequence[str], args: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """Arguments by their one name, whatever spelling they were given in."""
    taken = dict(zip(names, args, strict=False))
    where = caller_location(2)
    if len(args) > len(names):
        raise WeftError(f"{function} takes {len(names)} arguments at most", where=where)
    for written, value in given.items():
        name = written if written in names else _SPELLINGS.get(written, written)
        if name not in names:
            known = [*names, *(s for s, n in _SPELLINGS.items() if n in names)]
            raise unknown_name(
                f"{function} has no argument '{written}'", written, known, where=where
            )
        if name in taken:
            raise WeftError(f"{function} is given '{name}' twice", where=where)
        taken[name] = value
    return taken, where


def _require(function: str, taken: dict[str, Any], where: Location, *names: str) -> None:
    for name in names:
        if taken.get(name) is None:
            raise WeftError(f"{function} needs '{name}'", where=where, remedy=f"Give {name}=...")


_INIT = ("input_init_fn", "position_init_fn", "default")


def var(*args: Any, **given: Any) -> Any:
    """A categorical variable: `var(range, input_init_fn=, position_init_fn=, default=)`."""
    taken, where = _take("var", ("range", *_INIT), args, given)
    _require("var", taken, where, "range")
    return declare_var(taken["range"], *_initial(taken), where)


def numeric_var(*args: Any, **given: Any) -> Any:
    """A numerical variable: `numeric_var(values=, input_init_fn=, position_init_fn=, default=)`."""
    taken, where = _take("numeric_var", ("values", *_INIT), args, given)
    _require("numeric_var", taken, where, "values")
    return declare_number(taken["values"], *_initial(taken), where)


numerical_var = numeric_var


def set_var(*args: Any, **given: Any) -> Any:
    """A set variable: `set_var(range, values, input_init_fn=, position_init_fn=, default=)`."""
    taken, where = _take("set_var", ("range", "values", *_INIT), args, given)
    _require("set_var", taken, where, "range", "values")
    return declare_subset(taken["range"], taken["values"], *_initial(taken), where)


def _initial(taken: dict[str, Any]) -> tuple[Any, Any, Any]:
    return taken.get("input_init_fn"), taken.get("position_init_fn"), taken.get("default")


def qkv(*args: Any, **given: Any) -> Any:
    """A head: `qkv(query, key, value, relative_positions=, output_spec=)`."""
    names = ("query", "key", "value", "relative_positions", "output_variable")
    taken, where = _take("qkv", names, args, given)
    _require("qkv", taken, where, "query", "key", "value")
    return declare_attend(
        taken["query"],
        taken["key"],
        taken["value"],
        taken.get("relative_positions"),
        taken.get("output_variable"),
        where,
    )


def v_relative(*args: Any, **given: Any) -> Any:
    """A head that looks a fixed distance away: `v_relative(value, offset)`."""
    names = ("value", "relative_position", "output_variable")
    taken, where = _take("v_relative", names, args, given)
    _require("v_relative", taken, where, "value", "relative_position")
    offsets = [taken["relative_position"]]
    return declare_attend(None, None, taken["value"], offsets, taken.get("output_variable"), where)


relative_v = v_relative


def halt_spec(*args: Any, **given: Any) -> HaltDeclaration:
    """When to stop: `halt_spec(variable, halt_value)`."""
    taken, where = _take("halt_spec", ("variable", "value"), args, given)
    _require("halt_spec", taken, where, "variable", "value")
    return HaltDeclaration(taken["variable"], taken["value"])


class PaperProgram(Program):
    """A program made by `program_spec`."""

    _name = "program"

    @property
    def name(self) -> str:
        """The name of the function that built it."""
        return self._name


def program_spec(*args: Any, **given: Any) -> Program:
    """A program from the paper's parts; `ffn_fn` or `rules` says what a layer does."""
    names = (
        "variables",
        "heads",
        "ffn_fn",
        "output_name",
        "input_range",
        "position_range",
        "halt",
        "rules",
        "name",
    )
    taken, where = _take("program_spec", names, args, given)
    _require("program_spec", taken, where, "variables", "output_name", "input_range")
    name = taken.get("name") or _name_of_caller()
    declared = _declarations(name, taken["variables"], taken.get("heads") or {})
    step, rules = taken.get("ffn_fn"), taken.get("rules")
    if (step is None) == (rules is None):
        raise WeftError(
            "program_spec takes either ffn_fn or rules",
            where=where,
            remedy="Give the function, or the rules of an MLPBuilder",
        )
    definition = build(
        name,
        declared,
        output=taken["output_name"],
        halt=taken.get("halt"),
        tokens=taken["input_range"],
        positions=taken.get("position_range"),
    )
    check_step(name, definition, step)
    program = object.__new__(PaperProgram)
    object.__setattr__(program, "_name", name)
    object.__setattr__(program, "step_function", step)
    if rules is not None:
        listed = RuleSet(definition.variables, rules)
        object.__setattr__(program, "listed_rules", listed)
    object.__setattr__(program, "definition", definition)
    return program


def _declarations(
    name: str, variables: Mapping[str, Any], heads: Mapping[str, Any]
) -> dict[str, Declaration]:
    for head, declaration in heads.items():
        if head in variables:
            raise WeftError(
                "it is both a variable and the output of a head",
                subject=f"{name}.{head}",
                where=declaration.where,
                remedy="Give the head's output a name of its own",
            )
    return {**variables, **heads}


def _name_of_caller() -> str:
    name = sys._getframe(2).f_code.co_name
    return "program" if name.startswith("<") else name


class MLPBuilder:
    """Rules written out by loops over values, as in figure 6 of the paper.

    `get` loops over the values of variables, which are in the guard while the loop runs; `set`
    makes the rules that assign a value under the present guard.

    Example:
        >>> from weft.paper import MLPBuilder, v_relative, var
        >>> x = MLPBuilder({"bit": var(2)}, {"left": v_relative("bit", -1)})
        >>> for left in x.get("left"):
        ...     x.set("bit", left)
        >>> [(rule.guard, rule.old, rule.new) for rule in x.rules]
        [((('left', (0,)),), 1, 0), ((('left', (1,)),), 0, 1)]
    """

    def __init__(self, variables: Mapping[str, Any], attention_heads: Mapping[str, Any]) -> None:
        self._ranges: dict[str, Range] = {
            name: declaration.range
            for name, declaration in variables.items()
            if isinstance(declaration, VariableDeclaration)
        }
        self._heads = set(attention_heads)
        for name, head in attention_heads.items():
            self._ranges[name] = self._head_range(name, head, variables)
        self._scope: dict[str, Any] = {}
        self._rules: list[Rule] = []

    @property
    def rules(self) -> list[Rule]:
        """The rules made so far."""
        return list(self._rules)

    def get(self, *names: str) -> Iterator[Any]:
        """The values of a variable, or tuples of values of several; in scope while they last."""
        where = caller_location(1)
        for name in names:
            self._check_name(name, where)
        return self._loop(names)

    def _loop(self, names: tuple[str, ...]) -> Iterator[Any]:
        outer = dict(self._scope)
        choices: list[Iterable[Any]] = [
            (outer[name],) if name in outer else self._ranges[name].values for name in names
        ]
        try:
            for values in itertools.product(*choices):
                self._scope = {**outer, **dict(zip(names, values, strict=True))}
                yield values[0] if len(names) == 1 else values
        finally:
            self._scope = outer

    def set(self, name: str, value: Any) -> None:
        """Assign a value under the guard of the loops around this call."""
        where = caller_location(1)
        self._check_name(name, where)
        if name in self._heads:
            raise WeftError(
                f"'{name}' is the output of a head and cannot be written",
                where=where,
                remedy="Declare a variable and write that",
            )
        try:
            new = self._ranges[name].store(value)
        except OutOfRange as error:
            raise WeftError(
                f"'{name}' is written outside its range: {error}",
                where=where,
                remedy="Enlarge its range, or skip this case",
            ) from None
        guard = tuple((other, (v,)) for other, v in self._scope.items() if other != name)
        olds = (self._scope[name],) if name in self._scope else self._ranges[name].values
        self._rules += [Rule(guard, name, old, new, where) for old in olds if old != new]

    def _check_name(self, name: str, where: Location) -> None:
        check_known(name, self._ranges, f"there is no variable '{name}'", where=where)

    @staticmethod
    def _head_range(name: str, head: HeadDeclaration, variables: Mapping[str, Any]) -> Range:
        if head.output is not None:
            return head.output.range
        value = variables.get(head.value) if isinstance(head.value, str) else head.value
        if not isinstance(value, VariableDeclaration):
            raise WeftError(
                f"its value {head.value!r} is not a variable", subject=name, where=head.where
            )
        return value.range
