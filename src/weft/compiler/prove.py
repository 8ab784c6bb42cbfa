"""From the weights alone: every update is right in every state, and attention at every length.

The rules cut the states into cells; `cells` decides each for all of its states, splitting where it
must.
Attention is proved by its margins: what is not selected underflows to nothing, whatever the length.
A head that selects several positions leaves a mixture in its slot; the proof allows for any.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.compiler.cells import Cells, Column, Network, prove_cells
from weft.compiler.clearing_proof import is_cleared
from weft.compiler.matrices import encoding
from weft.compiler.precision import attainable, format_of
from weft.compiler.problem import Problem, start, with_codes
from weft.compiler.reach import find_reachable
from weft.compiler.slicing import merge_heads, remove_dead
from weft.compiler.store import load, read_description, record_verified
from weft.errors import WeftError
from weft.language.diagrams import Diagram, Put
from weft.language.expressions import reads
from weft.language.frontend import deep_recursion
from weft.language.program import Program
from weft.language.ranges import UNDEFINED, Number
from weft.language.source import source_hash
from weft.models.layout import Layout
from weft.models.transformer import Transformer

Array = NDArray[Any]


@dataclass(frozen=True)
class Proof:
    """What was shown.

    Attributes:
        proved: whether all of it was.
        cells: how many sets of states were looked at.
        seconds: how long it took.
        difference: what is wrong, and in which state; empty where nothing is.
        limits: for what alone it was shown; empty where for all inputs of any length.
    """

    proved: bool
    cells: int
    seconds: float
    difference: str = ""
    limits: str = ""


class _Wrong(Exception):
    """The weights are not those of the program."""


def prove(
    model: Transformer,
    program: Program,
    *,
    level: int,
    max_length: int | None,
    values: Mapping[str, Sequence[int]] | None = None,
) -> Proof:
    """Show that a model computes its program, in every state that can occur.

    Args:
        model: the model, whose weights are read.
        program: what it should compute.
        level: the level at which it was compiled.
        max_length: the longest input; None for any.
        values: the codes that occur, of each variable, where the model is for some inputs alone.
    """
    began = time.perf_counter()
    problem = start(program)
    _refuse_rounding(model)
    if level > 0:
        problem = merge_heads(remove_dead(problem))
        if values is None:
            problem = find_reachable(problem, max_length)
        else:
            problem = with_codes(problem, values)
    prover = _Prover(model, problem, level, max_length)
    try:
        with deep_recursion():
            prover.run()
    except _Wrong as wrong:
        return Proof(False, prover.cells, time.perf_counter() - began, str(wrong))
    return Proof(True, prover.cells, time.perf_counter() - began)


def _refuse_rounding(model: Transformer) -> None:
    """Plain ReLU clips a number's steep ramps as a difference of two large numbers."""
    numbers = [slot.name for slot in model.layout.values() if slot.kind == "number"]
    if model.config.activation == "relu" and numbers:
        raise WeftError(
            f"with plain ReLU, tests of the number '{numbers[0]}' are right up to rounding only, "
            "which is no proof",
            remedy="Compile it without --relu, or check it on inputs (weft check)",
        )


