"""From a C-RASP program to the weights of a Transformer of context n + 1.

The program's limit transformer (`weft.crasp.limit.construct`) becomes a Transformer:

- Heaviside units [x > 0] become clipped units, min(max(S x + 1/2, 0), 1). A unit that compares
  counts is at least 1 / (2 (n + 1)) away from 0 up to position n. Its slope S is a power of two
  such that S times this margin, less all rounding errors, is at least 1/2. Other units are 1/2 away
  from 0, and S is 1.
- Scores are not multiplied by log N. Instead, their gaps are so large that all other weights
  underflow to 0.

Forms differ in where the scores of local heads come from:

    offsets    a bias per offset; a table of positions only if the program has periodic predicates
    absolute   products of a learned table of positions, whose rows are one-hot
    none       nothing: for programs without predicates, as transformers without positions
    layernorm  nothing: another construction altogether (`weft.crasp.layernorm`)

Rounding. The averages of a uniform head are sums of up to n weights, each 1 / (i + 1) up to
rounding. Equal numbers add up with a relative error of at most (n + 1) / 2 u in any order, u the
unit roundoff: the k-th partial sum is k weights, and rounded once. `longest_length` bounds what
comparisons and count lines make of this; longer inputs are refused. bfloat16 is accumulated in
float32 and rounded when it is stored.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from weft.crasp.limit.construct import Construction, construct
from weft.crasp.limit.transformer import HiddenUnits, LimitHead, LimitLayer, LimitTransformer, gap
from weft.crasp.program import CraspProgram
from weft.errors import WeftError, did_you_mean
from weft.language.vocabulary import Vocabulary
from weft.models.slots import Layout, Slot, SlotKind, decode
from weft.models.text import TokenFormat
from weft.models.transformer import Transformer
from weft.weights.emit import EmbeddingTables, emit
from weft.weights.layers import (
    AttentionMatrices,
    FeedForwardMatrices,
    LayerMatrices,
    no_heads,
    stack_heads,
)
from weft.weights.precision import FORMATS, Format, format_of

if TYPE_CHECKING:
    from jaxtyping import Int
    from torch import Tensor

Matrix = NDArray[np.float64]
PositionForm = Literal["offsets", "absolute", "none", "layernorm"]

DEFAULT_LENGTH = 1000
LONGEST = 1 << 22
"""Maximum length that can be compiled for."""
MAX_ABSOLUTE = 4096
"""The longest input of the form `absolute`, whose matrices grow with its square."""


@dataclass(frozen=True, eq=False)
class CompiledCrasp:
    """A program as a Transformer.

    Attributes:
        program: the program.
        model: its Transformer.
        construction: the limit transformer that it comes from, and the stages before.
        position_form: where the scores of local heads come from.
        max_length: the largest number of symbols of an input.
        longest: the largest that the number format allows; at least `max_length`.
        slope: of the units that compare counts; 0 for the form `layernorm`, which has none.
        seconds: the time that compiling took.
    """

    program: CraspProgram
    model: Transformer
    construction: Construction
    position_form: PositionForm
    max_length: int
    longest: int
    slope: float
    seconds: float

    @property
    def limit(self) -> LimitTransformer:
        """The limit transformer that the model comes from."""
        return self.construction.limit

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that can be read from the last stream."""
        return tuple(self.program.kinds)

    @property
    def heads(self) -> int:
        """The number of heads that do something, in all layers."""
        return sum(len(layer.heads) for layer in self.limit.layers)

    @property
    def units(self) -> int:
        """The number of hidden units that do something, in all layers."""
        return sum(len(units.biases) for layer in self.limit.layers for units in layer.hidden)

    @property
    def parameters(self) -> int:
        """The number of parameters of the model, padding included."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def sizes(self) -> dict[str, Any]:
        """The sizes of the model, for scripts."""
        return {
            "layers": len(self.limit.layers),
            "heads": self.heads,
            "units": self.units,
            "d_model": self.model.config.width,
            "parameters": self.parameters,
            "form": self.position_form,
            "period": self.limit.period,
            "range": self.limit.range,
            "max_length": self.max_length,
            "longest": self.longest,
            "seconds": round(self.seconds, 3),
        }

    @cached_property
    def text(self) -> TokenFormat:
        """How the model reads words and writes its answer."""
        return text_format(self.program, self.max_length)

    def tokens(self, words: Sequence[str | Sequence[str]]) -> Int[Tensor, "batch length"]:
        """The tokens of words, with the begin symbol in front; shorter words are padded."""
        places = {symbol: number for number, symbol in enumerate(self.program.alphabet)}
        rows = [[places[s] for s in self.program.read_word(word)] for word in words]
        longest = max(map(len, rows), default=0)
        begin = len(places)
        return torch.tensor([[begin, *row, *[0] * (longest - len(row))] for row in rows])

    @torch.inference_mode()
    def run(self, words: Sequence[str | Sequence[str]]) -> list[dict[str, list[int]]]:
        """The values of all lines on words, as the model's stream holds them.

        Args:
            words: the words.

        Returns:
            By word and line, the values at the begin symbol and at every position.

        Example:
            >>> from weft.crasp import library
            >>> compiled = compile_crasp(library.load("dyck-1"))
            >>> compiled.run(["(())"])[0]["accept"]
            [1, 0, 0, 0, 1]
        """
        stream = self.model(self.tokens(words)).stream
        lengths = [len(self.program.read_word(word)) + 1 for word in words]
        read = {name: decode(stream, self.model.layout[name]).tolist() for name in self.lines}
        return [
            {name: values[row][:length] for name, values in read.items()}
            for row, length in enumerate(lengths)
        ]

    def explain(self) -> list[str]:
        """What each layer computes, line by line."""
        return explain(self.construction)


def compile_crasp(
    program: CraspProgram,
    *,
    max_length: int = DEFAULT_LENGTH,
    dtype: str = "float32",
    form: PositionForm | None = None,
) -> CompiledCrasp:
    """Compile a C-RASP program into the weights of a Transformer.

    Every Boolean line is a dimension of the stream that is 0 or 1, every count line one that holds
    C(i) / (i + 1); `model.layout` says which.

    Args:
        program: the program.
        max_length: the largest number of symbols of an input.
        dtype: `float32`, `float64` or `bfloat16`.
        form: `offsets`, `absolute`, `none`, or `layernorm` for the construction of
            `weft.crasp.layernorm`; by default `none` if the program has no predicates, otherwise
            `offsets`.

    Raises:
        WeftError: if the number format cannot tell the counts of such long inputs apart; the error
            says up to which length it can.

    Example:
        >>> from weft.crasp import library
        >>> compiled = compile_crasp(library.load("dyck-1"))
        >>> compiled.limit.period, compiled.heads, compiled.units
        (1, 2, 3)
        >>> compiled.model.answer("(())")
        'accept'
    """
    return _compile(program, max_length, dtype, form, sound=True)


def _compile(
    program: CraspProgram, max_length: int, dtype: str, form: PositionForm | None, *, sound: bool
) -> CompiledCrasp:
    """Compile; unless `sound`, also for lengths at which rounding may exceed the margin."""
    began = time.perf_counter()
    format_ = format_of(dtype)
    chosen = _position_form(program, form)
    _check_length(program, max_length, chosen)
    construction = construct(program)
    if chosen == "layernorm":
        from weft.crasp.layernorm import compile_layernorm

        return compile_layernorm(construction, max_length, format_)
    longest = longest_length(construction, format_)
    if sound and max_length > longest:
        enough = [
            name
            for name, other in FORMATS.items()
            if longest_length(construction, other) >= max_length
        ]
        raise too_long(program, max_length, longest, format_, enough)
    slope = (
        _slope(construction, max_length, format_)
        if sound
        else _power_of_two(2.0 * (max_length + 1))
    )
    model = _emit(construction, max_length, format_, chosen, slope)
    return CompiledCrasp(
        program,
        model,
        construction,
        chosen,
        max_length,
        longest,
        slope,
        time.perf_counter() - began,
    )


def _position_form(program: CraspProgram, form: PositionForm | None) -> PositionForm:
    has_predicates = bool(program.locals or program.periodics)
    if form is None:
        return "offsets" if has_predicates else "none"
    if form not in get_args(PositionForm):
        raise WeftError(
            f"there is no form '{form}'",
            remedy=did_you_mean(form, list(get_args(PositionForm))).capitalize(),
        )
    if form in ("none", "layernorm") and has_predicates:
        raise WeftError(
            f"it uses positional predicates, and the form '{form}' has no positions",
            subject=program.name,
            remedy="Use the form 'offsets' or 'absolute'",
        )
    return form


def _check_length(program: CraspProgram, max_length: int, form: PositionForm) -> None:
    most = MAX_ABSOLUTE if form == "absolute" else LONGEST
    if not 1 <= max_length <= most:
        raise WeftError(
            f"the maximum length is {max_length:,}",
            subject=program.name,
            remedy=f"Give one from 1 to {most:,}",
        )


def too_long(
    program: CraspProgram, max_length: int, longest: int, format_: Format, enough: Sequence[str]
) -> WeftError:
    """The error for a length at which a number format cannot tell counts apart.

    `enough` are the formats that can.
    """
    remedies = [f"compile for at most {longest:,} symbols"] if longest else []
    remedies += [f"use {' or '.join(enough)}"] if enough else []
    remedy = ", or ".join(remedies) or "use smaller numbers and coefficients"
    return WeftError(
        f"{format_.name} cannot tell its counts apart in words of {max_length:,} symbols",
        subject=program.name,
        remedy=remedy[:1].upper() + remedy[1:],
    )


# Rounding

HOPELESS = 1e9
"""The error of averages over more positions than a format can add up."""


def longest_length(construction: Construction, format_: Format) -> int:
    """The largest length up to which no rounding error exceeds its margin.

    A comparison must be decided, and a count line must be nearest to its count.
    """
    low, high = 0, LONGEST
    while low < high:
        middle = (low + high + 1) // 2
        if _slack(construction, middle, format_) > 0:
            low = middle
        else:
            high = middle - 1
    return low


def _slack(construction: Construction, length: int, format_: Format) -> float:
    """The smallest difference of margin and rounding error, over comparisons and count lines."""
    margin = 1 / (2 * (length + 1))
    limit = construction.limit
    rounding = _Rounding(limit, length, format_)
    errors = [
        rounding.of_line(construction.stream.lines[name]) for name in construction.form.counts
    ]
    for layer in limit.layers:
        compared = compares_counts(limit, layer.hidden[0])
        errors += rounding.of_first(layer.hidden[0])[compared].tolist()
    return margin - max(errors, default=0.0)


def compares_counts(limit: LimitTransformer, units: HiddenUnits) -> NDArray[np.bool_]:
    """Which units of a first hidden layer compare counts."""
    counts = np.array([kind == "count" for kind in limit.kinds])
    comparing: NDArray[np.bool_] = units.heaviside & (units.weights[:, counts] != 0).any(axis=1)
    return comparing


class _Rounding:
    """Bounds on rounding errors at position `length`, before units are scaled.

    There, `one` is 1 / (length + 1), and any other average at most 1.
    """

    def __init__(self, limit: LimitTransformer, length: int, format_: Format) -> None:
        self.limit, self.length, self.format = limit, length, format_
        self.sizes, self.errors = self._averages()

    def _averages(self) -> tuple[Matrix, Matrix]:
        """By dimension, the size and the error of what uniform heads write to it."""
        limit, width = self.limit, len(self.limit.dimensions)
        sizes, terms = np.zeros(width), np.zeros(width, dtype=int)
        begin = limit.embedding[-1] - limit.embedding[0] > 0.5
        for layer in limit.layers:
            for head in layer.heads:
                if not head.phi:
                    is_one = (head.value[~begin] == 0).all(axis=0)
                    largest = np.where(is_one, 1 / (self.length + 1), 1.0)
                    sizes += largest @ np.abs(head.output)
                    terms += (head.output != 0).sum(axis=0)
        relative = np.full(width, _mean_error(self.length, self.format))
        for place in np.flatnonzero(terms > 1).tolist():
            relative[place] += len(limit.layers) * _sum_error(int(terms[place]), self.format)
        return sizes, sizes * relative

    def of_first(self, units: HiddenUnits) -> Matrix:
        """The errors of a first hidden layer, before its activations."""
        is_count = np.array([kind == "count" for kind in self.limit.kinds])
        return self._of_units(
            units, np.where(is_count, self.sizes, 1.0), np.where(is_count, self.errors, 0.0)
        )

    def of_line(self, dimension: int) -> float:
        """The error of a count line: of its averages, and of what units add to it."""
        total = float(self.errors[dimension])
        for layer in self.limit.layers:
            weights = np.abs(layer.output[dimension])
            if weights.any():
                errors = self._of_last(layer)
                count = int(np.count_nonzero(weights))
                own = len(self.limit.layers) * _sum_error(count, self.format)
                total += float(weights @ (errors + own * (1 + errors)))
        return total

    def _of_last(self, layer: LimitLayer) -> Matrix:
        """The errors of a last hidden layer; Heaviside units have none."""
        errors = np.where(layer.hidden[0].heaviside, 0.0, self.of_first(layer.hidden[0]))
        for units in layer.hidden[1:]:
            inside = self._of_units(units, np.ones(len(errors)), errors)
            errors = np.where(units.heaviside, 0.0, inside)
        return errors

    def _of_units(self, units: HiddenUnits, sizes: Matrix, errors: Matrix) -> Matrix:
        """The errors of sums of numbers of some sizes, with errors of their own."""
        weights = np.abs(units.weights)
        accumulated, stored = _roundoffs(self.format)
        own = ((weights != 0).sum(axis=1) + 3) * accumulated + 3 * stored
        result: Matrix = weights @ errors + own * (
            weights @ (sizes + errors) + np.abs(units.biases)
        )
        return result


def _sum_error(terms: int, format_: Format) -> float:
    """The relative error of a sum of products: one rounding each, and when it is stored."""
    accumulated, stored = _roundoffs(format_)
    return (terms + 2) * accumulated + 3 * stored


def _mean_error(length: int, format_: Format) -> float:
    """The relative error of an average: of its sum, of its weights, and when it is stored."""
    accumulated, stored = _roundoffs(format_)
    summing = ((length + 1) / 2 + 4) * accumulated
    return summing * 1.02 + 2 * stored if summing < 0.01 else HOPELESS


def _roundoffs(format_: Format) -> tuple[float, float]:
    """The unit roundoff of sums, and that of storing them if it is larger."""
    accumulated = min(format_.roundoff, FORMATS["float32"].roundoff)
    return accumulated, format_.roundoff if format_.roundoff > accumulated else 0.0


def _slope(construction: Construction, length: int, format_: Format) -> float:
    """The slope of the units that compare counts."""
    return _power_of_two((0.5 + 4 * format_.roundoff) / _slack(construction, length, format_))


def _power_of_two(number: float) -> float:
    """The least power of two that is at least a number."""
    return 2.0 ** math.ceil(math.log2(number))


# Weights


def _emit(
    construction: Construction, length: int, format_: Format, form: PositionForm, slope: float
) -> Transformer:
    limit = construction.limit
    rows = length + 1
    reads_offsets = any(head.phi for layer in limit.layers for head in layer.heads)
    one_hot = rows if form == "absolute" and reads_offsets else 0
    width = len(limit.dimensions) + one_hot
    layers = [
        LayerMatrices(
            _attention(layer, width, len(limit.dimensions), form, rows, limit, format_),
            _feed_forward(limit, layer, width, slope),
        )
        for layer in limit.layers
    ]
    return emit(
        layers,
        EmbeddingTables(
            embedding=_widened(limit.embedding, width),
            unembedding=_widened(limit.unembedding, width),
            positions=_positions(limit, form, rows, one_hot),
        ),
        causal=True,
        dtype=format_.name,
        layout=_layout(construction, one_hot),
        max_length=rows,
        vocabulary=vocabulary(construction.form.program),
        text=text_format(construction.form.program, length),
    )


def _widened(table: Matrix, width: int) -> Matrix:
    return np.pad(table, ((0, 0), (0, width - table.shape[1])))


def _positions(
    limit: LimitTransformer, form: PositionForm, rows: int, one_hot: int
) -> Matrix | None:
    """The table of positions: periodic columns, and for `absolute` the one-hot position."""
    if form != "absolute" and not limit.positions:
        return None
    return np.concatenate([limit.position_rows(rows), np.eye(rows, one_hot)], axis=1)


def _attention(
    layer: LimitLayer,
    width: int,
    narrow: int,
    form: PositionForm,
    rows: int,
    limit: LimitTransformer,
    format_: Format,
) -> AttentionMatrices:
    heads = []
    for head in layer.heads:
        scale = format_.margin / gap(limit.precision)
        query, key = _tall(head.query, width) * scale, _tall(head.key, width)
        bias = None
        if head.phi and form == "absolute":
            by_position = _position_products(head, width, narrow, rows, scale)
            query = np.concatenate([query, by_position[0]], axis=1)
            key = np.concatenate([key, by_position[1]], axis=1)
        elif head.phi:
            window = head.range
            bias = np.zeros((1, 2 * window + 3))
            for offset, score in head.phi.items():
                bias[0, window + 1 - offset] = score * scale
        value, output = _tall(head.value, width), _tall(head.output.T, width).T
        heads.append(AttentionMatrices(query[None], key[None], value[None], output[None], bias))
    return stack_heads(heads, no_heads(width))


def _tall(matrix: Matrix, width: int) -> Matrix:
    return np.pad(matrix, ((0, width - len(matrix)), (0, 0)))


def _position_products(
    head: LimitHead, width: int, narrow: int, rows: int, scale: float
) -> tuple[Matrix, Matrix]:
    """Queries and keys whose products are phi: the query of position i is phi(i - j) in place j."""
    query, key = np.zeros((width, rows)), np.zeros((width, rows))
    key[narrow:] = np.eye(rows)
    for offset, score in head.phi.items():
        query[narrow:] += score * scale * np.eye(rows, k=-offset)
    return query, key


def _feed_forward(
    limit: LimitTransformer, layer: LimitLayer, width: int, slope: float
) -> FeedForwardMatrices:
    """Heaviside units [x > 0] as clipped units with a slope; ReLU units never exceed 1."""
    weights, biases = [], []
    for place, units in enumerate(layer.hidden):
        slopes = np.ones(len(units.biases))
        matrix = units.weights
        if place == 0:
            slopes[compares_counts(limit, units)] = slope
            matrix = _widened(matrix, width)
        weights.append(matrix * slopes[:, None])
        biases.append(units.biases * slopes + 0.5 * units.heaviside)
    weights.append(_tall(layer.output, width))
    biases.append(np.pad(layer.bias, (0, width - len(layer.bias))))
    return FeedForwardMatrices(tuple(weights), tuple(biases))


def _layout(construction: Construction, one_hot: int) -> Layout:
    """Slots: lines first, then what else has a dimension of its own."""
    stream, program = construction.stream, construction.form.program
    slots = []
    for name, kind in program.kinds.items():
        slot_kind: SlotKind = "boolean" if kind == "Boolean" else "count"
        slots.append(Slot(name, slot_kind, stream.lines[name], 1))
    taken = {slot.start for slot in slots}
    for place, dimension in enumerate(stream.dimensions):
        if place not in taken:
            slots.append(Slot(dimension.name, dimension.kind, place, 1))
    if one_hot:
        name, names = "position", {slot.name for slot in slots}
        while name in names:
            name += "'"
        slots.append(Slot(name, "categorical", len(stream.dimensions), one_hot))
    layers = construction.limit.layers
    count = max(len(layer.heads) for layer in layers)
    heads = tuple(
        tuple(
            f"layer {number}: {layer.heads[place].name}"
            for number, layer in enumerate(layers, 1)
            if place < len(layer.heads)
        )
        for place in range(count)
    )
    return Layout(tuple(slots), heads)


# Text


def vocabulary(program: CraspProgram) -> Vocabulary:
    """The tokens of a program's model: its symbols in order, then the begin symbol."""
    begin = "<begin>"
    while begin in program.alphabet:
        begin = f"<{begin}>"
    names = (*program.alphabet, begin)
    return Vocabulary(names=names, size=len(names))


