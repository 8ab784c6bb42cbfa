"""Models and programs that were changed, to try the verifier of C-RASP models.

A mutant is harmful if on some word some line that the layout names, or an output, is not what the
program says. It is decided by running words, with the batched interpreter as the oracle.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
import torch

from weft.crasp import (
    And,
    Comparison,
    Constant,
    Counting,
    CraspProgram,
    Exists,
    Expression,
    Integer,
    Line,
    Local,
    Maximum,
    Minimum,
    Not,
    Or,
    Periodic,
    Position,
    Previous,
    Symbol,
)
from weft.crasp.batched import run_batch
from weft.crasp.expressions import EXPRESSIONS
from weft.errors import WeftError
from weft.models.config import TransformerConfig
from weft.models.slots import Layout
from weft.models.transformer import Transformer


@dataclass(frozen=True)
class Mutant:
    """A changed model, and what was changed."""

    what: str
    model: Transformer


def is_harmful(model: Transformer, program: CraspProgram, words: list[tuple[str, ...]]) -> bool:
    """Whether the model differs from the program on some of these words."""
    assert model.config.max_length is not None
    words = [word for word in words if len(word) < model.config.max_length]
    numbers = {symbol: number for number, symbol in enumerate(program.alphabet)}
    lengths = torch.tensor([len(word) + 1 for word in words])
    tokens = torch.zeros(len(words), int(lengths.max()), dtype=torch.long)
    for row, word in enumerate(words):
        for place, symbol in enumerate(word, 1):
            tokens[row, place] = numbers[symbol]
    tokens[:, 0] = len(program.alphabet)
    model.refresh()
    with torch.inference_mode():
        output = model(tokens, lengths)
    expected = run_batch(program, words)
    stream, logits = output.stream.double().numpy(), output.logits.double().numpy()
    places = np.arange(1, tokens.shape[1] + 1)
    for name, kind in program.kinds.items():
        held, wanted = stream[..., model.layout[name].start], expected.values[name]
        right = held == wanted if kind == "Boolean" else np.abs(held * places - wanted) < 0.5
        if not right[expected.mask].all():
            return True
    if program.next_symbols:
        for number, symbol in enumerate(program.alphabet):
            line = program.next_symbols.get(symbol)
            wanted = expected.values[line] if line else np.zeros_like(expected.mask)
            if ((logits[..., number] > logits[..., -1]) != wanted)[expected.mask].any():
                return True
        return False
    accepted = expected.values[program.accepting]
    return bool(((logits.argmax(-1) == 1) != accepted)[expected.mask].any())


def words_for(program: CraspProgram, longest: int, seed: int = 0) -> list[tuple[str, ...]]:
    """All short words, and some of the longest: at random, and in blocks."""
    rng, alphabet = random.Random(seed), program.alphabet
    short = 6 if len(alphabet) == 2 else 4 if len(alphabet) < 5 else 2
    words = [
        word
        for n in range(min(short, longest) + 1)
        for word in itertools.product(alphabet, repeat=n)
    ]
    for _ in range(40):
        shares = [rng.random() ** 2 for _ in alphabet]
        words.append(tuple(rng.choices(alphabet, shares, k=longest)))
    for first, second in itertools.permutations(alphabet[:3], 2):
        for part in {longest // 2, longest // 2 + 1, longest // 2 - 1, 1, longest - 1, longest}:
            words.append((first,) * part + (second,) * (longest - part))
    return words


def changed(model: Transformer, name: str, tensor: torch.Tensor) -> Transformer:
    """A copy of a model with another tensor."""
    state = {key: value.clone() for key, value in model.state_dict().items()}
    state[name] = tensor
    return rebuilt(model, state)


def rebuilt(
    model: Transformer,
    state: dict[str, torch.Tensor],
    config: TransformerConfig | None = None,
    layout: Layout | None = None,
) -> Transformer:
    result = Transformer(config or model.config, layout or model.layout)
    result.load_state_dict(state)
    return result.requires_grad_(False).eval()


def weight_mutants(model: Transformer, rng: random.Random, count: int) -> Iterator[Mutant]:
    """Single weights changed: flipped, moved, zeroed; zeros that became weights."""
    entries = [
        (name, tuple(place))
        for name, tensor in model.state_dict().items()
        for place in torch.nonzero(tensor).tolist()
    ]
    zeros = [
        (name, tuple(place))
        for name, tensor in model.state_dict().items()
        for place in torch.nonzero(tensor == 0).tolist()
        if tensor.numel() < 20_000
    ]
    changes = {
        "flipped": lambda w: -w,
        "zeroed": lambda w: 0.0,
        "raised by 2^-20": lambda w: w * (1 + 2.0**-20),
        "lowered by 1/1000": lambda w: w * 0.999,
        "raised by 1/8": lambda w: w * 1.125,
        "lowered by 1/3": lambda w: w * 2 / 3,
        "halved": lambda w: w / 2,
        "doubled": lambda w: w * 2,
        "plus 1/2": lambda w: w + 0.5,
    }
    for _ in range(count):
        if rng.random() < 0.8:
            name, place = rng.choice(entries)
            what, change = rng.choice(list(changes.items()))
        else:
            name, place = rng.choice(zeros)
            added = rng.choice([1.0, -1.0, 0.5, 0.01, 1e-5, 200.0])
            what, change = f"plus {added}", lambda w, added=added: w + added
        tensor = model.state_dict()[name].clone()
        tensor[place] = change(float(tensor[place]))
        yield Mutant(f"{name}{list(place)} {what}", changed(model, name, tensor))


def structure_mutants(model: Transformer, rng: random.Random) -> Iterator[Mutant]:
    """Swapped layers, tensors, dimensions and units."""
    state = model.state_dict()
    config = model.config
    for first, second in itertools.combinations(range(config.layers), 2):
        for part in ("attention", "feed_forward", ""):
            swapped = dict(state)
            for name in state:
                for a, b in ((first, second), (second, first)):
                    if name.startswith(f"layers.{a}.{part}"):
                        other = name.replace(f"layers.{a}.", f"layers.{b}.", 1)
                        swapped[name] = state[other]
            yield Mutant(f"layers {first} and {second} swapped {part}", rebuilt(model, swapped))
    for name, tensor in state.items():
        for axis in range(tensor.dim()):
            if tensor.shape[axis] > 1:
                a, b = rng.sample(range(tensor.shape[axis]), 2)
                index = torch.arange(tensor.shape[axis])
                index[a], index[b] = b, a
                swapped = tensor.index_select(axis, index)
                if not torch.equal(swapped, tensor):
                    yield Mutant(
                        f"{name} {a} and {b} of axis {axis}", changed(model, name, swapped)
                    )


def config_mutants(model: Transformer) -> Iterator[Mutant]:
    """Other values of fields of the config, if the weights still fit."""
    others: dict[str, tuple[object, ...]] = {
        "kind": ("encoder",),
        "scaled": (True,),
        "activation": ("relu", "gelu"),
        "attention": ("log-scaled", "entmax"),
        "loops": (2,),
        "norm": ("pre",),
        "dtype": ("float64", "bfloat16", "float32"),
        "max_length": (None, 10_000),
        "halt": (0,),
        "dropout": (0.5,),
        "position": ("alibi", "learned+alibi"),
        "inject": (True,),
        "random_offset": (1,),
    }
    for name, values in others.items():
        for value in values:
            if value == getattr(model.config, name):
                continue
            try:
                config = replace(model.config, **{name: value})  # type: ignore[arg-type]
                mutant = rebuilt(model, model.state_dict(), config)
            except (WeftError, RuntimeError):
                continue
            yield Mutant(f"config.{name} = {value}", mutant)


def layout_mutants(model: Transformer, program: CraspProgram) -> Iterator[Mutant]:
    """Lines whose names were swapped or moved."""
    slots = list(model.layout.values())
    for one, other in itertools.combinations(program.kinds, 2):
        names = {one: other, other: one}
        renamed = [replace(slot, name=names.get(slot.name, slot.name)) for slot in slots]
        layout = Layout(tuple(renamed))
        yield Mutant(
            f"'{one}' and '{other}' swapped", rebuilt(model, model.state_dict(), None, layout)
        )
    for name in program.kinds:
        for start in range(model.layout.width):
            if start != model.layout[name].start:
                moved = [replace(s, start=start) if s.name == name else s for s in slots]
                layout = Layout(tuple(moved))
                yield Mutant(
                    f"'{name}' at {start}", rebuilt(model, model.state_dict(), None, layout)
                )


# Programs


def program_mutants(program: CraspProgram) -> Iterator[CraspProgram]:
    """Programs with one operator, symbol, number or predicate changed, or two lines swapped."""
    for number, line in enumerate(program.lines):
        for expression in _changes(line.expression, program.alphabet):
            lines = (
                *program.lines[:number],
                Line(line.name, expression),
                *program.lines[number + 1 :],
            )
            try:
                yield replace(program, lines=lines)
            except WeftError:
                continue
    for first, second in itertools.combinations(range(len(program.lines)), 2):
        lines = list(program.lines)
        a, b = lines[first], lines[second]
        lines[first], lines[second] = Line(a.name, b.expression), Line(b.name, a.expression)
        try:
            yield replace(program, lines=tuple(lines))
        except WeftError:
            continue


def _changes(expression: Expression, alphabet: tuple[str, ...]) -> Iterator[Expression]:
    match expression:
        case Symbol(symbol):
            yield from (Symbol(other) for other in alphabet if other != symbol)
        case Constant(value):
            yield Constant(not value)
        case Integer(value):
            yield from (Integer(value + 1), Integer(value - 1))
        case Position(Periodic(period, residues)):
            yield Position(Periodic(period, tuple(sorted((r + 1) % period for r in residues))))
            yield Position(Periodic(period + 1, residues))
        case Not(operand):
            yield operand
        case And(operands):
            yield Or(operands)
        case Or(operands):
            yield And(operands)
        case Comparison(operator, left, right):
            for other in ("<", "<=", "==", "!=", ">=", ">"):
                if other != operator:
                    yield Comparison(other, left, right)
            yield Comparison(operator, right, left)
        case Exists(body, local):
            yield Exists(body, Local((0, 1)) if local is None else None)
        case Previous(body):
            yield body
            yield Exists(body, Local((2,)))
        case Counting(body, local):
            yield Counting(Not(body), local)
            yield Counting(body, Local((0, 1)) if local is None else None)
        case Minimum(operands):
            yield Maximum(operands)
        case Maximum(operands):
            yield Minimum(operands)
        case _:
            pass
    for field in fields(expression):
        value = getattr(expression, field.name)
        if isinstance(value, EXPRESSIONS):
            for inner in _changes(value, alphabet):
                yield replace(expression, **{field.name: inner})
        elif isinstance(value, tuple) and value and isinstance(value[0], EXPRESSIONS):
            for place, part in enumerate(value):
                for inner in _changes(part, alphabet):
                    yield replace(
                        expression, **{field.name: (*value[:place], inner, *value[place + 1 :])}
                    )
