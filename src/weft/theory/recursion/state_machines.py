"""Abstract state machines over token sequences: guarded rules that a person can read and run.

A state (Gurevich 1995, as used by Zhang et al. 2024) has a fixed signature:

    input[j]     token j of the input, from 1; none beyond its ends
    L            the number of input tokens
    output[j]    token j of the output so far
    k            the number of the token that is written next, from 1
    pointers     derived from the input, such as the start of a run; functions of the input alone
    registers    locations that rules may assign, with their initial values

One step of a machine is one decoding step of a model. Every rule whose guard holds fires, all read
the state as it was before the step, and their updates happen at once; two different values for one
location are an error. A step writes one token (`emit`). If no rule fires, or a rule without updates
does, the machine stops, as a model does when it writes <end>. An ordered machine is one conditional
with else-branches: only the first rule whose guard holds fires.

Guards and terms are Python expressions over the signature and nothing else, so what is printed is
what is executed. Tokens are written as strings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from weft.errors import WeftError

Word = tuple[str, ...]
"""Tokens of an input or an output."""
EMIT = "emit"
"""The location of the token that a step writes."""
SIGNATURE = ("input", "output", "L", "k")
ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Add,
    ast.Sub, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Name, ast.Load,
    ast.Constant, ast.Subscript, ast.Call,
)  # fmt: skip
MOST_EXTRA = 4
"""By default, an output may be this many tokens longer than four times its input."""


class Tokens:
    """Tokens numbered from 1; None beyond the ends."""

    __slots__ = ("count", "tokens")

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens, self.count = tokens, len(tokens)

    def __getitem__(self, place: int) -> str | None:
        return self.tokens[place - 1] if 0 < place <= self.count else None


@dataclass(frozen=True)
class Rule:
    """A guarded rule.

    Attributes:
        guard: when it fires, as an expression over the signature.
        updates: the new value of each location, as expressions; without any, the machine stops.

    Example:
        >>> from weft.theory.recursion import Rule
        >>> print(Rule("k < i", emit="input[k]"))
        if k < i then emit input[k]
    """

    guard: str
    updates: Mapping[str, str]

    def __init__(self, guard: str, **updates: str) -> None:
        object.__setattr__(self, "guard", guard)
        object.__setattr__(self, "updates", updates)

    def __str__(self) -> str:
        return f"if {readable(self.guard)} then {self.action}"

    @property
    def action(self) -> str:
        """Its updates as text."""
        parts = [
            f"emit {readable(term)}" if location == EMIT else f"{location} := {readable(term)}"
            for location, term in self.updates.items()
        ]
        return ", ".join(parts) or "stop"


@dataclass(frozen=True)
class Pointer:
    """A name derived from the input.

    Attributes:
        name: its name in rules.
        meaning: its definition in words.
        derive: its value for an input: a number, or a function of numbers.
    """

    name: str
    meaning: str
    derive: Callable[[Word], Any]


@dataclass(frozen=True)
class StateMachine:
    """An abstract state machine that maps an input to an output.

    Attributes:
        name: what it computes, in a few words.
        rules: its guarded rules.
        pointers: what it derives from the input.
        registers: initial values of its registers.
        ordered: whether only the first rule whose guard holds fires.
        reads: the tokens that `input` numbers, from all tokens of the input; all by default.
        writes: the output, from the tokens that were emitted; these by default.

    Example:
        >>> from weft.theory.recursion import Rule, StateMachine
        >>> swap = StateMachine("swaps a and b", (
        ...     Rule('input[k] == "a"', emit='"b"'), Rule('input[k] == "b"', emit='"a"')))
        >>> swap(("a", "b", "b"))
        ('b', 'a', 'a')
    """

    name: str
    rules: tuple[Rule, ...]
    pointers: tuple[Pointer, ...] = ()
    registers: Mapping[str, Any] = field(default_factory=dict)
    ordered: bool = False
    reads: Callable[[Word], Word] | None = None
    writes: Callable[[Word], Word] | None = None

    def __post_init__(self) -> None:
        known = {*SIGNATURE, *self.registers, *(pointer.name for pointer in self.pointers)}
        for number, rule in enumerate(self.rules, start=1):
            for text in (rule.guard, *rule.updates.values()):
                _check(text, known, f"rule {number} of the machine '{self.name}'")
            for location in rule.updates:
                if location != EMIT and location not in self.registers:
                    raise WeftError(
                        f"rule {number} assigns '{location}', which is not a register",
                        subject=f"the machine '{self.name}'",
                        remedy=f"Declare it in registers={{'{location}': ...}}",
                    )

    def __call__(self, tokens: Sequence[str], *, limit: int | None = None) -> Word:
        """The output for an input.

        Args:
            tokens: the input.
            limit: the longest output; a machine that writes more is an error.
        """
        output: list[str] = []
        most = 4 * len(tokens) + MOST_EXTRA if limit is None else limit
        for _, token, _ in self._steps(tuple(tokens)):
            output.append(token)
            if len(output) > most:
                raise WeftError(
                    f"the machine '{self.name}' does not stop within {most} steps",
                    remedy="Add a guard that no longer holds at the end, or raise limit",
                )
        return tuple(output) if self.writes is None else self.writes(tuple(output))

    def trace(self, tokens: Sequence[str]) -> Iterator[str]:
        """Each step as text: the rules that fire, and the token that they write.

        Example:
            >>> from weft.theory.recursion import successor_machine
            >>> print("\\n".join(successor_machine("constructor").trace(("X1", "XO", "01"))))
            k = 1: rule 1 emits XO
            k = 2: rule 2 emits X1
            k = 3: rule 5 emits 01
        """
        for number, (fired, token, _) in enumerate(self._steps(tuple(tokens)), start=1):
            rules = " and ".join(str(each + 1) for each in fired)
            word = "rule" if len(fired) == 1 else "rules"
            yield f"k = {number}: {word} {rules} emit{'s' * (len(fired) == 1)} {token}"

    def registers_after(self, tokens: Sequence[str], register: str) -> list[Any]:
        """The value of a register after each step."""
        return [registers[register] for _, _, registers in self._steps(tuple(tokens))]

    def lines(self) -> Iterator[str]:
        """The machine as text: pointers and registers, then rules."""
        for pointer in self.pointers:
            yield f"{pointer.name}: {pointer.meaning}"
        for register, value in self.registers.items():
            yield f"{register}: {_shown(value)} at first"
        for number, rule in enumerate(self.rules):
            yield f"{'else ' if self.ordered and number else ''}{rule}"

    def __str__(self) -> str:
        return "\n".join((self.name, *(f"  {line}" for line in self.lines())))

    @cached_property
    def rules_key(self) -> tuple[Any, ...]:
        """Its rules and registers as one value, equal for machines that have the same ones."""
        rules = tuple((rule.guard, *rule.updates.items()) for rule in self.rules)
        names = tuple(pointer.name for pointer in self.pointers)
        return rules, names, tuple(self.registers.items())

    def values(self, tokens: Word) -> tuple[Any, ...]:
        """The pointers' values for an input, in their order."""
        return tuple(pointer.derive(tokens) for pointer in self.pointers)

    def _steps(self, tokens: Word) -> Iterator[tuple[list[int], str, dict[str, Any]]]:
        """Of each step, the rules that fire, the token, and the registers after it."""
        written: list[str] = []
        registers = dict(self.registers)
        derived = self.values(tokens)
        given = Tokens(tokens if self.reads is None else self.reads(tokens))
        length = given.count
        while True:
            so_far = Tokens(written)
            state = (given, so_far, length, len(written) + 1, *registers.values(), *derived)
            fired: list[int] = []
            updates: dict[str, Any] = {}
            for number, (guard, terms) in enumerate(self._compiled):
                if not guard(*state):
                    continue
                fired.append(number)
                for location, term in terms:
                    value = term(*state)
                    if updates.setdefault(location, value) != value:
                        raise WeftError(
                            f"rules {_numbers(fired)} give {location} two values in one step",
                            subject=f"the machine '{self.name}'",
                            remedy="Make their guards exclusive",
                        )
                if self.ordered:
                    break
            if not updates:
                return
            token = updates.pop(EMIT, None)
            if token is None:
                raise WeftError(
                    f"rules {_numbers(fired)} fire at step {len(written) + 1}, and write no token",
                    subject=f"the machine '{self.name}'",
                    remedy="Emit a token of the alphabet in every step",
                )
            registers = registers | updates
            written.append(str(token))
            yield fired, str(token), registers

    @cached_property
    def _compiled(self) -> list[tuple[Callable[..., Any], list[tuple[str, Callable[..., Any]]]]]:
        names = (*SIGNATURE, *self.registers, *(pointer.name for pointer in self.pointers))
        return [
            (
                function_of(rule.guard, names),
                [(each, function_of(term, names)) for each, term in rule.updates.items()],
            )
            for rule in self.rules
        ]


