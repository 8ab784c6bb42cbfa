"""The stream and all that reads and writes it outside of the layers: layout, tables, config.

Every field of the config is compared: with what the program asks for, with what the tensors' shapes
say, or with its default. A field that is added to the config one day is therefore proved too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import torch

from weft.compiler.proof.findings import Unproved
from weft.language.program import Program, Variable
from weft.language.ranges import Categorical, Number, Subset
from weft.models.config import TransformerConfig
from weft.models.slots import Layout, Slot
from weft.models.transformer import DTYPES, Transformer
from weft.proofs.rounding import Array

SIZES = ("heads", "hidden", "key_width", "value_width", "offsets", "dtype", "max_length")
"""Fields that a model may choose; the weights of every choice are proved."""


def encode(variable: Variable) -> Array:
    """What the stream holds for each value of a variable (values, dimensions)."""
    range_ = variable.range
    if isinstance(range_, Number):
        return np.asarray(range_.values, np.float64)[:, None]
    if isinstance(range_, Categorical):
        return np.eye(len(range_))
    assert isinstance(range_, Subset)
    rows = np.zeros((len(range_), range_.size))
    for code, chosen in enumerate(range_.values):
        rows[code, list(chosen)] = 1.0  # type: ignore[arg-type]
    return rows


def rounded(values: Array, dtype: str) -> Array:
    """Numbers as a number format stores them."""
    kept: Array = torch.from_numpy(np.ascontiguousarray(values)).to(DTYPES[dtype]).double().numpy()
    return kept


def check_layout(program: Program, layout: Layout) -> None:
    """Every slot is that of its variable, and no two overlap unless they are the same head."""
    if not all(slot.size for slot in layout.values()):
        raise Unproved("a variable has no dimension in the stream")
    for name, slot in layout.items():
        if name not in program.variables:
            raise Unproved(f"the layout has a variable '{name}', which the program has not")
        expected = _slot(program.variables[name], slot.start)
        if slot != expected:
            raise Unproved(f"the layout's slot of '{name}' is not that of the variable")
    owners: dict[int, str] = {}
    for name, slot in layout.items():
        for dimension in range(slot.start, slot.start + slot.size):
            other = owners.setdefault(dimension, name)
            if other != name and not _same_head(program, layout, name, other):
                raise Unproved(f"'{name}' and '{other}' share dimension {dimension} of the stream")
    if sorted(owners) != list(range(layout.width)):
        raise Unproved("some dimensions of the stream belong to no variable")


def _slot(variable: Variable, start: int) -> Slot:
    rows = encode(variable)
    kinds = {Categorical: "categorical", Number: "number", Subset: "set"}
    kind: Any = kinds[type(variable.range)]
    values = () if kind == "categorical" else variable.range.values
    return Slot(variable.name, kind, start, rows.shape[1], variable.is_head, tuple(values))


def _same_head(program: Program, layout: Layout, one: str, other: str) -> bool:
    """Whether two variables are outputs of heads that always fetch the same."""
    if one not in program.heads or other not in program.heads:
        return False
    a, b = program.heads[one], program.heads[other]
    return (
        layout[one].start == layout[other].start
        and (a.query, a.key, a.value, a.offsets) == (b.query, b.key, b.value, b.offsets)
        and program.variables[one].range == program.variables[other].range
    )


def expected_config(program: Program, model: Transformer) -> TransformerConfig:
    """The config that the program asks for, with the sizes that the model has."""
    layout, config = model.layout, model.config
    definition = program.definition
    placed = [name for name in layout if program.variables[name].position is not None]
    halt = None
    if definition.halt is not None:
        variable = program.variables[definition.halt.variable]
        if not isinstance(variable.range, Categorical):
            raise Unproved(f"it halts by '{variable.name}', which is not categorical")
        halt = layout[variable.name].start + variable.range.codes[definition.halt.value]
    loops = program.max_layers if definition.halt is not None else program.layers
    if loops is None:
        raise Unproved("the program neither halts nor says how many layers to run")
    layers = config.layers  # with separate layers, each is proved
    if layers < 1 or loops % layers or (layers > 1 and halt is not None):
        raise Unproved(f"config.layers is {layers}, the program runs {loops} like one another")
    chosen = {name: getattr(config, name) for name in SIZES}
    return TransformerConfig(
        vocabulary=program.vocabulary.size or 1,
        outputs=layout[definition.output].size,
        width=layout.width,
        kind="decoder" if program.causal else "encoder",
        activation="relu" if config.activation == "relu" else "clipped",
        layers=layers,
        loops=loops // layers,
        position="learned" if placed else "none",
        positions=config.max_length if placed else None,
        scaled=False,
        sink=True,
        halt=halt,
        **chosen,
    )


def check_config(program: Program, model: Transformer) -> None:
    """Every field is what the program asks for."""
    config = model.config
    if program.vocabulary.size is None:
        raise Unproved("the program does not say which tokens there are")
    if not config.hidden or (config.offsets is not None and config.offsets < 0):
        raise Unproved("the config has no hidden layer, or a negative number of offsets")
    if config.max_length is not None and type(config.max_length) is not int:
        raise Unproved(f"config.max_length is {config.max_length!r}")
    expected = expected_config(program, model)
    for field in fields(TransformerConfig):
        mine, wanted = getattr(config, field.name), getattr(expected, field.name)
        if mine != wanted or type(mine) is not type(wanted):
            raise Unproved(f"config.{field.name} is {mine!r}, the program asks for {wanted!r}")
    declared = program.definition.positions
    if declared is not None and (config.max_length or declared) > declared:
        raise Unproved(f"config.max_length is {config.max_length}, the program has {declared}")


def check_tables(
    program: Program, layout: Layout, config: TransformerConfig, tensors: Mapping[str, Array]
) -> None:
    """Embeddings are the initial values, and logits are the slot of the output."""
    tokens = np.zeros((config.vocabulary, layout.width))
    positions = np.zeros((config.positions or 0, layout.width))
    for name, slot in layout.items():
        variable = program.variables[name]
        if variable.is_head:
            continue
        rows, codes = encode(variable), variable.range.codes
        table = tokens if variable.position is None else positions
        for number in range(len(table)):
            token = program.vocabulary.name(number) if variable.position is None else None
            value: Any = variable.initial(token, number)
            table[number, slot.dimensions] = rows[codes[value]]
    _check_same("embedding", tensors, rounded(tokens, config.dtype))
    if config.positions is not None:
        _check_same("position.parts.learned.table", tensors, rounded(positions, config.dtype))
    output = layout[program.definition.output]
    logits = np.zeros((output.size, layout.width))
    logits[np.arange(output.size), np.arange(output.start, output.start + output.size)] = 1
    _check_same("unembedding", tensors, logits)


def _check_same(name: str, tensors: Mapping[str, Array], wanted: Array) -> None:
    result = tensors[name]
    if result.shape != wanted.shape:
        raise Unproved(f"{name} has the shape {result.shape}, not {wanted.shape}")
    places = np.argwhere(result != wanted)
    if len(places):
        place = tuple(int(i) for i in places[0])
        raise Unproved(f"{name}{list(place)} is {result[place]:g}, should be {wanted[place]:g}")
