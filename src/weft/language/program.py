"""What a program is: variables, heads, a step, an output and a halting condition.

A program is written as a class and checked when that class is created, or, if it has parameters
(an `__init__` that declares on `self`), when an instance is created. From then on it is
immutable; interpreters and compiler read `variables`, `heads`, `updates` and `rules` from it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from weft.errors import Location, WeftError
from weft.language.declare import Declaration
from weft.language.ranges import OutOfRange, Range, Undefined, Value
from weft.language.vocabulary import Vocabulary

if TYPE_CHECKING:
    import random

    from weft.language.rules import RuleSet
    from weft.language.stream import Stream
    from weft.language.updates import Updates


@dataclass(frozen=True)
class Variable:
    """A variable of a program; a head's output is one too, and only that can be undefined."""

    name: str
    range: Range
    where: Location
    token: Callable[[Any], Any] | None = None
    position: Callable[[Any], Any] | None = None
    default: Value | None = None
    is_head: bool = False

    def __len__(self) -> int:
        return len(self.range)

    def initial(self, token: Any, position: int) -> Value | Undefined:
        """The first value at a position that holds this token."""
        from weft.language.ranges import UNDEFINED

        if self.is_head:
            return UNDEFINED
        if self.token is not None:
            return self._initial_from("token", self.token, token)
        if self.position is not None:
            return self._initial_from("position", self.position, position)
        assert self.default is not None
        return self.default

    def _initial_from(self, source: str, initialiser: Callable[[Any], Any], given: Any) -> Value:
        remedy = f"Let {source}= give a value in {self.range.describe()}"
        try:
            return self.range.store(initialiser(given))
        except OutOfRange as error:
            what = f"{source} {given!r} initialises it outside its range: {error}"
        except Exception as error:
            what = f"its {source}= function fails on {given!r}: {type(error).__name__}: {error}"
        raise WeftError(what, subject=self.name, where=self.where, remedy=remedy)


@dataclass(frozen=True)
class Head:
    """An attention head. Query and key are both None if the head selects by offset alone."""

    name: str
    query: str | None
    key: str | None
    value: str
    offsets: frozenset[int] | None
    where: Location

    def describe(self) -> str:
        """The head in a few words: what it looks for, and where."""
        if self.query is None:
            (offset,) = self.offsets or (0,)
            side = "left" if offset < 0 else "right"
            return f"{self.value} {abs(offset)} to the {side}" if offset else f"{self.value} here"
        where = f" within {sorted(self.offsets)}" if self.offsets is not None else ""
        return f"{self.value} where {self.key} = {self.query}{where}"


@dataclass(frozen=True)
class Halt:
    """A position has halted when `variable` holds `value`; a sequence, when all positions have."""

    variable: str
    value: Value


@dataclass(frozen=True)
class Definition:
    """A checked program: all that its class declares, as a value."""

    variables: Mapping[str, Variable]
    heads: Mapping[str, Head]
    output: str
    halt: Halt | None
    vocabulary: Vocabulary
    positions: int | None


class _Body(dict[str, Any]):
    """The body of a program's class, in which nothing is declared twice."""

    def __init__(self, owner: str) -> None:
        super().__init__()
        self._owner = owner

    def __setitem__(self, name: str, value: Any) -> None:
        refuse_second_declaration(self._owner, name, self.get(name), value)
        super().__setitem__(name, value)


def refuse_second_declaration(owner: str, name: str, old: Any, new: Any) -> None:
    """Refuse two declarations under one name, such as two heads with the same output."""
    if isinstance(old, Declaration) and isinstance(new, Declaration):
        raise WeftError(
            f"it is declared twice, first on line {old.where.line}",
            subject=f"{owner}.{name}",
            where=new.where,
            remedy="Every variable and every head's output needs a name of its own",
        )


