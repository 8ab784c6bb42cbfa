"""Where the heads of a model look while it writes the values of a trace.

Every query that predicts a token of a value is asked how much attention each head gives to

    program line    the line of the program that is being executed
    program         the rest of the program
    call            the call, which holds the inputs
    trace           earlier lines of the trace
    this line       the line that is being written
    start           `<start>` and `<trace>`

and how much of it goes to the *needed* tokens: those that hold the value that the statement reads,
where the trace or the call last wrote it. Of a list that is copied with a change, the needed tokens
of an element are those of the same element in its last version. The distance to the needed tokens
is counted in tokens; a head that finds them far away does not look by position.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.errors import WeftError
from weft.ptg.language import Comparison, Item, Language, Length, Product, Sum
from weft.ptg.lines import Line, lines_of
from weft.ptg.parser import parse
from weft.tasks.arrays import Bools, Ints
from weft.tasks.batch import Batch

if TYPE_CHECKING:
    from torch import Tensor

    from weft.models.factory import Model
    from weft.tasks.program_traces import ProgramTraces

PLACES = ("program line", "program", "call", "trace", "this line", "start")
"""Where attention goes; each key of a query is in one of them."""
DISTANCES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
"""Upper ends of the ranges of distances to the needed tokens."""
PATTERN = re.compile(r"blocks\.(\d+)\.attn\.hook_pattern")


@dataclass
class Reading:
    """The tokens of one example: where they are, and which are needed where.

    Attributes:
        regions: l, the place of each token as an index into `PLACES`, the current line aside.
        line_of_token: l, the line of the program or the step of the trace; 0 for other tokens.
        queries: positions that predict a token of a value.
        steps: of each query, the step of the trace that it writes.
        lines: of each query, the line of the program that is executed.
        needed: of each query, the positions of the needed tokens; none for constants.
    """

    regions: Ints
    line_of_token: Ints
    queries: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    needed: list[tuple[int, ...]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class HeadMass:
    """What one head attends to, as means over queries.

    Attributes:
        layer: its layer, from 0.
        head: its number, from 0.
        slope: its slope, if its scores have one.
        mass: by place, the share of attention.
        needed: the share of attention on the needed tokens, over queries that need any.
        by_distance: the same by the upper end of the distance.
    """

    layer: int
    head: int
    slope: float | None
    mass: Mapping[str, float]
    needed: float
    by_distance: Mapping[int, float]

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        return {**vars(self), "mass": dict(self.mass), "by_distance": dict(self.by_distance)}


@dataclass(frozen=True, kw_only=True)
class AttentionMass:
    """Where all heads look.

    Attributes:
        examples: how many examples were read.
        queries: how many queries.
        reached: by the upper end of the distance, how many queries need a token that far away.
        heads: the heads, by layer.
    """

    examples: int
    queries: int
    reached: Mapping[int, int]
    heads: tuple[HeadMass, ...]

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        return {
            "examples": self.examples,
            "queries": self.queries,
            "reached": dict(self.reached),
            "heads": [head.as_dict() for head in self.heads],
        }


def attention_mass(model: Model, task: ProgramTraces, batch: Batch) -> AttentionMass:
    """Read the attention patterns of a model on some examples, one per row.

    Patterns are written out in full, so choose few examples, and short ones.
    """
    import torch

    if model.config.architecture != "transformer":
        raise WeftError("an LSTM has no attention heads", remedy="Give a Transformer")
    sums: dict[int, _Sums] = {}
    queries, reached = 0, np.zeros(len(DISTANCES), dtype=np.int64)
    with model.evaluating(), torch.no_grad():
        for row in range(len(batch)):
            tokens = batch.tokens[row, : batch.lengths[row]]
            reading = read_tokens(task, tokens)
            masks, needed, bins = _masks(reading)
            queries += len(reading.queries)
            reached += np.bincount(bins[bins >= 0], minlength=len(DISTANCES))
            collect = _Collector(sums, reading.queries, masks, needed, bins)
            given = torch.from_numpy(np.ascontiguousarray(tokens))[None]
            model(given.to(model.embedding.device), hook=collect)
    return AttentionMass(
        examples=len(batch),
        queries=queries,
        reached={end: int(n) for end, n in zip(DISTANCES, reached, strict=True) if n},
        heads=tuple(_heads(model, sums, reached)),
    )


class _Sums:
    """Sums over queries of a layer's attention."""

    def __init__(self, heads: int) -> None:
        self.mass = np.zeros((heads, len(PLACES)))
        self.needed = np.zeros((heads, len(DISTANCES)))
        self.queries = 0


