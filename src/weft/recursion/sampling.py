"""Samplers of terms and of arguments: by size, height, shape and recursion depth.

Uniform samplers count and unrank (see `grammar`): every term of the chosen size and height has the
same probability, and none is rejected. Labels are drawn after the shape, each symbol with the same
probability. Everything is determined by the NumPy generator that is given.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from weft.errors import WeftError, check_known
from weft.language.user_code import user_code
from weft.recursion.depth_grammar import depth_grammar
from weft.recursion.grammar import Grammar, Production, below
from weft.recursion.inductive import (
    InductiveMeta,
    is_alphabet,
    seal,
    symbol_table,
)
from weft.recursion.notation import argument_types

if TYPE_CHECKING:
    import numpy as np

    from weft.recursion.function import Function

Shape = Literal["uniform", "split", "left", "right", "balanced"]
Range = int | tuple[int, int]
_new: Any = tuple.__new__


def productions_of(kind: InductiveMeta) -> dict[Hashable, list[Production]]:
    """The productions of a type and of the types within: one for each constructor."""
    seal(kind, "")
    found: dict[Hashable, list[Production]] = {}
    waiting = [kind]
    while waiting:
        current = waiting.pop()
        if current in found or is_alphabet(current):
            continue
        found[current] = []
        for constructor in current.constructors:
            types = argument_types(constructor)
            parts = tuple(one for one in types if not is_alphabet(one))
            make, draws = _maker(constructor, types)
            weight = constructor.weight
            found[current].append(Production(weight, weight, parts, make, draws))
            waiting.extend(parts)
    return found


def _maker(
    constructor: InductiveMeta, types: Sequence[InductiveMeta]
) -> tuple[Callable[..., Any], bool]:
    """The function that makes a term from its parts, and whether it draws symbols."""
    if not types:
        only = constructor._only
        return (lambda: only), False
    alphabets = [one if is_alphabet(one) else None for one in types]
    if not any(alphabets):
        if len(types) == 1:
            return (lambda one: _new(constructor, (one,))), False
        return (lambda *parts: _new(constructor, parts)), False
    if alphabets[0] is not None and not any(alphabets[1:]):
        label = alphabets[0]
        if len(types) == 1:
            return (lambda draw: _new(constructor, (draw(label),))), True
        if len(types) == 2:
            return (lambda one, draw: _new(constructor, (draw(label), one))), True
        if len(types) == 3:
            return (lambda one, two, draw: _new(constructor, (draw(label), one, two))), True

    def make(*given: Any) -> Any:
        *parts, draw = given
        left = iter(parts)
        return _new(constructor, [next(left) if one is None else draw(one) for one in alphabets])

    return make, True


@lru_cache(maxsize=256)
def term_grammar(kind: InductiveMeta) -> Grammar:
    """The grammar of the terms of a type; its levels are heights."""
    found = productions_of(kind)
    return Grammar(found, set(found))


class Labels:
    """Draws symbols: freely, or without repetition within a term."""

    def __init__(self, rng: np.random.Generator, distinct: bool) -> None:
        self.rng, self.distinct = rng, distinct
        self._pools: dict[InductiveMeta, list[Any]] = {}

    def start(self) -> None:
        """Begin a new term."""
        if self.distinct:
            self._pools = {}

    def __call__(self, alphabet: InductiveMeta) -> Any:
        """The next symbol of an alphabet."""
        pool = self._pools.get(alphabet)
        if not pool:
            pool = self._filled(alphabet, pool)
        return pool.pop()

    def _filled(self, alphabet: InductiveMeta, pool: list[Any] | None) -> list[Any]:
        symbols = list(symbol_table(alphabet).values())
        if self.distinct:
            if pool is not None:
                raise WeftError(
                    f"a term has more labels than the {len(symbols)} symbols",
                    subject=alphabet.__name__,
                    remedy="Give smaller terms, or a larger alphabet",
                )
            drawn = self.rng.permutation(len(symbols)).tolist()
        else:
            drawn = self.rng.integers(0, len(symbols), size=4096).tolist()
        self._pools[alphabet] = [symbols[number] for number in drawn]
        return self._pools[alphabet]


class TermSampler:
    """Samples terms of a type.

    Args:
        kind: the type.
        distinct: whether the labels within a term are all different.

    Example:
        >>> import numpy as np
        >>> from weft.recursion import TermSampler
        >>> from weft.recursion.library.trees import Tree
        >>> sampler = TermSampler(Tree)
        >>> [sampler.count(branches) for branches in range(7)]
        [1, 1, 2, 5, 14, 42, 132]
        >>> sampler.sample(np.random.default_rng(0), 1, size=2)
        [Branch(m, Branch(m, Leaf, Leaf), Leaf)]
    """

    def __init__(self, kind: InductiveMeta, *, distinct: bool = False) -> None:
        self.kind = kind
        self.distinct = distinct
        self.grammar = term_grammar(kind)

    def count(self, size: int, height: int | None = None) -> int:
        """The number of shapes of a size, and of a height if it is given."""
        if is_alphabet(self.kind):
            return int(size == 0)
        return self.grammar.count(self.kind, size, height, exact=True)

    def sample(
        self,
        rng: np.random.Generator,
        count: int,
        *,
        size: Range,
        height: int | None = None,
        shape: Shape = "uniform",
    ) -> list[Any]:
        """Draw terms.

        Args:
            rng: decides everything.
            count: how many.
            size: their size, or the smallest and largest; every size that has terms is equally
                likely.
            height: their height; any if None.
            shape: how a size is divided among the arguments of a constructor. `uniform` makes all
                terms equally likely. `split` makes all divisions equally likely at every
                constructor, which prefers skewed trees; `left` and `right` make combs, `balanced`
                divides evenly. With these, constructors are equally likely where there is a choice.
        """
        check_known(shape, get_args(Shape), f"there is no shape '{shape}'")
        labels = Labels(rng, self.distinct)
        if is_alphabet(self.kind):
            return [labels(self.kind) for _ in range(count)]
        low, high = bounds(size)
        sizes = [one for one in range(low, high + 1) if self.count(one, height)]
        if not sizes:
            raise self._none(low, high, height)
        if shape == "uniform":
            start: Any = lambda one: (self.kind, one, height, height is not None)  # noqa: E731
            return unranked(self.grammar, start, sizes, rng, count, labels)
        if height is not None:
            raise WeftError(f"shape '{shape}' decides the height", remedy="Leave the height out")
        chosen = rng.integers(0, len(sizes), size=count).tolist()
        return [self._shaped(sizes[one], shape, rng, labels) for one in chosen]

    def _none(self, low: int, high: int, height: int | None) -> WeftError:
        sizes = f"size {low}" if low == high else f"sizes {low} to {high}"
        also = "" if height is None else f" and height {height}"
        near = [one for one in range(max(0, low - 3), high + 4) if self.count(one, height)]
        remedy = f"There are some of size {', '.join(map(str, near[:6]))}" if near else ""
        what = f"there is no {self.kind.__name__} of {sizes}{also}"
        return WeftError(what, remedy=remedy)

    def _shaped(self, size: int, shape: str, rng: np.random.Generator, labels: Labels) -> Any:
        """A term whose sizes are divided by a rule."""
        from weft.recursion.grammar import assemble

        grammar, labels_draw = self.grammar, labels
        labels.start()
        stack: list[tuple[Hashable, int]] = [(self.kind, size)]
        order: list[Any] = []
        while stack:
            kind, size = stack.pop()
            options: dict[Production, list[tuple[int, ...]]] = {}
            for production, plans, _ in grammar.plan((kind, size, None, False)).choices or ():
                options.setdefault(production, []).append(tuple(one.key[1] for one in plans))
            production = list(options)[int(rng.integers(len(options)))]
            sizes = _divided(options[production], shape, rng)
            order.append((production, len(sizes)))
            stack.extend(zip(production.parts[::-1], sizes[::-1], strict=True))
        return assemble(order, labels_draw)


def _divided(
    splits: list[tuple[int, ...]], shape: str, rng: np.random.Generator
) -> tuple[int, ...]:
    """One of the possible divisions of a size among two parts."""
    if len(splits) == 1:
        return splits[0]
    if shape == "left":
        return max(splits)
    if shape == "right":
        return min(splits)
    if shape == "balanced":
        least = min(abs(one[0] - one[-1]) for one in splits)
        splits = [one for one in splits if abs(one[0] - one[-1]) == least]
    return splits[int(rng.integers(len(splits)))]


def unranked(
    grammar: Grammar,
    key_of: Callable[[int], Any],
    sizes: Sequence[int],
    rng: np.random.Generator,
    count: int,
    labels: Labels,
) -> list[Any]:
    """Uniform derivations of sizes that are themselves drawn uniformly."""
    chosen = rng.integers(0, len(sizes), size=count).tolist()
    keys = [key_of(size) for size in sizes]
    totals = [grammar.plan(key).ends[-1] for key in keys]
    wanted = [0] * len(sizes)
    for one in chosen:
        wanted[one] += 1
    ranks = [iter(below(rng, total, number)) for total, number in zip(totals, wanted, strict=True)]
    start, unrank, distinct = labels.start, grammar.unrank, labels.distinct
    found = []
    for one in chosen:
        if distinct:
            start()
        found.append(unrank(keys[one], next(ranks[one]), labels))
    return found


def bounds(size: Any) -> tuple[int, int]:
    """The smallest and the largest of a range of sizes."""
    pair = size if isinstance(size, (tuple, list)) and len(size) == 2 else (size, size)
    low, high = pair
    if not isinstance(low, int) or not isinstance(high, int) or not 0 <= low <= high:
        raise WeftError(f"{size!r} is not a size", remedy="Give a whole number, or (least, most)")
    return low, high


class InputSampler:
    """Samples the arguments of calls of a function.

    Args:
        function: the function.
        distinct: whether the labels of one input are all different.

    Example:
        >>> import numpy as np
        >>> from weft.recursion import InputSampler, definition
        >>> sampler = InputSampler(definition("successor"))
        >>> [sampler.count(10, depth) for depth in range(11)]
        [256, 128, 64, 32, 16, 8, 4, 2, 1, 1, 0]
        >>> sampler.sample(np.random.default_rng(0), 2, size=6, depth=4)
        [(X1(X1(X1(X1(XO(01))))),), (X1(X1(X1(X1(XO(01))))),)]
    """

    def __init__(self, function: Function, *, distinct: bool = False) -> None:
        self.function = function
        self.distinct = distinct
        self._grammar: Grammar | None = None
        self._samplers = [TermSampler(kind) for _, kind in function.parameters]
        found: dict[Hashable, list[Production]] = {}
        parts = []
        for _, kind in function.parameters:
            if not is_alphabet(kind):
                found |= productions_of(kind)
                parts.append(kind)
        make = _tuple_maker([kind for _, kind in function.parameters])
        draws = len(parts) < function.arity
        found["arguments"] = [Production(0, 0, tuple(parts), make, draws)]
        self._arguments = Grammar(found, set())

    @property
    def depth_grammar(self) -> Grammar:
        """The grammar of arguments by recursion depth, derived from the equations."""
        if self._grammar is None:
            self._grammar = depth_grammar(self.function)
        return self._grammar

    def count(self, size: int, depth: int | None = None) -> int:
        """The number of inputs of a total size, and of a recursion depth if it is given."""
        if depth is None:
            return self._arguments.count("arguments", size)
        return self.depth_grammar.count("arguments", size, depth, exact=True)

    def sample(
        self,
        rng: np.random.Generator,
        count: int,
        *,
        size: Range,
        depth: Range | None = None,
        each: bool = False,
        cases: Mapping[str, float] | None = None,
    ) -> list[tuple[Any, ...]]:
        """Draw argument tuples.

        Args:
            rng: decides everything.
            count: how many.
            size: the total size of the arguments, or the smallest and largest.
            depth: the recursion depth, or the smallest and largest; every depth is equally likely,
                and all inputs of a size and depth are. Any if None.
            each: `size` is that of every argument by itself.
            cases: the share of inputs that each special case of the function has.
        """
        shares = dict(cases or {})
        for name, share in shares.items():
            check_known(
                name, self.function.cases, f"there is no case '{name}'", subject=self.function.name
            )
            if not 0 <= share <= 1:
                raise WeftError(f"the share of '{name}' is {share}", remedy="Give 0 to 1")
        if sum(shares.values()) > 1 + 1e-9:
            raise WeftError("the shares of cases add up to more than 1")
        if not shares:
            return self._plain(rng, count, size, depth, each)
        names = [*shares, ""]
        rest = max(0.0, 1 - sum(shares.values()))
        weights = [*shares.values(), rest]
        total = sum(weights)
        drawn = rng.choice(len(names), size=count, p=[one / total for one in weights]).tolist()
        plain = iter(self._plain(rng, drawn.count(len(names) - 1), size, depth, each))
        low, high = bounds(size)
        found = []
        for number in drawn:
            if names[number]:
                of = int(rng.integers(low, high + 1))
                found.append(self._case(names[number], rng, of))
            else:
                found.append(next(plain))
        return found

    def _case(self, name: str, rng: np.random.Generator, size: int) -> tuple[Any, ...]:
        with user_code(f"its case '{name}' fails for size {size}", subject=self.function.name):
            made = self.function.cases[name](rng, size)
        arguments = made if isinstance(made, tuple) and type(made) is tuple else (made,)
        self.function.check_arguments(arguments)
        return arguments

    def _plain(
        self,
        rng: np.random.Generator,
        count: int,
        size: Range,
        depth: Range | None,
        each: bool,
    ) -> list[tuple[Any, ...]]:
        labels = Labels(rng, self.distinct)
        if depth is not None:
            if each:
                raise WeftError("sizes of each argument cannot be chosen together with depths")
            return list(self._by_depth(rng, count, bounds(size), bounds(depth), labels))
        if each:
            columns = [one.sample(rng, count, size=size) for one in self._samplers]
            return list(zip(*columns, strict=True))
        low, high = bounds(size)
        sizes = [one for one in range(low, high + 1) if self._arguments.count("arguments", one)]
        if not sizes:
            raise WeftError(f"no input has size {size}", subject=self.function.name)
        key: Any = lambda one: ("arguments", one, None, False)  # noqa: E731
        return unranked(self._arguments, key, sizes, rng, count, labels)

    def _by_depth(
        self,
        rng: np.random.Generator,
        count: int,
        sizes: tuple[int, int],
        depths: tuple[int, int],
        labels: Labels,
    ) -> Iterator[tuple[Any, ...]]:
        """Inputs whose depth is drawn first, then a size that has such inputs."""
        possible: dict[int, list[int]] = {}
        for depth in range(depths[0], depths[1] + 1):
            found = [n for n in range(sizes[0], sizes[1] + 1) if self.count(n, depth)]
            if found:
                possible[depth] = found
        if not possible:
            raise WeftError(
                f"no input of {_span('size', sizes)} has {_span('depth', depths)}",
                subject=self.function.name,
                remedy="Give other sizes or depths",
            )
        options = list(possible)
        for number in rng.integers(0, len(options), size=count).tolist():
            depth = options[number]
            size = possible[depth][int(rng.integers(len(possible[depth])))]
            key: Any = ("arguments", size, depth, True)
            rank = below(rng, self.depth_grammar.plan(key).ends[-1], 1)[0]
            labels.start()
            yield self.depth_grammar.unrank(key, rank, labels)


def _span(name: str, bounds: tuple[int, int]) -> str:
    low, high = bounds
    return f"{name} {low}" if low == high else f"{name}s {low} to {high}"


def _tuple_maker(types: Sequence[InductiveMeta]) -> Callable[..., Any]:
    """The function that makes an argument tuple of its parts."""
    alphabets = [one if is_alphabet(one) else None for one in types]
    if not any(alphabets):
        return lambda *parts: parts

    def make(*given: Any) -> Any:
        *parts, draw = given
        left = iter(parts)
        return tuple(next(left) if one is None else draw(one) for one in alphabets)

    return make