def function_of(text: str, names: Sequence[str]) -> Callable[..., Any]:
    """An expression over names as a function of their values; `_check` has approved it."""
    code = compile(f"lambda {', '.join(names)}: {text}", "<rule>", "eval")
    function: Callable[..., Any] = eval(code, {"__builtins__": {}})
    return function


def readable(text: str) -> str:
    """An expression without the quotes around tokens.

    Example:
        >>> readable('input[i] == "01" and k > i')
        'input[i] = 01 and k > i'
    """
    return re.sub(r"\"([^\"]*)\"|'([^']*)'", r"\1\2", text).replace("==", "=").replace("!=", "≠")


def _check(text: str, known: set[str], where: str) -> None:
    """Refuse an expression that uses more than the signature."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise WeftError(f"'{text}' is not an expression: {error.msg}", subject=where) from None
    for node in ast.walk(tree):
        if not isinstance(node, ALLOWED):
            what = f"'{text}' uses {type(node).__name__}, which no guard or term may"
            raise WeftError(what, subject=where, remedy="Use and, or, not, + and -, comparisons")
        if isinstance(node, ast.Name) and node.id not in known:
            what = f"'{text}' uses '{node.id}', which the signature does not have"
            raise WeftError(what, subject=where, remedy=f"Use {', '.join(sorted(known))}")
        if isinstance(node, ast.Call) and (node.keywords or not isinstance(node.func, ast.Name)):
            raise WeftError(f"'{text}' calls something that is not a pointer", subject=where)


def _numbers(fired: Sequence[int]) -> str:
    return ", ".join(str(each + 1) for each in fired)


def _shown(value: Any) -> str:
    return str(value)