class _Prover:
    def __init__(
        self, model: Transformer, problem: Problem, level: int, max_length: int | None
    ) -> None:
        self.model, self.problem, self.level = model, problem, level
        self.program = problem.program
        self.max_length = max_length
        self.layout: Layout = model.layout
        self.cells = 0
        self.tensors = {n: t.double().numpy() for n, t in model.state_dict().items()}
        count = len(model.config.hidden) + 1
        prefix = "layers.0.feed_forward"
        self.weights = [self.tensors[f"{prefix}.weights.{i}"] for i in range(count)]
        self.biases = [self.tensors[f"{prefix}.biases.{i}"] for i in range(count)]

    def run(self) -> None:
        self._check_shape()
        self._check_embeddings()
        self._check_heads()
        for name in self.problem.variables:
            if name in self.problem.aliases:
                continue
            if self.program.variables[name].is_head:
                self._check_reset(name)
            else:
                self._check_update(name)

    # Embeddings, output, halting

    def _check_shape(self) -> None:
        if self.layout.width != self.model.config.width:
            raise _Wrong("the stream has dimensions that belong to no variable")
        if set(self.layout) != set(self.problem.variables):
            raise _Wrong("the layout does not hold the variables of the program")

    def _check_embeddings(self) -> None:
        program, layout = self.program, self.layout
        size = program.vocabulary.size or 1
        tokens = np.zeros((size, layout.width))
        positions = np.zeros((self.model.config.positions or 0, layout.width))
        for name in layout:
            variable = program.variables[name]
            if variable.is_head:
                continue
            table = tokens if variable.position is None else positions
            for row in range(len(table)):
                token = program.vocabulary.name(row) if variable.position is None else None
                value: Any = variable.initial(token, row)
                for place, amount in encoding(layout[name], variable.range.codes[value]).items():
                    table[row, place] = amount
        self._same("embedding", self._rounded(tokens))
        if self.model.config.positions is not None:
            self._same("position.parts.learned.table", self._rounded(positions))
        output = layout[program.definition.output]
        wanted = np.zeros((output.size, layout.width))
        wanted[np.arange(output.size), output.start + np.arange(output.size)] = 1
        self._same("unembedding", wanted)
        halt = program.definition.halt
        if halt is not None:
            slot = layout[halt.variable]
            code = program.variables[halt.variable].range.codes[halt.value]
            if self.model.config.halt != slot.start + code:
                raise _Wrong("the halting dimension is not that of the program")

    def _rounded(self, table: Array) -> Array:
        kind = self.model.embedding.dtype
        import torch

        rounded: Array = torch.from_numpy(table).to(kind).double().numpy()
        return rounded

    def _same(self, name: str, wanted: Array) -> None:
        found = self.tensors[name]
        if found.shape != wanted.shape:
            raise _Wrong(f"{name} has the shape {found.shape}, not {wanted.shape}")
        places = np.argwhere(found != wanted)
        if len(places):
            place = tuple(int(i) for i in places[0])
            raise _Wrong(f"{name}{list(place)} is {found[place]:g}, should be {wanted[place]:g}")

    # Attention

    def _check_heads(self) -> None:
        from weft.compiler.heads_proof import HeadsProof

        problem = HeadsProof(self.tensors, self.problem, self.layout, self.model.config, self.level)
        wrong = problem.find_wrong()
        if wrong:
            raise _Wrong(wrong)

    # Feed-forward

    def _network(self, dimensions: list[int], extra: set[str]) -> Network:
        """The units that these entries depend on, and the variables that those read."""
        kept = [np.asarray(dimensions)]
        for weight in reversed(self.weights):
            kept.append(np.flatnonzero((weight[kept[-1]] != 0).any(0)))
        inputs = kept.pop()
        kept.reverse()
        names = [
            name
            for name in self.layout
            if name not in self.problem.aliases
            and (
                name in extra
                or any(
                    self.layout[name].start <= d < self.layout[name].start + self.layout[name].size
                    for d in inputs
                )
            )
        ]
        first = self.weights[0][kept[0]]
        columns = tuple(self._column(name, first) for name in names)
        weights = tuple(
            weight[np.ix_(after, before)]
            for weight, before, after in zip(self.weights[1:], kept, kept[1:], strict=False)
        )
        biases = tuple(bias[units] for bias, units in zip(self.biases, kept, strict=True))
        return Network(columns, weights, biases, self.model.config.activation == "clipped")

    def _column(self, name: str, first: Array) -> Column:
        slot, variable = self.layout[name], self.program.variables[name]
        if slot.kind == "number":
            low, high = self._number_bounds(name)
            ends = np.stack([first[:, [slot.start]] * low, first[:, [slot.start]] * high])
            least, most = ends.min(0), ends.max(0)
        else:
            values = np.zeros((self.layout.width, len(variable)))
            for code in range(len(variable)):
                for place, amount in encoding(slot, code).items():
                    values[place, code] = amount
            least = most = first @ values
        if variable.is_head:
            mixed = self._may_mix(name)
            none_low = np.minimum(least.min(-1, keepdims=True), 0) if mixed else 0 * least[:, :1]
            none_high = np.maximum(most.max(-1, keepdims=True), 0) if mixed else 0 * most[:, :1]
            least, most = np.hstack([least, none_low]), np.hstack([most, none_high])
        return Column(name, least, most)

    def _number_bounds(self, name: str) -> tuple[Array, Array]:
        """Where the numbers of each bucket can lie."""
        variable = self.program.variables[name]
        assert isinstance(variable.range, Number)
        if not variable.is_head:
            values = self._rounded(np.asarray(variable.range.values, float))
            return values, values
        if self.max_length is None:
            raise WeftError("the longest input is not known", subject=self.program.name)
        value = self.program.variables[self.program.heads[name].value].range
        assert isinstance(value, Number)
        format_ = format_of(self.model.config.dtype)
        spans = attainable(value, variable.range, self.max_length, format_)
        return np.asarray([low for low, _ in spans]), np.asarray([high for _, high in spans])

    def _span(self, head: str) -> tuple[float, float]:
        """The least and the greatest mean that a head can find; nothing found is 0."""
        value = self.program.variables[self.program.heads[head].value].range
        assert isinstance(value, Number)
        return min(0.0, *value.buckets), max(0.0, *value.buckets)

    def _may_mix(self, head: str) -> bool:
        offsets = self.program.heads[head].offsets
        return offsets is None or len(offsets) > 1

    def _check_update(self, name: str) -> None:
        """The slot of a variable after the step is what the rules say."""
        final = self.program.updates.values[name]
        slot = self.layout[name]
        dimensions = list(range(slot.start, slot.start + slot.size))
        names = {self.problem.aliases.get(n, n) for n in reads(final)} | {name}
        network = self._network(dimensions, names)
        cells = self._cells(name, network)
        outcome = prove_cells(network, cells)
        self.cells += outcome.cells
        if outcome.differs is not None:
            assert outcome.found is not None
            assert outcome.wanted is not None
            state = ", ".join(
                f"{n} = {self._shown(n, code)}" for n, code in outcome.differs.items()
            )
            raise _Wrong(
                f"the update of '{name}' is not that of the rules where {state}: it adds "
                f"{outcome.found.tolist()}, should add {outcome.wanted.tolist()}"
            )

    def _shown(self, name: str, code: int) -> Any:
        values = self.program.variables[name].range.values
        return values[code] if code < len(values) else UNDEFINED

    def _cells(self, name: str, network: Network) -> Cells:
        names = [column.name for column in network.columns]
        place = {n: i for i, n in enumerate(names)}
        full = [self._full_mask(n) for n in names]
        masks: list[list[Array]] = [[] for _ in names]
        expected: list[Array] = []
        for guard, old, result in self._ways(name):
            cell = [mask.copy() for mask in full]
            for tested, values in (*guard, (name, (old,))):
                target = self.problem.aliases.get(tested, tested)
                cell[place[target]] &= self._mask(target, values)
            if not all(mask.any() for mask in cell):
                continue
            for mine, mask in zip(masks, cell, strict=True):
                mine.append(mask)
            expected.append(self._added(name, old, result))
        return Cells(tuple(np.stack(mask) for mask in masks), np.stack(expected))

    def _ways(self, name: str) -> Iterator[tuple[Any, Any, Any]]:
        """Every path of the variable's diagram, for every old value."""
        final = self.program.updates.values[name]
        diagram = Diagram(name, final, self.problem.variables, apart=True)
        for old in self.problem.variables[name].range.values:
            for guard, result in diagram.ways_from(old):
                yield guard, old, result

    def _full_mask(self, name: str) -> Array:
        variable = self.program.variables[name]
        mask = np.zeros(len(variable) + variable.is_head, bool)
        mask[self.problem.codes(name)] = True
        if variable.is_head:
            mask[-1] = True
        return mask

    def _mask(self, name: str, values: tuple[Any, ...]) -> Array:
        variable = self.program.variables[name]
        mask = np.zeros(len(variable) + variable.is_head, bool)
        for value in values:
            mask[-1 if value is UNDEFINED else variable.range.codes[value]] = True
        return mask

    def _added(self, name: str, old: Any, result: Any) -> Array:
        slot = self.layout[name]
        added = np.zeros(slot.size)
        if isinstance(result, Put):
            codes = self.program.variables[name].range.codes
            for sign, value in ((1.0, result.value), (-1.0, old)):
                for dimension, amount in encoding(slot, codes[value]).items():
                    added[dimension - slot.start] += sign * amount
        return added

    def _check_reset(self, name: str) -> None:
        """Heads' outputs are left for attention to cancel, or (at level 0) cleared by rules."""
        slot = self.layout[name]
        is_number = slot.kind == "number"
        if is_number and self.level > 0:
            if not is_cleared(self.weights, self.biases, slot.start, self._span(name)):
                raise _Wrong(f"the number of the head '{name}' is not cleared exactly")
            return
        if is_number:
            return  # a head takes away all that is there, whatever rules added to it
        if self.level > 0:
            written = self.weights[-1][slot.dimensions].any()
            if written or self.biases[-1][slot.dimensions].any():
                raise _Wrong(f"the feed-forward writes to the head '{name}'")
            return
        network = self._network(list(range(slot.start, slot.start + slot.size)), {name})
        place = [column.name for column in network.columns].index(name)
        count = slot.size
        masks = []
        for number, column in enumerate(network.columns):
            full = self._full_mask(column.name)
            mask = np.repeat(full[None], count, 0)
            if number == place:
                mask = np.eye(count, len(full), dtype=bool)
            masks.append(mask)
        outcome = prove_cells(network, Cells(tuple(masks), -np.eye(count)))
        self.cells += outcome.cells
        if outcome.differs is not None:
            raise _Wrong(f"the head '{name}' is not cleared where it is {outcome.differs[name]}")


