"""C-RASP programs as weights: exactness, sizes, longest lengths and compile times.

The construction of Yang and Chiang (2024) is compared by two implementations. pentagonalize/C-RASP
(commit 57c331a) compiles symbols, `not`, counting, constants and comparisons, one block or two per
operation; `PEER` holds the sizes of what it builds, measured by running it, without its word
embedding. The other is our own `--form layernorm`.

The longest exact length is measured on the hardest words for a comparison of two counts: both
counts are equal, or differ by one or two, at the last position. Only that position is run, so that
long words are affordable: by PyTorch's fused attention, and by softmax and a matrix product
(`dense`), which is what models with biases by offset use. The reference estimates that bfloat16
fails near 250, and float32 between 10^5 and 10^6.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial

import torch

from measure import Figure, seconds
from weft.crasp import library
from weft.crasp.batched import run_batch
from weft.crasp.check import compare_weights
from weft.crasp.construction import CompiledCrasp, _compile, compile_crasp
from weft.crasp.syntax.parser import parse
from weft.crasp.syntax.text import text
from weft.models.context import make_context
from weft.models.forward import ForwardPass, run_layers

LONG = ("dyck-1", "majority", "anbncn", "tomita-4", "even-length", "unique-copy(letters=8)")
VIOLATIONS = 'alphabet "(" ")"\nbad := # Q_"(" < # Q_")"\nhow_many := # bad\n'
"""The first half of Dyck-1: how often a prefix has closed more than it opened."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of a model: attention blocks, feed-forward blocks, hidden units, parameters."""

    attention: int
    feed_forward: int
    units: int
    parameters: int


PEER = {
    "majority": Sizes(attention=4, feed_forward=6, units=41, parameters=5_664),
    "tomita-1": Sizes(attention=3, feed_forward=6, units=37, parameters=4_448),
    "violations of Dyck-1": Sizes(attention=5, feed_forward=7, units=43, parameters=8_388),
}
LENGTH = 1000
LONGEST = 1 << 17
"""The search for the longest exact length ends here."""


def figures() -> list[Figure]:
    rows = [_differing(name) for name in LONG]
    rows += [figure for name in LONG for figure in _sizes(name)]
    rows += [figure for name in PEER for figure in _beside_peer(name)]
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


def _beside_peer(name: str) -> list[Figure]:
    """Sizes beside those of pentagonalize/C-RASP, and of the LayerNorm form."""
    program = library.load(name) if name in library.names() else parse(VIOLATIONS)
    ours = _model_sizes(compile_crasp(program, max_length=LENGTH))
    normed = _model_sizes(compile_crasp(program, max_length=LENGTH, form="layernorm"))
    return [
        Figure(
            f"C-RASP, {name}: {what.replace('_', '-')} ({theirs:,}; layernorm {normed[what]:,})",
            ours[what],
            most=theirs,
        )
        for what, theirs in asdict(PEER[name]).items()
    ]


def _model_sizes(compiled: CompiledCrasp) -> dict[str, int]:
    layers = compiled.model.config.layers
    return asdict(Sizes(layers, layers, compiled.units, compiled.parameters))


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