class _Collector:
    """A hook that adds up the attention patterns of an example."""

    def __init__(
        self,
        sums: dict[int, _Sums],
        queries: Sequence[int],
        masks: Bools,
        needed: Bools,
        bins: Ints,
    ) -> None:
        self.sums, self.queries = sums, list(queries)
        self.masks, self.needed, self.bins = masks, needed, bins

    def __call__(self, name: str, value: Tensor) -> Tensor:
        found = PATTERN.fullmatch(name)
        if found is None or not self.queries:
            return value
        pattern = value[0][:, self.queries].float().cpu().numpy()  # h q m
        sums = self.sums.setdefault(int(found[1]), _Sums(len(pattern)))
        sums.mass += np.einsum("hqm,pqm->hp", pattern, self.masks)
        needed = (pattern * self.needed).sum(axis=-1)  # h q
        for number in np.unique(self.bins[self.bins >= 0]).tolist():
            sums.needed[:, number] += needed[:, self.bins == number].sum(axis=1)
        sums.queries += len(self.queries)
        return value


def _heads(model: Model, sums: Mapping[int, _Sums], reached: Ints) -> Iterator[HeadMass]:
    slopes = head_slopes(model)
    for layer in sorted(sums):
        part = sums[layer]
        for head in range(len(part.mass)):
            yield HeadMass(
                layer=layer,
                head=head,
                slope=None if slopes is None else slopes[head],
                mass={
                    place: float(part.mass[head, number] / max(1, part.queries))
                    for number, place in enumerate(PLACES)
                },
                needed=float(part.needed[head].sum() / max(1, int(reached.sum()))),
                by_distance={
                    end: float(part.needed[head, number] / reached[number])
                    for number, end in enumerate(DISTANCES)
                    if reached[number]
                },
            )


def head_slopes(model: Model) -> tuple[float, ...] | None:
    """The slope of each head, if scores are biased by slopes; 0 for a NoPE head."""
    config = model.config
    for name in ("nape", "alibi"):
        if name in config.encodings:
            slopes = model.get_submodule(f"position.parts.{name}").slopes
            return tuple(float(slope) for slope in slopes)  # type: ignore[union-attr]
    return None


def _masks(reading: Reading) -> tuple[Bools, Bools, Ints]:
    """By place which keys (p q m) a query's attention counts for; needed keys; bins of distance."""
    length, count = len(reading.regions), len(reading.queries)
    keys = np.arange(length)
    queries = np.array(reading.queries, dtype=np.int64)
    regions = np.broadcast_to(reading.regions, (count, length)).copy()
    steps, lines = np.array(reading.steps)[:, None], np.array(reading.lines)[:, None]
    owner = reading.line_of_token[None, :]
    regions[(regions == PLACES.index("program")) & (owner == lines)] = 0
    regions[(regions == PLACES.index("trace")) & (owner == steps)] = PLACES.index("this line")
    masks = regions[None] == np.arange(len(PLACES))[:, None, None]
    masks &= keys[None, None, :] <= queries[None, :, None]
    needed = np.zeros((count, length), dtype=np.bool_)
    bins = np.full(count, -1, dtype=np.int64)
    for number, places in enumerate(reading.needed):
        if places:
            needed[number, list(places)] = True
            distance = reading.queries[number] - max(places)
            bins[number] = min(int(np.searchsorted(DISTANCES, distance)), len(DISTANCES) - 1)
    return masks, needed, bins


# Which tokens an example consists of


def read_tokens(task: ProgramTraces, tokens: Ints) -> Reading:
    """Where the tokens of an example are, and which of them each value needs."""
    names = task.vocabulary
    source, _ = task.program_of(tokens)
    lines = _lines_of(source, task.language)
    texts = [names[token] for token in tokens.tolist()]
    trace = texts.index("<trace>")
    regions = np.full(len(tokens), PLACES.index("start"), dtype=np.int64)
    owner = np.zeros(len(tokens), dtype=np.int64)
    number, place = 0, 1
    while place < trace:
        number += 1
        end = texts.index("\n", place) + 1
        inside = "program" if number <= len(lines) else "call"
        regions[place:end] = PLACES.index(inside)
        owner[place:end] = number if number <= len(lines) else 0
        place = end
    call = _last(texts[:trace], "\n", 2) + 1
    reading = Reading(regions, owner)
    _Walk(task, reading, texts, lines).run(call, trace)
    return reading


@lru_cache(maxsize=4096)
def _lines_of(source: str, language: Language) -> tuple[Line, ...]:
    return lines_of(parse(source, language))