def prove_folder(folder: Path, name: str | None, find: Callable[[str], Program]) -> Proof:
    """Prove the model in a folder, and write the result on its card.

    Args:
        folder: what `weft compile` wrote.
        name: where the program is; None for where it was when it was compiled.
        find: finds a program by its name.
    """
    model, description = load(folder), read_description(folder)
    about = description["program"]
    program = find(name or about["found_as"])
    if source_hash(program) != about["source_hash"]:
        if program.name != about["name"]:
            raise WeftError(f"{folder} was compiled from {about['name']}, not from {program.name}")
        raise WeftError(
            f"the source of {about['name']} has changed since the model was compiled",
            remedy="Compile it again, then prove it",
        )
    length, values = description["max_length"], description.get("for_values")
    if values is not None and set(values) != set(program.variables):
        raise WeftError(f"{folder / 'config.json'}: 'for_values' are not those of {program.name}")
    proof = prove(model, program, level=description["level"], max_length=length, values=values)
    upto = f"inputs up to {length} tokens" if length else "inputs of any length"
    if values is not None:
        upto = f"states of the values that occur on {description['for_inputs']:,} inputs"
    result = f"proved for {upto}" if proof.proved else f"NOT proved: {proof.difference}"
    record_verified(folder, f"{result} ({proof.cells:,} cells)")
    return replace(proof, limits=upto if length or values is not None else "")
