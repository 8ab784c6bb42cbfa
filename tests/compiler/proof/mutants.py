"""Models that were changed after they were compiled, to try the verifier.

A mutant is harmful if it answers differently from its program on some input on which the program
does not fail: other outputs at some position, or another number of layers. All inputs up to a small
length are compared.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import torch

import weft
from random_programs import make
from weft.compiler.certificate import Certificate
from weft.compiler.proof import prove
from weft.models.config import TransformerConfig
from weft.models.slots import Layout
from weft.models.transformer import Transformer

LAYERS = 24
"""Where a program has not halted by then, runs are compared that far."""

SOURCE = '''
import weft


class Vowels(weft.Program):
    """A set query, an average, and a test behind a guard."""

    tokens = ["a", "e", "x"]
    letter = weft.var(3, token=lambda t: "aex".index(t))
    is_a = weft.number([0, 1], token=lambda t: t == "a")
    vowels = weft.subset(3, [{0, 1}, {2}], token=lambda t: {2} if t == "x" else {0, 1})
    share = weft.attend(vowels, letter, is_a, output=weft.number([0, 0.5, 1]))
    halves = weft.var(3)
    output = halves
    layers = 2

    def step(z):
        z.halves = int(2 * z.share)


class Neighbours(weft.Program):
    """An average over offsets, read behind a guard."""

    tokens = 2
    bit = weft.number([0, 1], token=lambda t: t)
    one = weft.var(2, default=1)
    inner = weft.var(2, token=lambda t: t)
    near = weft.attend(one, one, bit, relative={-1, 0, 1}, output=weft.number([0, 0.5, 1]))
    cell = weft.var(2)
    output = cell
    layers = 2

    def step(z):
        if z.inner:
            z.cell = z.near == 0.5


class Lookup(weft.Program):
    """A head that can select several positions, read in one phase alone; two heads are equal."""

    tokens = 3
    value = weft.var(3, token=lambda t: t)
    wanted = weft.var(3, position=lambda i: i % 3)
    here = weft.var(3, position=lambda i: min(i, 2))
    positions = 4
    phase = weft.var(2, token=lambda t: t == 2)
    done = weft.var(2)
    found = weft.attend(wanted, here, value)
    again = weft.attend(wanted, here, value)
    unused = weft.relative(value, -1)
    out = weft.var(4)
    output = out
    halt = done == 1

    def step(z):
        if z.phase:
            if z.found == 1:
                z.out = 3
            elif z.again == 2:
                z.out = 2
        z.done = 1


class Counter(weft.Program):
    """Counts to the right end, with a comparison of two sums: two hidden layers."""

    tokens = 2
    a = weft.var(3, token=lambda t: t)
    b = weft.var(3, token=lambda t: 1 - t)
    left = weft.relative(a, -1)
    first = weft.var(2, position=lambda i: i == 0)
    positions = 5
    out = weft.var(5)
    output = out
    layers = 3

    def step(z):
        if not z.first:
            if z.a + z.left > z.b + z.out:
                z.out = z.a + z.left
            else:
                z.a = (z.a + z.left + z.b) % 3
'''

PROGRAMS: dict[str, Callable[[], weft.Compiled]] = {
    "parity": lambda: weft.compile(weft.program("parity")),
    "parity at level 0": lambda: weft.compile(weft.program("parity"), level=0),
    "parity with plain ReLUs": lambda: weft.compile(weft.program("parity"), activation="relu"),
    "absolute positions": lambda: weft.compile(weft.program("parity-absolute(positions=5)")),
    "averages": lambda: weft.compile(weft.program("parity-sum(ones=4)"), max_length=5),
    "averages at level 0": lambda: weft.compile(
        weft.program("parity-sum(ones=4)"), max_length=5, level=0
    ),
    "sets": lambda: weft.compile(make(SOURCE, "Vowels")(), max_length=4),
    "averages over offsets": lambda: weft.compile(make(SOURCE, "Neighbours")(), max_length=6),
    "mixtures and equal heads": lambda: weft.compile(make(SOURCE, "Lookup")()),
    "two hidden layers": lambda: weft.compile(make(SOURCE, "Counter")()),
    "causal": lambda: weft.compile(weft.program("anbn"), max_length=6),
    "causal with sets": lambda: weft.compile(
        weft.program("count-so-far(letters='a')"), max_length=4
    ),
    "cellular": lambda: weft.compile(weft.program("rule-110")),
    "automaton": lambda: weft.compile(weft.program('regex(pattern="(ab|ba)*c?")')),
    "recursion": lambda: weft.compile(weft.program("successor")),
    "separate layers": lambda: weft.compile(make(SOURCE, "Counter")(), shared=False),
    "separate layers with averages": lambda: weft.compile(
        make(SOURCE, "Vowels")(), max_length=4, level=0, shared=False
    ),
    "in float64": lambda: weft.compile(weft.program("rule-110"), dtype="float64"),
}
"""Small programs of every kind that the compiler treats differently."""


@dataclass(frozen=True)
class Mutant:
    """A changed model, and what was changed; `model` is None if it cannot even be made."""

    what: str
    model: Transformer | None
    certificate: Certificate


@cache
def compiled(name: str) -> weft.Compiled:
    return PROGRAMS[name]()


def copied(model: Transformer) -> Transformer:
    return _with_config(model, model.config, model.layout)


def _with_config(model: Transformer, config: TransformerConfig, layout: Layout) -> Transformer:
    found = Transformer(config, layout)
    found.load_state_dict(model.state_dict())
    return found.requires_grad_(False).eval()


CHANGES: dict[str, Callable[[float], float]] = {
    "set to 0": lambda x: 0.0,
    "set to 1": lambda x: 1.0,
    "negated": lambda x: -x,
    "plus 1": lambda x: x + 1,
    "minus 1": lambda x: x - 1,
    "doubled": lambda x: 2 * x,
    "halved": lambda x: x / 2,
    "a quarter more": lambda x: x + 0.25,
    "a thousandth more": lambda x: x * 1.001 if x else 0.001,
    "an ulp more": lambda x: x * (1 + 2.0**-22) if x else 2.0**-22,
    "not a number": lambda x: float("nan"),
    "infinite": lambda x: float("inf"),
    "minus infinity": lambda x: float("-inf"),
}


def changed_weights(name: str, count: int, seed: int) -> Iterator[Mutant]:
    """Single entries changed, and rows or columns exchanged; entries that are not zero first."""
    original = compiled(name)
    rng = random.Random(f"{name} {seed}")
    names = list(original.model.state_dict())
    for number in range(count):
        model = copied(original.model)
        tensor_name = rng.choice(names)
        tensor = model.state_dict()[tensor_name]
        if not tensor.numel():
            continue
        if number % 10 == 9 and len(tensor) > 1:
            one, other = rng.sample(range(len(tensor)), 2)
            tensor[[one, other]] = tensor[[other, one]]
            what = f"{tensor_name}: rows {one} and {other} exchanged"
        else:
            flat = tensor.view(-1)
            used = flat.nonzero().flatten().tolist()
            place = rng.choice(used) if used and rng.random() < 0.7 else rng.randrange(len(flat))
            change = rng.choice(list(CHANGES))
            flat[place] = CHANGES[change](float(flat[place]))
            what = f"{tensor_name}[{place}] {change}"
        yield Mutant(f"{name}: {what}", model, original.certificate)


def changed_layers(name: str, count: int, seed: int) -> Iterator[Mutant]:
    """One layer of several changed in more than one place, or a part of it cleared or repeated."""
    original = compiled(name)
    rng = random.Random(f"{name} {seed} layers")
    for _ in range(count):
        model = copied(original.model)
        layer = rng.randrange(model.config.layers)
        prefix = f"layers.{layer}."
        tensors = {k: t for k, t in model.state_dict().items() if k.startswith(prefix)}
        key = rng.choice(list(tensors))
        tensor, what = tensors[key], rng.choice(["two entries", "zeros", "a row twice", "scaled"])
        if what == "two entries":
            for part in rng.sample(list(tensors.values()), 2):
                flat = part.view(-1)
                place = rng.choice(flat.nonzero().flatten().tolist() or [0])
                flat[place] = CHANGES[rng.choice(list(CHANGES))](float(flat[place]))
        elif what == "zeros":
            tensor.zero_()
        elif what == "a row twice":
            tensor[rng.randrange(len(tensor))] = tensor[rng.randrange(len(tensor))].clone()
        else:
            tensor *= rng.choice([0.5, 2, -1, 0.999, 1.001, 4])
        yield Mutant(f"{name}: {key} of layer {layer}, {what}", model, original.certificate)


def changed_configs(name: str) -> Iterator[Mutant]:
    """Every field of the config set to every other value that might get through."""
    original = compiled(name)
    config = original.model.config
    for field in fields(TransformerConfig):
        for value in _others(field.name, getattr(config, field.name), config):
            what = f"{name}: config.{field.name} = {value!r}"
            try:
                changed = replace(config, **{field.name: value})
                model = _with_config(original.model, changed, original.model.layout)
            except (weft.WeftError, RuntimeError, TypeError):
                yield Mutant(what, None, original.certificate)
            else:
                yield Mutant(what, model, original.certificate)


def _others(name: str, value: Any, config: TransformerConfig) -> list[Any]:
    choices: dict[str, list[Any]] = {
        "kind": ["encoder", "decoder", "encoder-decoder"],
        "position": ["none", "learned", "sinusoidal", "rotary", "alibi", "nape", "t5"],
        "attention": ["softmax", "entmax", "swan", "log-scaled", "forgetting"],
        "activation": ["clipped", "relu", "gelu"],
        "norm": ["none", "pre", "post"],
        "halting": ["sequence", "position"],
        "dtype": ["float32", "float64", "bfloat16"],
        "canon": ["", "A"],
        "slopes": ["steep", "harmonic"],
        "halt": [None, *range(config.width)],
        "digits": [(), (0,)],
        "alpha": [1.5, 2.0],
        "hidden": [(*config.hidden, 1), config.hidden[1:]],
    }
    if name in choices:
        found = choices[name]
    elif isinstance(value, bool):
        found = [not value]
    elif isinstance(value, int):
        found = [value - 1, value + 1, 2 * value, 0, 1, 2]
    else:
        found = [None, 1, 2, 3, 4, 8, 64, "alibi"]
    return [other for other in found if other != value]


def changed_statements(name: str) -> Iterator[Mutant]:
    """The certificate with a value less or more, or another name."""
    original = compiled(name)
    certificate, model = original.certificate, original.model
    for variable, codes in certificate.values.items():
        size = len(original.program.variables[variable])
        for code in range(size + 1):
            chosen = tuple(sorted(set(codes) ^ {code}))
            values = {**certificate.values, variable: chosen}
            yield Mutant(
                f"{name}: certificate {variable} {chosen}",
                copied(model),
                replace(certificate, values=values),
            )
    for left_out in ((), ("nothing",), tuple(certificate.values)[:1]):
        if left_out != certificate.left_out:
            yield Mutant(
                f"{name}: left out {left_out}",
                copied(model),
                replace(certificate, left_out=left_out),
            )
    heads = list(original.program.heads)
    for merged in ({}, dict(itertools.pairwise(heads))):
        if merged != certificate.merged:
            yield Mutant(
                f"{name}: merged {merged}", copied(model), replace(certificate, merged=merged)
            )


def changed_layouts(name: str) -> Iterator[Mutant]:
    """Two slots of the same size exchanged, or a slot moved by one."""
    original = compiled(name)
    slots = list(original.model.layout.values())
    for one, other in itertools.combinations(range(len(slots)), 2):
        if slots[one].size == slots[other].size and slots[one].start != slots[other].start:
            changed = list(slots)
            changed[one] = replace(slots[one], start=slots[other].start)
            changed[other] = replace(slots[other], start=slots[one].start)
            model = _with_config(original.model, original.model.config, Layout(tuple(changed)))
            what = f"{name}: slots of {slots[one].name} and {slots[other].name} exchanged"
            yield Mutant(what, model, original.certificate)
    heads = original.model.layout.heads
    for renamed in (heads[1:] + heads[:1], (("nothing",), *heads[1:])):
        if renamed != heads:
            layout = Layout(tuple(slots), renamed)
            model = _with_config(original.model, original.model.config, layout)
            yield Mutant(f"{name}: heads named {renamed}", model, original.certificate)
    for place, slot in enumerate(slots):
        changed = list(slots)
        changed[place] = replace(slot, start=max(0, slot.start - 1))
        if changed[place] != slot:
            model = _with_config(original.model, original.model.config, Layout(tuple(changed)))
            yield Mutant(f"{name}: slot of {slot.name} moved", model, original.certificate)


@cache
def small_inputs(name: str) -> tuple[list[list[int]], list[Any]]:
    """All short inputs, and some samples, on which the program does not fail; and its runs."""
    program, longest = compiled(name).program, compiled(name).model.config.max_length or 8
    size, rng = program.vocabulary.size or 1, random.Random(0)
    candidates = [
        list(numbers)
        for length in range(1, longest + 1)
        if size**length <= 300
        for numbers in itertools.product(range(size), repeat=length)
    ]
    for length in range(60):
        tokens = program.sample(rng, 2 + length % longest)
        candidates.append(list(program.vocabulary.all_numbers(list(tokens))))
    inputs, runs = [], []
    for numbers in candidates:
        tokens = [program.vocabulary.name(number) for number in numbers]
        limit = LAYERS if program.definition.halt is not None else None
        try:
            run = weft.run(program, tokens, layers=limit)
        except weft.WeftError:
            continue
        if len(numbers) <= longest:
            inputs.append(numbers)
            runs.append(run)
    assert len(inputs) > 20, name
    return inputs, runs


def is_harmful(name: str, model: Transformer) -> bool:
    """Whether a model answers differently from its program on some short input that it takes."""
    program, limit = compiled(name).program, model.config.max_length or LAYERS
    pairs = [pair for pair in zip(*small_inputs(name), strict=True) if len(pair[0]) <= limit]
    inputs, runs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if not inputs:
        return False
    longest = max(map(len, inputs))
    tokens = torch.zeros(len(inputs), longest, dtype=torch.long)
    lengths = torch.tensor([len(numbers) for numbers in inputs])
    for row, numbers in enumerate(inputs):
        tokens[row, : len(numbers)] = torch.tensor(numbers)
    limit = LAYERS if program.definition.halt is not None else None
    for plain in (True, False):
        try:
            out = model(tokens, lengths, layers=limit, plain=plain)
        except (weft.WeftError, RuntimeError):
            return True
        best, ran = out.logits.argmax(-1).tolist(), out.layers.tolist()
        for row, run in enumerate(runs):
            if tuple(best[row][: len(inputs[row])]) != run.outputs or ran[row] != run.layers:
                return True
    return False


@dataclass
class Tally:
    """How mutants fared."""

    tried: int = 0
    refused: int = 0
    harmless: int = 0
    escaped: list[str] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.escaped = []


def tally(name: str, mutants: Iterator[Mutant]) -> Tally:
    """Prove every mutant; one that is proved and harmful has escaped."""
    found = Tally()
    for mutant in mutants:
        found.tried += 1
        if mutant.model is None or not _is_proved(name, mutant):
            found.refused += 1
        elif is_harmful(name, mutant.model):
            found.escaped.append(mutant.what)
        else:
            found.harmless += 1
    return found


def _is_proved(name: str, mutant: Mutant) -> bool:
    assert mutant.model is not None
    program = compiled(name).program
    return prove(mutant.model, program, mutant.certificate, search=False).proved