def _last(texts: Sequence[str], wanted: str, count: int) -> int:
    """The place of the last but `count - 1` of a text."""
    places = [place for place, text in enumerate(texts) if text == wanted]
    return places[-count] if len(places) >= count else -1


Element = tuple[int, ...]
"""The positions of the tokens of a number."""


class _Walk:
    """Reads an example from left to right and keeps where every variable was last written."""

    def __init__(
        self, task: ProgramTraces, reading: Reading, texts: list[str], lines: tuple[Line, ...]
    ) -> None:
        self.task, self.reading, self.texts, self.lines = task, reading, texts, lines
        self.written: dict[str, list[Element]] = {}
        first = texts[2 : texts.index(" def f(")] if " def f(" in texts else []
        self.first_label = int("".join(first)) if first else 1

    def run(self, call: int, trace: int) -> None:
        for name, elements in self._call(call, trace):
            self.written[name] = elements
        place, step, tested = trace + 1, 0, ""
        while place < len(self.texts) and self.texts[place] != "<end>":
            step += 1
            end = self.texts.index("\n", place)
            self.reading.regions[place : end + 1] = PLACES.index("trace")
            self.reading.line_of_token[place : end + 1] = step
            comma = self.texts.index(",", place)
            label = self.texts.index("L", place, comma)
            number = int("".join(self.texts[label + 1 : comma])) - self.first_label + 1
            if tested:  # the label of this line depends on the condition before it
                self._add(range(label + 1, comma), step, number, tested)
            line = self.lines[number - 1]
            tested = line.target if line.kind in ("if", "while") else ""
            if end > comma + 1:
                self._value(line, step, comma, end)
            place = end + 1

    def _call(self, start: int, trace: int) -> Iterator[tuple[str, list[Element]]]:
        """The arguments: names with the positions of their values."""
        place = start + 1 if self.texts[start] == "f(" else start
        while place < trace - 1:
            name = self.texts[place]
            if self.texts[place + 1] != "=":
                return
            end = self._value_end(place + 2)
            yield name, self._elements(place + 2, end)
            place = end + 1

    def _value_end(self, place: int) -> int:
        """The place behind a value."""
        if self.texts[place] == "[":
            return self.texts.index("]", place) + 1
        while self.texts[place] not in (",", ")", "\n"):
            place += 1
        return place

    def _elements(self, start: int, end: int) -> list[Element]:
        """The tokens of each element of a list; of a number or a truth value, of the whole."""
        if self.texts[start] != "[":
            return [tuple(range(start, end))]
        found: list[Element] = []
        current: list[int] = []
        for place in range(start + 1, end):
            if self.texts[place] in (",", "]"):
                if current:
                    found.append(tuple(current))
                current = []
            else:
                current.append(place)
        return found

    def _value(self, line: Line, step: int, comma: int, end: int) -> None:
        """A line that writes a value: what each of its elements needs."""
        name, start = self.texts[comma + 1], comma + 3
        elements = self._elements(start, end)
        before = self.written.get(name, [])
        for number, element in enumerate(elements):
            self._needed(line, step, element, number, before)
        self.written[name] = elements

    def _needed(
        self, line: Line, step: int, element: Element, number: int, before: list[Element]
    ) -> None:
        """Note what the tokens of an element need."""
        if line.kind in ("append", "pop"):
            if number < len(before):
                needed = before[number]
            else:
                needed = self._of(line.expression)
        else:
            needed = self._of(line.expression)
        for place in element:
            self.reading.queries.append(place - 1)
            self.reading.steps.append(step)
            self.reading.lines.append(line.number)
            self.reading.needed.append(needed)

    def _of(self, expression: Any) -> Element:
        """The tokens of the values that an expression reads."""
        match expression:
            case str(name):
                return self._all(name)
            case Sum(name, _, _):
                return self._all(name)
            case Item(name, int(index)):
                elements = self.written.get(name, [])
                return elements[index] if index < len(elements) else ()
            case Item(name, index):
                return self._all(name) + self._all(str(index))
            case Length(name):
                return self._all(name)
            case Product(left, right) | Comparison(left, _, right):
                return self._all(left) + (self._all(right) if isinstance(right, str) else ())
        return ()

    def _all(self, name: str) -> Element:
        return tuple(place for element in self.written.get(name, []) for place in element)

    def _add(self, places: range, step: int, line: int, condition: str) -> None:
        for place in places:
            self.reading.queries.append(place - 1)
            self.reading.steps.append(step)
            self.reading.lines.append(line)
            self.reading.needed.append(self._all(condition))