def text_format(program: CraspProgram, max_length: int) -> TokenFormat:
    """How the model of a program reads a word, and where its answer stands."""
    symbols = len(program.alphabet)
    transduces = bool(program.next_symbols)
    classes = (*program.alphabet, "stop") if transduces else ("reject", "accept")
    return TokenFormat(
        mode="allowed" if transduces else "last",
        classes=classes,
        symbols=tuple(range(symbols)),
        before=(symbols,),
        end=symbols if transduces else None,
        longest=max_length,
    )


def explain(construction: Construction) -> list[str]:
    """What each layer computes, line by line."""
    form, limit = construction.form, construction.limit
    lines = []
    embedded = construction.schedule.embedded
    if embedded:
        lines.append(f"embedding: {', '.join(embedded)}")
    for number, (plan, layer) in enumerate(
        zip(construction.schedule.layers, limit.layers, strict=True), 1
    ):
        lines += [f"layer {number}, head: {head.name}" for head in layer.heads]
        hidden = " + ".join(str(len(units.biases)) for units in layer.hidden)
        names = [form.describe(computed.node) for computed in plan.booleans]
        names += dict.fromkeys(gated.line for gated in plan.gated)
        if names:
            lines.append(f"layer {number}, units ({hidden}): {', '.join(names)}")
    return lines