class ProgramType(type):
    """Checks a program when its class is created, and one with parameters when it is called."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any
    ) -> ProgramType:
        cls = super().__new__(mcs, name, bases, dict(body), **options)
        has_parameters = cls.__init__ is not object.__init__  # type: ignore[misc]
        declares = any(isinstance(value, Declaration) for value in body.values())
        if declares and not has_parameters:
            cls()
        return cls

    @classmethod
    def __prepare__(  # type: ignore[override]  # mypy wants the names positional-only
        mcs, name: str, bases: tuple[type, ...], **options: Any
    ) -> _Body:
        return _Body(name)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        from weft.language.definition import define

        program = super().__call__(*args, **kwargs)
        if "definition" not in vars(program):
            object.__setattr__(program, "definition", define(program))
        return program


class Program(metaclass=ProgramType):
    """An algorithm, written as a transformer would run it. Subclass it to write one.

    Class attributes: `tokens` (names of the input tokens, or how many there are), `positions` (the
    longest input, if a variable starts from its position), `output` (the variable that is read
    at every position), `halt` (as in `done == 1`), `layers` (how many to run if there is no
    `halt`), `max_layers` (the limit for a program that should halt), `causal` (no
    position sees a later one) and `stop` (the token that ends generation).

    Example:
        >>> import weft
        >>> class Parity(weft.Program):
        ...     "Parity of a bit string, carried from left to right, one position per layer."
        ...     tokens = [0, 1, "s"]
        ...     parity = weft.var(2, token=lambda t: 0 if t == "s" else t)
        ...     done = weft.var(2, token=lambda t: t == "s")
        ...     parity_left = weft.relative(parity, -1)
        ...     done_left = weft.relative(done, -1)
        ...     output = parity
        ...     halt = done == 1
        ...     def step(z):
        ...         if not z.done and z.done_left:
        ...             z.parity ^= z.parity_left
        ...             z.done = 1
        >>> weft.run(Parity, "s101").outputs
        (0, 1, 1, 0)
    """

    tokens: ClassVar[Sequence[Hashable] | int | None] = None
    positions: ClassVar[int | None] = None
    causal: ClassVar[bool] = False
    stop: ClassVar[Hashable | None] = None
    layers: ClassVar[int | None] = None
    max_layers: ClassVar[int] = 4096

    definition: Definition
    listed_rules: RuleSet | None = None  # a program may be given by its rules, without a step

    def __setattr__(self, name: str, value: Any) -> None:
        if "definition" in vars(self):
            raise AttributeError(f"{self.name} is a finished program and cannot be changed")
        refuse_second_declaration(self.name, name, vars(self).get(name), value)
        object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    @property
    def variables(self) -> Mapping[str, Variable]:
        """The variables, heads' outputs among them, in the order of their declaration."""
        return self.definition.variables

    @property
    def heads(self) -> Mapping[str, Head]:
        """The attention heads, by the name of their output."""
        return self.definition.heads

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens that the program reads."""
        return self.definition.vocabulary

    @cached_property
    def derived(self) -> dict[Any, Any]:
        """What other packages derive from the program once and keep with it, by its type."""
        return {}

    @cached_property
    def updates(self) -> Updates:
        """The guarded updates that the front end derives from `step`."""
        from weft.language.frontend import derive

        return derive(self)

    @cached_property
    def rules(self) -> RuleSet:
        """The transition rules: the expansion of `updates`, and the resets of the heads."""
        from weft.language.rules import expand

        return expand(self)

    def run_step(self, state: Any) -> None:
        """Execute `step` as ordinary Python on something that has the variables as attributes."""
        step = self.step_function
        if step is not None:
            step(state)

    @cached_property
    def step_function(self) -> Callable[[Any], None] | None:
        """`step` as a function of the state alone; None if the program has none."""
        function: Any = plain_step(type(self))
        if function is None or function.__code__.co_argcount == 1:
            return function  # type: ignore[no-any-return]
        return function.__get__(self)  # type: ignore[no-any-return]

    @cached_property
    def _step_has_loop(self) -> bool:
        """Whether executing the step may come to a loop, whose rounds are then counted."""
        from weft.language.bounded import check_can_end, reaches_loop

        step = self.step_function
        if step is None:
            return False
        check_can_end(self.name, step)
        return reaches_loop(step)

    def encode(self, text: str) -> Sequence[Any]:
        """Tokens from text. Override it to add marks that every input needs."""
        return self.vocabulary.parse(text)

    def decode(self, stream: Stream) -> Any:
        """The result from the last stream. Override it to say what the answer is."""
        return stream[self.definition.output]

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A random input of about this length, for checks. Override it to give sensible ones."""
        size = self.vocabulary.size
        if size is None:
            raise WeftError(
                "its tokens are not declared, so none can be drawn",
                subject=self.name,
                remedy="Declare `tokens`, or override `sample`",
            )
        return [self.vocabulary.name(rng.randrange(size)) for _ in range(length)]

    def task(self, tokens: Sequence[Any]) -> Any:
        """What `decode` should give for these tokens. Override it, and checks compare with it.

        Write it in plain Python, as directly as possible: it is the specification of the program.
        """
        raise NotImplementedError

    @property
    def has_task(self) -> bool:
        """Whether the program says what it should compute."""
        return type(self).task is not Program.task

    def __repr__(self) -> str:
        return f"<program {self.name}>"


def as_program(program: Program | type[Program]) -> Program:
    """The program itself, or an instance with default parameters if its class is given."""
    if isinstance(program, Program):
        return program
    if isinstance(program, type) and issubclass(program, Program):
        try:
            return program()
        except TypeError as error:
            raise WeftError(
                f"{program.__name__} cannot be made without arguments: {error}",
                remedy=f"Call it with its parameters, as in {program.__name__}(...)",
            ) from None
    raise WeftError(f"{program!r} is not a program", remedy="Give a subclass of weft.Program")


def plain_step(cls: type) -> Any:
    """The function behind `step`, not bound to anything."""
    for base in cls.__mro__:
        if "step" in vars(base):
            step = vars(base)["step"]
            return step.__func__ if isinstance(step, staticmethod) else step
    return None


def token_numbers(program: Program, tokens: Iterable[Any]) -> list[int]:
    """The numbers of an input's tokens, checked against vocabulary and length."""
    vocabulary = program.vocabulary
    tokens = list(tokens)
    try:
        numbers = vocabulary.all_numbers(tokens)
    except WeftError:
        numbers = [_token_number(program, token, place) for place, token in enumerate(tokens)]
    limit = program.definition.positions
    if limit is not None and len(numbers) > limit:
        raise WeftError(
            f"the input has {len(numbers)} tokens; the program has {limit} positions",
            subject=program.name,
            remedy="Give a shorter input, or make the program with more positions",
        )
    return numbers


def _token_number(program: Program, token: Any, position: int) -> int:
    try:
        return program.vocabulary.number(token)
    except WeftError as error:
        what = f"position {position}: {error.what}"
        raise error.revised(what=what, subject=program.name) from None
