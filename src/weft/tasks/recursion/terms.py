"""Any definition of the calculus as a source of examples, from pools of sampled inputs.

Sampling, evaluating and writing terms takes about a tenth of a millisecond per example. Inputs are
therefore drawn in blocks, which are made when they are first needed and used again and again: a
split has `pool` inputs. What a block holds depends on the split and its number only.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import Any, Literal

import numpy as np

from weft.errors import WeftError
from weft.recursion import (
    Call,
    Function,
    InputSampler,
    Notation,
    TermSampler,
    decode_term,
    decode_terms,
    definition,
    encode_term,
    iterate,
)
from weft.recursion.expressions import Variable
from weft.recursion.inductive import InductiveMeta, is_alphabet, symbol_table
from weft.recursion.notation import EMPTY
from weft.tasks.arrays import Bools, Ints, taken
from weft.tasks.formats import Pairs
from weft.tasks.recursion.settings import BLANK, SEPARATOR, Settings
from weft.tasks.recursion.successor import aligned
from weft.tasks.task import TRAIN, Split

FIRST = 4  # the number of the first symbol
BLOCK = 1024
TEST_BLOCKS = 16
"""How many blocks a split other than `train` has at most."""
BLOCKS = 7  # the random stream of blocks, beside those of training, tests and validation
FEW = 64
"""Beyond the training range, all inputs of a size are for tests if it has fewer shapes."""
MAX_ROUNDS = 100_000
SHAPES = {"left": "every branch on the left", "right": "every branch on the right"}
TRAVERSALS = ("pre_order", "in_order", "post_order")
Inputs = tuple[Any, ...]


@dataclass(frozen=True)
class TermSource:
    """Examples of one definition; see the module.

    Attributes:
        settings: the parameters of the task.
    """

    settings: Settings
    injective: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        given, function = self.settings, self.function
        if given.notation == "flat" and function.arity > 1 and given.part == "evaluate":
            raise self._error(
                "flat lists do not show where one argument ends", "Choose another notation"
            )
        if given.part == "combine":
            _ = self._sub_results
        if given.deepest_share or given.deep_share or given.depth or given.sampling == "depth":
            _ = self._cells(given.shortest, given.length)

    def _error(self, what: str, remedy: str) -> WeftError:
        return WeftError(what, subject=f"task recursion({self.settings.definition})", remedy=remedy)

    # The definition and its tokens

    @cached_property
    def function(self) -> Function:
        """The function."""
        return definition(self.settings.definition)

    @cached_property
    def notation(self) -> Notation:
        """How terms are written."""
        given = self.settings
        return Notation(given.notation, given.order, given.labels)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Constructors, letters and marks that questions and answers may have."""
        function, given = self.function, self.settings
        kinds = types_within([*(kind for _, kind in function.parameters), function.result, *(
            kind for each in function.functions for _, kind in each.parameters
        ), *(each.result for each in function.functions)])  # fmt: skip
        heads: list[str] = []
        for kind in kinds:
            heads += symbol_table(kind) if is_alphabet(kind) else (
                one.token for one in kind.constructors
            )  # fmt: skip
        calls = [each.token for each in function.functions]
        marks = {"prefix": (), "flat": ("[", "]")}.get(given.notation, ("(", ")", EMPTY))
        extra: Sequence[str] = ()
        if given.aligned:
            extra = (BLANK,)
        elif given.part == "trace":
            extra = (SEPARATOR,)
        elif given.part == "branch":
            extra = self._branches
        return tuple(dict.fromkeys([*heads, *calls, *marks, *extra]))

    @cached_property
    def _branches(self) -> tuple[str, ...]:
        """The answers of `branch`: the number of each equation, from 1."""
        return tuple(f"#{number}" for number in range(1, len(self.function.equations) + 1))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: FIRST + place for place, symbol in enumerate(self.symbols)}

    @cached_property
    def _reduced(self) -> tuple[Function, ...]:
        """The functions whose calls a round reduces; flat lists are appended as they stand."""
        if self.settings.notation != "flat":
            return ()
        return tuple(each for each in self.function.functions if not each.joins)

    # Splits

    @cached_property
    def splits(self) -> dict[str, Split]:
        """The splits that have members."""
        given = self.settings
        sizes = f"size {given.shortest} to {given.length}"
        inside, beyond = (given.shortest, given.length), (given.length + 1, given.longer)
        limit = f", at most {given.depth} deep" if given.depth else ""
        train = {"size": inside, **({"depth": (0, given.depth)} if given.depth else {})}
        found = {TRAIN: Split(description=f"{sizes}{limit}", axes=train)}
        if self._counts_depths:
            cells = self._cells(*inside)
            varies = any(depth < self._deepest(cells, size) for size, depth in cells)
            deep = [depth for _, depth in cells if depth >= given.deep]
            if deep and varies:
                found["deep"] = Split(
                    description=f"{sizes}, {given.deep} or more calls deep",
                    axes={"size": inside, "depth": (given.deep, max(deep))},
                )
            if varies:
                found["deepest"] = Split(
                    description=f"{sizes}, as deep as the size allows", axes={"size": inside}
                )
        if self._branching and not given.depth:
            for shape, text in SHAPES.items():
                found[shape] = Split(description=f"{sizes}, {text}", axes={"size": inside})
        found["longer"] = Split(
            description=f"size {beyond[0]} to {given.longer}", axes={"size": beyond}
        )
        return found

    @cached_property
    def _counts_depths(self) -> bool:
        """Whether inputs can be counted by recursion depth."""
        try:
            return InputSampler(self.function).count(1, 0) >= 0
        except WeftError:
            return False

    @cached_property
    def _branching(self) -> bool:
        """Whether inputs are trees, which can be all left or all right."""
        if self.function.arity != 1:
            return False
        kind = self.function.parameters[0][1]
        return any(
            sum(inner is kind for _, inner in one.arguments) > 1 for one in kind.constructors
        )

    @cached_property
    def _tables(self) -> dict[tuple[int, int], dict[tuple[int, int], int]]:
        return {}

    def _cells(self, low: int, high: int) -> dict[tuple[int, int], int]:
        """How many shapes of inputs each pair of size and depth has, without empty ones."""
        if (low, high) not in self._tables:
            found: dict[tuple[int, int], int] = {}
            for size in range(low, high + 1):
                left, depth = self._sampler.count(size), 0
                while left and depth <= 4 * high + 4:
                    count = self._sampler.count(size, depth)
                    if count:
                        found[size, depth] = count
                    left, depth = left - count, depth + 1
            if not found:
                raise self._error(f"it has no inputs of size {low} to {high}", "Give other sizes")
            self._tables[low, high] = found
        return self._tables[low, high]

    @staticmethod
    def _deepest(cells: dict[tuple[int, int], int], size: int) -> int:
        return max(depth for other, depth in cells if other == size)

    # Inputs

    @cached_property
    def _sampler(self) -> InputSampler:
        return InputSampler(self.function)

    def _inputs(self, split: str, rng: np.random.Generator, count: int) -> list[Inputs]:
        """Random inputs of a split."""
        low, high = self.splits[split].axes["size"]
        if split in SHAPES:
            trees = TermSampler(self.function.parameters[0][1])
            side: Literal["left", "right"] = "left" if split == "left" else "right"
            return [(tree,) for tree in trees.sample(rng, count, size=(low, high), shape=side)]
        cells = self._drawn_cells(split, low, high)
        if cells is None:
            return self._sampler.sample(rng, count, size=(low, high))
        places, weights = list(cells), np.array(list(cells.values()), dtype=np.float64)
        drawn = rng.choice(len(places), size=count, p=weights / weights.sum())
        inputs: list[Inputs] = [()] * count
        for place in np.unique(drawn).tolist():
            rows = np.flatnonzero(drawn == place)
            size, depth = places[place]
            found = self._sampler.sample(rng, len(rows), size=size, depth=depth)
            for row, one in zip(rows.tolist(), found, strict=True):
                inputs[row] = one
        return inputs

    def _drawn_cells(self, split: str, low: int, high: int) -> dict[tuple[int, int], float] | None:
        """The weight of each pair of size and depth in a split; None if depths are as they come."""
        given = self.settings
        plain = not (given.depth or given.deepest_share or given.deep_share)
        if split == "longer" or (split == TRAIN and plain and given.sampling == "uniform"):
            return None
        counts = self._cells(low, high)
        deepest = {size: self._deepest(counts, size) for size, _ in counts}
        if split in ("deep", "deepest"):
            return {
                (size, depth): 1.0
                for size, depth in counts
                if (depth >= given.deep if split == "deep" else depth == deepest[size])
            }
        kept = {at: n for at, n in counts.items() if not given.depth or at[1] <= given.depth}
        spread = given.sampling == "depth"
        totals: dict[int, int] = {}
        for (size, _), count in kept.items():
            totals[size] = totals.get(size, 0) + (1 if spread else count)
        usual = 1 - given.deepest_share - given.deep_share
        weights = {
            (size, depth): usual * ((1 if spread else count) / totals[size]) / len(totals)
            for (size, depth), count in kept.items()
        }
        for share, chosen in (
            (given.deepest_share, [at for at in kept if at[1] == deepest[at[0]]]),
            (given.deep_share, [at for at in kept if at[1] >= given.deep]),
        ):
            if share and not chosen:
                raise self._error("no input of the training range is deep", "Change deep")
            for at in chosen if share else ():
                weights[at] += share / len(chosen)
        return weights

    # Blocks of examples

    @cached_property
    def _blocks(self) -> dict[tuple[str, int], Pairs]:
        return {}

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        blocks = -(-self.settings.pool // BLOCK)
        number = int(rng.integers(blocks if split == TRAIN else min(blocks, TEST_BLOCKS)))
        if (split, number) not in self._blocks:
            own = np.random.default_rng([BLOCKS, zlib.crc32(split.encode()), number])
            self._blocks[split, number] = self.pairs(self._inputs(split, own, BLOCK), own)
        return taken(self._blocks[split, number], rng.integers(0, BLOCK, size))

    def pairs(self, inputs: Sequence[Inputs], rng: np.random.Generator | None = None) -> Pairs:
        """Questions about inputs, with their answers.

        With the part `step`, `rng` chooses the term of each reduction; the first without it.
        """
        given, function = self.settings, self.function
        rows = [self._example(one, rng) for one in inputs]
        plain = Notation()
        origins = [self._row(chain(*(encode_term(t, plain) for t in one))) for one in inputs]
        content, _ = _padded(origins)
        question, question_lengths = _padded([row[0] for row in rows])
        answer, answer_lengths = _padded([row[1] for row in rows])
        if given.part == "step":
            half = max(question.shape[1], content.shape[1])
            half = 512 * -(-half // 512)
            content = np.concatenate(
                [np.pad(side, ((0, 0), (0, half - side.shape[1]))) for side in (question, content)],
                axis=1,
            )
        axes = {
            name: np.array([measure(*one) for one in inputs], dtype=np.int64)
            for name, measure in function.axes.items()
        }
        if given.part == "step":
            axes["step"] = np.array([row[2] for row in rows], dtype=np.int64)
        pairs = Pairs(
            question=question,
            question_lengths=question_lengths,
            answer=answer,
            answer_lengths=answer_lengths,
            axes=axes,
            content=content,
        )
        return aligned(pairs, self._numbers[BLANK]) if given.aligned else pairs

    def _row(self, tokens: Any) -> list[int]:
        numbers = self._numbers
        return [numbers[token] for token in tokens]

    def _example(
        self, inputs: Inputs, rng: np.random.Generator | None
    ) -> tuple[list[int], list[int], int]:
        """A question, its answer, and the number of the round in the reduction."""
        part, first = self.settings.part, 0
        if part in ("evaluate", "combine"):
            question = self._question(inputs)
            return self._row(question), self._row(self._value(inputs)), 0
        term: Any = self.function.call(*inputs)
        if part == "step" and rng is not None:
            every = list(self._terms(term))
            first = int(rng.integers(0, max(1, len(every) - 1)))
            after = every[min(first + self.settings.unroll, len(every) - 1)]
            return self._row(self.written(every[first])), self._row(self.written(after)), first
        return self._row(self.written(term)), self._row(self._answer(term)), 0

    def _question(self, inputs: Inputs) -> list[str]:
        if self.settings.part == "combine":
            return self._combined(inputs)
        if self.function.arity > 1:
            return self.written(self.function.call(*inputs))
        return self.written(inputs[0])

    def _value(self, inputs: Inputs) -> list[str]:
        return self.written(self.function.evaluate(*inputs))

    def written(self, term: Any) -> list[str]:
        """The tokens of a term."""
        return encode_term(term, self.notation)

    def _terms(self, term: Any) -> Iterator[Any]:
        """The terms of a reduction, from this one on."""
        yield term
        rounds = iterate(term, parallel=self.settings.parallel, only=self._reduced)
        for number, each in enumerate(rounds):
            if number == MAX_ROUNDS:
                raise self._error(
                    f"a reduction takes more than {MAX_ROUNDS:,} rounds", "Give smaller sizes"
                )
            yield each.after

    def _answer(self, term: Any) -> list[str]:
        """The answer about a term with calls."""
        given = self.settings
        if given.part == "branch":
            return [self._branches[next(iterate(term)).equation.number]]
        if given.part == "trace":
            shown = [self.written(each) for each in islice(self._terms(term), 1, None)]
            return list(chain(*(([SEPARATOR] if n else []) + t for n, t in enumerate(shown))))
        rounds = given.unroll if given.part in ("step", "rounds") else 1
        return self.written(list(islice(self._terms(term), rounds + 1))[-1])

    @cached_property
    def _sub_results(self) -> Callable[[Any], tuple[Any, dict[int, Any]]]:
        """The arguments of an input that are recursed on, with the values of these calls."""
        function = self.function
        remedy = "Choose another part, or a function that recurses on arguments of one constructor"
        refused = self._error("combine needs calls on one argument each", remedy)
        if function.arity != 1:
            raise refused
        if self.settings.notation != "prefix":
            raise self._error("combine is written in prefix notation", "Leave notation out")
        places: dict[int, dict[int, Function]] = {}
        for equation in function.equations:
            names = [str(one) for one in getattr(equation.patterns[0], "arguments", ())]
            places[equation.number] = {}
            for call in equation.recursive_calls:
                inner = call.arguments[0]
                if len(call.arguments) != 1 or not isinstance(inner, Variable):
                    raise refused
                if inner.name not in names or names.index(inner.name) in places[equation.number]:
                    raise refused
                places[equation.number][names.index(inner.name)] = call.function

        def values(term: Any) -> tuple[Any, dict[int, Any]]:
            number = next(iterate(function.call(term))).equation.number
            return term, {
                place: each.evaluate(tuple(term)[place]) for place, each in places[number].items()
            }

        return values

    def _combined(self, inputs: Inputs) -> list[str]:
        """A call on an input whose recursive arguments are replaced by their values."""
        term, values = self._sub_results(inputs[0])
        plain = Notation()
        words = [self.function.token, type(term).token]
        for place, argument in enumerate(tuple(term)):
            words += encode_term(values.get(place, argument), plain)
        return words[::-1] if self.settings.natural else words

    # What is held out, and words

    def held_out(self, pairs: Pairs, chosen: Bools, trained: Bools) -> Bools:
        """`chosen`, but all inputs of sizes with few shapes: in training, or else for tests."""
        few = self._few[np.minimum(pairs.axes["size"], self.settings.longer)]
        return np.where(few, ~trained, chosen)

    @cached_property
    def _few(self) -> Bools:
        """Whether each size has few inputs."""
        rng, found = np.random.default_rng(0), []
        for size in range(self.settings.longer + 1):
            count = self._sampler.count(size)
            if 0 < count < FEW:  # labels may still make them many
                inputs = self._sampler.sample(rng, 1, size=size)[0]
                tokens = [token for term in inputs for token in encode_term(term)]
                count *= self._letters ** sum(token in self._alphabet for token in tokens)
            found.append(count < FEW)
        return np.array(found, dtype=np.bool_)

    @cached_property
    def _alphabet(self) -> frozenset[str]:
        kinds = types_within([kind for _, kind in self.function.parameters])
        return frozenset(chain(*(symbol_table(kind) for kind in kinds if is_alphabet(kind))))

    @property
    def _letters(self) -> int:
        return max(1, len(self._alphabet))

    def is_single(self, pairs: Pairs) -> Bools:
        """None: no input is treated as the only one of its kind."""
        return np.zeros(len(pairs.question), dtype=np.bool_)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        """The answer to a question, by reading it as a term and reducing that."""
        given, function = self.settings, self.function
        words = [token for token in tokens if not (given.aligned and token == BLANK)]
        if given.part == "combine":
            raise self._error("the sub-results in a question have no inputs", "Ask another part")
        if given.part == "evaluate" and function.arity == 1:
            answer = self._value((decode_term(words, function.parameters[0][1], self.notation),))
        else:
            term = decode_term(words, function.result, self.notation, function.functions)
            if given.part == "evaluate":
                assert isinstance(term, Call)
                answer = self._value(tuple(term[1:]))
            else:
                answer = self._answer(term)
        return (*answer, *[BLANK] * ((len(tokens) - len(answer)) * given.aligned))

    def asked(self, questions: list[list[str]]) -> list[str]:
        """The inputs as the library's programs read them: trees as `ab..c..`, or as they are."""
        if self.function.name not in TRAVERSALS or self.settings.part != "evaluate":
            return [" ".join(words) for words in questions]
        kind, plain = self.function.parameters[0][1], {"Leaf": ".", "Branch": ""}
        texts = []
        for words in questions:
            kept = [word for word in words if word != BLANK or not self.settings.aligned]
            (term,) = decode_terms(kept, [kind], self.notation)
            texts.append("".join(plain.get(word, word) for word in encode_term(term)))
        return texts


def types_within(kinds: Sequence[InductiveMeta]) -> list[InductiveMeta]:
    """Types and all types within, each once."""
    found: dict[InductiveMeta, None] = {}
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop(0)
        if kind in found:
            continue
        found[kind] = None
        if not is_alphabet(kind):
            waiting += [inner for one in kind.constructors for _, inner in one.arguments]
    return list(found)


def _padded(rows: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Rows of different lengths as one array (b l), and their lengths."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    width = 8 * -(-int(lengths.max(initial=1)) // 8)  # few widths, so that few shapes are compiled
    table = np.zeros((len(rows), width), dtype=np.int64)
    table[np.arange(width) < lengths[:, None]] = np.fromiter(chain(*rows), dtype=np.int64)
    return table, lengths
