"""C-RASP programs as weights: exactness, sizes, longest lengths and compile times.

The construction of Yang and Chiang (2024), as pentagonalize/C-RASP implements it, takes one layer
per operation, each with a head; it has symbols, `not`, counting, constants and comparisons. Its
layers are counted here for programs of these operations alone. Units and parameters are those of
the LayerNorm form of the same construction (`weft.crasp.layernorm`).

The longest exact length is measured on the hardest words for a comparison of two counts: both
counts are equal, or differ by one or two, at the last position. Only that position is run, so that
long words are affordable: by PyTorch's fused attention, and by softmax and a matrix product
(`dense`), which is what models with biases by offset use. The reference estimates that bfloat16
fails near 250, and float32 between 10^5 and 10^6.
"""

from __future__ import annotations

from functools import partial

import torch

from measure import Figure, seconds
from weft.crasp import library
from weft.crasp.batched import run_batch
from weft.crasp.check import compare_weights
from weft.crasp.construction import CompiledCrasp, _compile, compile_crasp
from weft.crasp.expressions import Symbol
from weft.crasp.graph import graph_of
from weft.crasp.syntax.parser import parse
from weft.crasp.syntax.text import text
from weft.models.context import make_context
from weft.models.forward import ForwardPass, run_layers

LONG = ("dyck-1", "majority", "anbncn", "tomita-4", "even-length", "unique-copy(letters=8)")
BASIC = ("majority", "at-least-half", "tomita-1")
"""Programs of symbols, counting, constants and comparisons."""
LENGTH = 1000
LONGEST = 1 << 17
"""The search for the longest exact length ends here."""


def figures() -> list[Figure]:
    rows = [_differing(name) for name in LONG]
    rows += [figure for name in LONG for figure in _sizes(name)]
    rows += [figure for name in BASIC for figure in _beside_reference(name)]
    for dtype in ("bfloat16", "float32"):
        accepted = compile_crasp(library.load("tie"), max_length=4, dtype=dtype).longest
        rows.append(Figure(f"C-RASP, {dtype}: longest length accepted, two counts", accepted))
        for backend in ("auto", "dense"):
            what = f"C-RASP, {dtype}: longest length measured exact ({backend})"
            rows.append(Figure(what, _longest_exact(dtype, backend), least=accepted))
    return [*rows, _slowest_compilation()]


def _differing(name: str) -> Figure:
    """Whether weights differ from the interpreter, to length 1,000 and on short words."""
    program = library.load(name)
    compiled = compile_crasp(program, max_length=LENGTH)
    letters = program.alphabet
    words = [letters[:1] * 500 + letters[-1:] * 500, letters * (LENGTH // len(letters))]
    words += [(letters * 9)[:length] for length in range(9)]
    wrong = [word for word in words if compare_weights(compiled, run_batch(program, [word]))]
    return Figure(f"C-RASP, {name}: words to length 1,000 that differ", len(wrong), most=0)


def _sizes(name: str) -> list[Figure]:
    compiled = compile_crasp(library.load(name), max_length=LENGTH)
    return [
        Figure(f"C-RASP, {name}: {what}", value)
        for what, value in (
            ("layers", len(compiled.limit.layers)),
            ("heads", compiled.heads),
            ("hidden units", compiled.units),
            ("parameters", compiled.parameters),
        )
    ]


def _beside_reference(name: str) -> list[Figure]:
    """Layers, heads, units and parameters against the construction of 2024."""
    program = library.load(name)
    compiled = compile_crasp(program, max_length=LENGTH)
    operations = graph_of(program).operations
    layers = sum(not isinstance(operation, Symbol) for operation in operations)
    normed = compile_crasp(program, max_length=LENGTH, form="layernorm")
    pairs = {
        "layers": (len(compiled.limit.layers), layers),
        "heads": (compiled.heads, layers),
        "hidden units": (compiled.units, normed.units),
        "parameters": (compiled.parameters, normed.parameters),
    }
    return [
        Figure(f"C-RASP, {name}: {what} (construction of 2024: {theirs:,})", ours, most=theirs)
        for what, (ours, theirs) in pairs.items()
    ]


def _longest_exact(dtype: str, backend: str) -> int:
    """The longest of some lengths, in steps of a half, before a comparison is wrong.

    Several lengths are tried at each step, as rounding is better at some than at others.
    """
    previous, length = 0, 16
    while length <= LONGEST:
        compiled = _compile(library.load("tie"), length, dtype, None, sound=False)
        lengths = range(length - (15 if length < 5000 else 3), length + 1)
        shifts = range(-2, 3)
        if not all(_right(compiled, n, shift, backend) for n in lengths for shift in shifts):
            break
        previous, length = length, length * 3 // 2
    return previous


@torch.inference_mode()
def _right(compiled: CompiledCrasp, length: int, shift: int, backend: str) -> bool:
    """Whether the last position of a word is right; its counts differ by about `shift`."""
    first = (length + shift) // 2
    model, tokens = compiled.model, torch.tensor([[2, *[0] * first, *[1] * (length - first)]])
    context = make_context(model.config, tokens, backend=backend)
    stream = model.embed(tokens, context)
    _, keys, values = model.layers[0].attention._project(stream[:, :-1], context, None, None)
    last = ForwardPass(
        model, model.layers, model.position, stream[:, -1:], context.last_queries(1),
        kv_cache=[{"keys": keys, "values": values}],
    )  # fmt: skip
    run_layers(last, 1)
    return bool(model._logits(last.stream)[0, -1].argmax()) == (2 * first == length)


def _slowest_compilation() -> Figure:
    """The slowest program of the library, from its text to its weights."""
    names = [*library.names(), "unique-copy(letters=8)"]
    parse(text(library.load("dyck-1")))  # builds the parser
    times = {}
    for name in names:
        source = text(library.load(name))
        times[name] = seconds(partial(_from_text, source))
    name = max(times, key=lambda each: times[each])
    what = f"C-RASP: parse and compile the slowest of {len(names)} programs ({name})"
    return Figure(what, times[name], "s", most=0.5)


def _from_text(source: str) -> CompiledCrasp:
    return compile_crasp(parse(source))
