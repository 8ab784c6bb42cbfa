"""Attacks on the verifier: models, certificates and folders that were made to deceive it.

Each is a small program with weights written by hand. A model that differs from its program, or that
breaks off, must not be proved; and whatever it is given, the verifier gives a verdict.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import weft
from random_programs import make
from weft.compiler.certificate import Certificate
from weft.compiler.proof import Proof, prove
from weft.compiler.prove import prove_folder
from weft.models.transformer import Transformer

HEADS, UNITS = "layers.0.attention.", "layers.0.feed_forward."


def program(body: str) -> weft.Program:
    found: weft.Program = make(
        "import weft\n\n\nclass Attacked(weft.Program):\n" + body, "Attacked"
    )()
    return found


def rebuilt(
    model: Transformer, tensors: dict[str, Any] | None = None, **config: Any
) -> Transformer:
    """A model with some fields of its config and some tensors replaced."""
    found = Transformer(replace(model.config, **config), model.layout)
    given = {name: torch.as_tensor(tensor) for name, tensor in (tensors or {}).items()}
    given = {**model.state_dict(), **given}
    found.load_state_dict({name: given[name].to(t.dtype) for name, t in found.state_dict().items()})
    return found.requires_grad_(False).eval()


def with_units(
    model: Transformer, weights: Sequence[Any], biases: Sequence[Any] | None = None, **config: Any
) -> Transformer:
    """A model with another feed-forward; biases are 0 if they are left out."""
    arrays = [np.asarray(weight, float) for weight in weights]
    biases = [np.zeros(len(weight)) for weight in arrays] if biases is None else biases
    tensors: dict[str, Any] = {}
    for place, (weight, bias) in enumerate(zip(arrays, biases, strict=True)):
        tensors[f"{UNITS}weights.{place}"] = torch.from_numpy(weight)
        tensors[f"{UNITS}biases.{place}"] = torch.as_tensor(np.asarray(bias, float))
    hidden = tuple(len(weight) for weight in arrays[:-1])
    return rebuilt(model, tensors, hidden=hidden, **config)


def row(model: Transformer, **entries: float) -> list[float]:
    """A row of the stream's width: `row(model, x_1=2)` has 2 where x is 1."""
    found = [0.0] * model.config.width
    for name, entry in entries.items():
        variable, _, value = name.rpartition("_")
        found[model.layout[variable].start + int(value)] = entry
    return found


def quietly(model: Transformer, source: weft.Program, certificate: Certificate) -> Proof:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return prove(model, source, certificate)


def differs(
    model: Transformer, source: weft.Program, inputs: Iterable[Sequence[int]], padding: int = 0
) -> bool:
    """Whether a model's stream, outputs or layers differ from the program's on some input."""
    chosen = [list(tokens) for tokens in inputs]
    runs = [weft.run(source, tokens, trace=True) for tokens in chosen]
    alone = [[number] for number in range(len(chosen))]
    for plain, rows in itertools.product((True, False), (*alone, list(range(len(chosen))))):
        lengths = torch.tensor([len(chosen[number]) for number in rows])
        tokens = torch.zeros(len(rows), int(lengths.max()) + padding, dtype=torch.long)
        for place, number in enumerate(rows):
            tokens[place, : len(chosen[number])] = torch.tensor(chosen[number])
        seen: dict[tuple[int, int], torch.Tensor] = {}

        def watch(layer: int, stage: str, left: torch.Tensor, stream: torch.Tensor) -> None:
            if stage == "after":
                for place, one in zip(left.tolist(), stream, strict=True):
                    seen[layer, place] = one.clone()  # noqa: B023

        with torch.inference_mode():
            out = model(tokens, lengths, watch=watch, plain=plain)
        for place, number in enumerate(rows):
            run = runs[number]
            best = out.logits[place, : len(chosen[number])].argmax(-1).tolist()
            if tuple(best) != tuple(run.outputs) or int(out.layers[place]) != run.layers:
                return True
            for layer, after in enumerate(run.trace.layers, 1):
                if not _holds(model, source, seen[layer, place], after.after):
                    return True
    return False


def _holds(model: Transformer, source: weft.Program, stream: torch.Tensor, after: Any) -> bool:
    """Whether a stream (l d) holds the program's variables exactly, heads aside."""
    for name, slot in model.layout.items():
        variable = source.variables[name]
        if variable.is_head:
            continue
        for place, value in enumerate(after[name]):
            wanted = torch.zeros(slot.size, dtype=torch.float64)
            if slot.kind == "number":
                wanted[0] = value
            else:
                wanted[sorted(value) if slot.kind == "set" else value] = 1
            if not torch.equal(stream[place, slot.dimensions], wanted.to(stream.dtype)):
                return False
    return True


def assert_not_deceived(
    model: Transformer,
    source: weft.Program,
    certificate: Certificate,
    inputs: Iterable[Sequence[int]],
    padding: int = 0,
) -> None:
    assert differs(model, source, inputs, padding), "the attack itself has no effect here"
    proof = quietly(model, source, certificate)
    assert not proof.proved, str(proof)


FLIP = """
    tokens = 2
    x = weft.var(2, token=lambda t: t)
    layers = 2
    output = x

    def step(z):
        z.x = 1 - z.x
"""

NEIGHBOUR = """
    tokens = 4
    x = weft.var(2, token=lambda t: t % 2)
    keep = weft.var(2, token=lambda t: t >= 2)
    found = weft.relative(x, OFFSET)
    layers = 3
    output = x

    def step(z):
        if not z.keep:
            z.x = z.found
"""

FLIPPED, FLIPPED_BIAS = [[2.0], [-2.0]], [-1.0, 1.0]
"""From a unit that is x to what is added to both dimensions of x."""


def flip(dtype: str = "float32") -> tuple[weft.Program, weft.Compiled]:
    source = program(FLIP)
    return source, weft.compile(source, dtype=dtype)


def neighbour(offset: int, **options: Any) -> tuple[weft.Program, weft.Compiled]:
    source = program(NEIGHBOUR.replace("OFFSET", str(offset)))
    return source, weft.compile(source, **options)


# Attention: offsets beyond the window of biases


def test_an_outermost_bias_stands_for_all_offsets_beyond() -> None:
    source, compiled = neighbour(-2)
    bias = compiled.model.state_dict()[HEADS + "bias"]
    model = rebuilt(compiled.model, {HEADS + "bias": bias[:, 1:-1]}, offsets=1)
    assert_not_deceived(model, source, compiled.certificate, [[2, 3, 2, 0]])


def test_a_head_looks_at_an_offset_beyond_the_window() -> None:
    source, compiled = neighbour(-2)
    bias = compiled.model.state_dict()[HEADS + "bias"]
    model = rebuilt(compiled.model, {HEADS + "bias": bias[:, 2:-2]}, offsets=0)
    assert_not_deceived(model, source, compiled.certificate, [[3, 2, 0]])


@pytest.mark.parametrize(("offset", "sink"), [(-1, 300.0), (0, -300.0)])
def test_without_biases_no_offset_can_be_told_from_others(offset: int, sink: float) -> None:
    source, compiled = neighbour(offset, level=0)
    sinks = torch.full((compiled.model.config.heads,), sink)
    model = rebuilt(compiled.model, {HEADS + "sink": sinks}, offsets=None)
    inputs = [[3, 0]] if offset else [[0, 1], [1, 0]]
    assert_not_deceived(model, source, compiled.certificate, inputs)


def test_a_window_of_minus_one_has_one_bias_for_all_offsets() -> None:
    _, compiled = neighbour(0)
    bias = compiled.model.state_dict()[HEADS + "bias"]
    with pytest.raises(weft.WeftError, match="offsets is -1"):
        rebuilt(compiled.model, {HEADS + "bias": bias[:, 1:2]}, offsets=-1)


# Attention: what rounds or overflows


def test_copies_that_cancel_each_other_round() -> None:
    source, compiled = neighbour(-1)
    model, width = compiled.model, compiled.model.config.width
    value, output = torch.zeros(2, width, 6), torch.zeros(2, 6, width)
    for name, many in (("value", value), ("output", output)):
        old = model.state_dict()[HEADS + name]
        many[1, : old.shape[1], : old.shape[2]] = old[1]
    x, found = model.layout["x"].start, model.layout["found"].start
    for place, factor in enumerate((2.0**30, 1.0, -(2.0**30))):
        for entry in range(2):
            value[0, x + entry, 2 * place + entry] = 1
            output[0, 2 * place + entry, found + entry] = factor
    changed = {HEADS + "value": value, HEADS + "output": output}
    attacked = rebuilt(model, changed, value_width=6)
    assert_not_deceived(attacked, source, compiled.certificate, [[3, 0]])


ASK = """
    tokens = 2
    q = weft.var(2, token=lambda t: t)
    k = weft.var(2, token=lambda t: 1 - t)
    found = weft.attend(q, k, q, relative={-1, 1})
    out = weft.var(2)
    layers = 1
    output = out

    def step(z):
        z.out = z.found
"""


def test_scores_overflow_on_the_way_to_a_finite_sum() -> None:
    source = program(ASK)
    compiled = weft.compile(source)
    model, heads = compiled.model, compiled.model.config.heads
    query = torch.zeros(heads, model.config.width, 4)
    key, sink = torch.zeros_like(query), model.state_dict()[HEADS + "sink"].clone()
    q, k = model.layout["q"].start, model.layout["k"].start
    for value in range(2):
        query[0, q + value, [value, 2, 3]] = 2.0**64
        key[0, k + value, value] = key[0, k + value, 2] = 2.0**63
        key[0, k + value, 3] = -(2.0**63)
    sink[0] = 2.0**126
    changed = {HEADS + "query": query, HEADS + "key": key, HEADS + "sink": sink}
    attacked = rebuilt(model, changed, key_width=4)
    assert_not_deceived(attacked, source, compiled.certificate, [[0, 1]])


FOURS = """
    tokens = 2
    a = weft.number([0, 4], token=lambda t: 4 * t)
    one = weft.var(1)
    here = weft.attend(one, one, a, relative={0})
    y = weft.var(2)
    layers = 1
    output = y

    def step(z):
        z.y = z.here > 1
"""


def test_a_value_overflows_before_it_is_scaled_back() -> None:
    source = program(FOURS)
    compiled = weft.compile(source, max_length=3)
    tensors = compiled.model.state_dict()
    changed = {
        HEADS + "value": tensors[HEADS + "value"] * 2.0**127,
        HEADS + "output": tensors[HEADS + "output"] * 2.0**-127,
    }
    attacked = rebuilt(compiled.model, changed)
    assert_not_deceived(attacked, source, compiled.certificate, [[1]])


TINY = """
    tokens = 2
    t = weft.number([0, 2.0**-149], token=lambda t: t * 2.0**-149)
    one = weft.var(1)
    y = weft.var(2)
    share = weft.attend(one, one, t, output=weft.number([0, 2.0**-151, 2.0**-149]))
    layers = 1
    output = y

    def step(z):
        z.y = z.share > 0
"""


def test_the_mean_of_the_smallest_numbers_underflows() -> None:
    source = program(TINY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = weft.compile(source, max_length=3)
    model = compiled.model
    first = [
        row(model, share_0=2.0**100),
        row(model, y_0=1),
        row(model, y_1=1),
        row(model, share_0=1),
    ]
    second = np.diag([2.0**60, 1, 1, 1])
    third = [[1, 1, 0, 0], [-1, 0, 1, 0], [0, 0, 0, 1]]
    last = np.transpose(
        [row(model, y_0=-1, y_1=1), row(model, y_0=1, y_1=-1), row(model, share_0=-1)]
    )
    biases = [np.zeros(4), [-1, 0, 0, 0], [-1, 0, 0], np.zeros(model.config.width)]
    attacked = with_units(model, [first, second, third, last], biases)
    assert_not_deceived(attacked, source, compiled.certificate, [[0, 1], [0, 0, 1]])


# The feed-forward: exponents


def test_float32_overflows_where_float64_does_not() -> None:
    source, compiled = flip()
    big = 2.0**127
    first, first_bias = [[0, 0]] * 4 + [[0, 1]], [1, 1, 1, 1, 0]
    weights = [first, [[big, big, -big, -big, big]], FLIPPED]
    model = with_units(compiled.model, weights, [first_bias, [0], FLIPPED_BIAS])
    assert_not_deceived(model, source, compiled.certificate, [[0], [1]])


def test_float32_underflows_where_float64_does_not() -> None:
    source, compiled = flip()
    chain = [[[2.0**-100]], [[2.0**-100]], [[2.0**100]], [[2.0**100]]]
    biases = [[0], [0], [0], [0], [0], FLIPPED_BIAS]
    model = with_units(compiled.model, [[[0, 1]], *chain, FLIPPED], biases)
    assert_not_deceived(model, source, compiled.certificate, [[0], [1]])


def test_bounds_that_are_not_numbers_decide_nothing() -> None:
    source, compiled = flip("float64")
    big = 1.7e308
    model = with_units(compiled.model, [[[big, big]], [[1], [1]]], [[big], [0, 0]])
    assert_not_deceived(model, source, compiled.certificate, [[0], [1]])


def test_a_chain_that_clears_a_head_underflows() -> None:
    source, compiled = neighbour(-1, level=0)
    model, small = compiled.model, 2.0**-30
    first = [
        row(model, found_0=1, keep_1=-1, x_0=-1),
        row(model, found_1=1, keep_1=-1, x_1=-1),
        row(model, found_0=small),
        row(model, found_1=small),
    ]
    down, up = np.diag([1, 1, small, small]), np.diag([1, 1, 1 / small, 1 / small])
    last = np.transpose(
        [
            row(model, x_0=1, x_1=-1),
            row(model, x_0=-1, x_1=1),
            row(model, found_0=-1),
            row(model, found_1=-1),
        ]
    )
    right = with_units(model, [first, up, last])
    assert quietly(right, source, compiled.certificate).proved
    attacked = with_units(model, [first, *[down] * 4, *[up] * 5, last])
    assert_not_deceived(attacked, source, compiled.certificate, [[2, 3, 0, 0]])


ZERO = """
    tokens = 2
    zero = weft.number([0, 1])
    one = weft.var(1)
    y = weft.var(2)
    share = weft.attend(one, one, zero, output=weft.number([0, 1]))
    layers = 2
    output = y

    def step(z):
        z.y = int(z.share)
"""


def test_a_slot_that_always_holds_zero_must_be_left_so() -> None:
    source = program(ZERO)
    compiled = weft.compile(source, max_length=3)
    model = compiled.model
    last = np.transpose([row(model, y_0=-1, y_1=1)])
    attacked = with_units(model, [[row(model, share_0=1)], last], [[0], row(model, share_0=1)])
    listed = {**compiled.certificate.values, "y": (0,), "share": (0,)}
    certificate = replace(compiled.certificate, values=listed)
    assert_not_deceived(attacked, source, certificate, [[0], [1]])


# The feed-forward: rounding


def test_every_product_rounds() -> None:
    source, compiled = flip()
    rng = np.random.default_rng(0)
    factors, rounded, real = [], np.float32(1), 1.0
    for _ in range(40):  # of a few factors, the one that rounds down the most
        tried = rng.uniform(0.97, 1, 40).astype(np.float32)
        factor = min(tried, key=lambda f: float(f * rounded) - float(f) * float(rounded))
        factors.append(float(factor))
        rounded, real = factor * rounded, float(factor) * real
    scale, middle = -(2.0**26), (float(rounded) + real) / 2
    chain = [np.diag([factor, 1]) for factor in factors]
    weights = [[[1, 1], [0, 1]], *chain, np.diag([scale, 1]), [[1, 2], [1, -2]]]
    biases = [*[[0, 0]] * 41, [-scale * middle, 0], FLIPPED_BIAS]
    model = with_units(compiled.model, weights, biases)
    assert_not_deceived(model, source, compiled.certificate, [[0], [1]])


DONE = """
    tokens = 3
    x = weft.var(3, token=lambda t: t)
    y = weft.var(2)
    output = x
    halt = y == 1

    def step(z):
        z.y = 1
"""


def test_between_whole_bounds_sums_may_round() -> None:
    source = program(DONE)
    compiled = weft.compile(source)
    model, almost, big = compiled.model, 1 - 2.0**-24, 2.0**22
    rising = row(model, x_1=almost, x_2=1)
    first = [rising, row(model, y_0=1), rising]
    last = np.transpose([row(model, y_1=big), row(model, y_0=-1, y_1=1), row(model, y_1=-big)])
    attacked = with_units(model, [first, last])
    assert_not_deceived(attacked, source, compiled.certificate, [[0], [1], [2]])


def test_thresholds_of_one_sum_keep_their_own_precision() -> None:
    source = program(DONE)
    compiled = weft.compile(source)
    model = compiled.model
    rising = row(model, x_1=1, x_2=1)
    first = [rising, rising, row(model, y_0=1)]
    last = np.transpose([row(model, y_1=1), row(model, y_1=1), row(model, y_0=-1, y_1=1)])
    attacked = with_units(model, [first, last], [[2.0**60, 0, 0], row(model, y_1=-1)])
    assert_not_deceived(attacked, source, compiled.certificate, [[0], [1], [2]])


SETS = """
    tokens = 2
    x = weft.var(2, token=lambda t: t)
    s = weft.subset(2, [{0, 1}, {}], default={0, 1})
    k = weft.var(2, default=1)
    here = weft.attend(s, k, x, relative={0})
    layers = 1
    output = x

    def step(z):
        z.x = 1 - z.here
"""


def test_the_elements_of_a_set_are_added_one_by_one() -> None:
    source = program(SETS)
    compiled = weft.compile(source)
    first = compiled.model.state_dict()[UNITS + "weights.0"].clone()
    first[:, compiled.model.layout["s"].dimensions] = torch.tensor([2.0**30, -(2.0**30)])
    attacked = rebuilt(compiled.model, {UNITS + "weights.0": first})
    assert_not_deceived(attacked, source, compiled.certificate, [[0], [1]])


FAR_APART = """
    tokens = 2
    a = weft.number([0.1, 1e10], token=lambda t: 1e10 if t else 0.1)
    y = weft.var(2)
    layers = 2
    output = y

    def step(z):
        z.y = z.a < 1
        z.a = 0.1
"""


def test_the_difference_of_two_float64_numbers_rounds() -> None:
    source = program(FAR_APART)
    compiled = weft.compile(source, dtype="float64")
    proof = quietly(compiled.model, source, compiled.certificate)
    assert not (proof.proved and differs(compiled.model, source, [[0], [1]])), str(proof)


EQUAL = f"""
    tokens = 2
    a = weft.number([{1 + 2.0**-30!r}, 2], default={1 + 2.0**-30!r})
    b = weft.number([{1 + 2.0**-30!r}, 2], default={1 + 2.0**-30!r})
    x = weft.var(2, token=lambda t: t)
    layers = 1
    output = x

    def step(z):
        if z.a + z.b > 3:
            z.x = 0
"""


def test_products_of_float64_numbers_round_or_do_not() -> None:
    """A fused multiply-add keeps what a product of its own loses."""
    source = program(EQUAL)
    compiled = weft.compile(source, dtype="float64")
    model, factor, many = compiled.model, 1 + 2.0**-30, 16
    first = [row(model, a_0=-factor, b_0=factor)] * many
    last = np.transpose([row(model, x_0=1)])
    attacked = with_units(model, [first, [[2.0**62] * many], last])
    proof = quietly(attacked, source, compiled.certificate)
    assert not (proof.proved and differs(attacked, source, [[0] * 8, [1] * 8])), str(proof)


UNCHANGED = FLIP.replace("z.x = 1 - z.x", "z.x = z.x")


def test_what_is_added_in_place_rounds_against_what_stands_there() -> None:
    """The compact layer adds each unit to the stream, the layer itself adds their sum."""
    source = program(UNCHANGED)
    compiled = weft.compile(source)
    part = 0.25 + 2.0**-24
    attacked = with_units(compiled.model, [[[1, 1], [1, 1]], [[part, -part], [part, -part]]])
    proof = quietly(attacked, source, compiled.certificate)
    assert not (proof.proved and differs(attacked, source, [[0, 1, 1]])), str(proof)


# Batches, and what is not in the config


def test_what_becomes_of_padding_spoils_nothing_else() -> None:
    source, compiled = neighbour(-1)
    model, tensors = compiled.model, compiled.model.state_dict()
    undefined = torch.tensor([row(model, keep_0=1, found_0=-1, found_1=-1)])
    explodes = torch.tensor([row(model, x_0=3e38)]).T
    changed = {
        UNITS + "weights.0": torch.cat([tensors[UNITS + "weights.0"], undefined]),
        UNITS + "biases.0": torch.cat([tensors[UNITS + "biases.0"], torch.zeros(1)]),
        UNITS + "weights.1": torch.cat([tensors[UNITS + "weights.1"], explodes], 1),
    }
    attacked = rebuilt(model, changed, hidden=(model.config.hidden[0] + 1,))
    assert not differs(attacked, source, [[3, 0, 0]])
    assert_not_deceived(attacked, source, compiled.certificate, [[3, 0, 0], [2]])


def test_biases_that_only_padding_meets_are_numbers_too() -> None:
    source, compiled = neighbour(-1)
    bias = compiled.model.state_dict()[HEADS + "bias"].clone()
    bias[0, 0] = float("nan")
    attacked = rebuilt(compiled.model, {HEADS + "bias": bias}, max_length=2)
    assert_not_deceived(attacked, source, compiled.certificate, [[3, 0], [2, 0]], padding=1)


def test_weights_that_were_changed_behind_the_compact_layer_are_noticed() -> None:
    source, compiled = flip()
    last = compiled.model.layers[0].feed_forward.weights[1]
    right = last.clone()
    last.data.zero_()
    with torch.inference_mode():
        compiled.model(torch.tensor([[0]]))
    last.data.copy_(right)
    proof = quietly(compiled.model, source, compiled.certificate)
    assert not (proof.proved and differs(compiled.model, source, [[0], [1]])), str(proof)


def test_weights_have_the_number_format_of_the_config() -> None:
    source = weft.program("parity-sum(ones=20)")
    compiled = weft.compile(source)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        proof = quietly(compiled.model.to(dtype), source, compiled.certificate)
        assert not proof.proved, f"{dtype}: {proof}"


def test_a_program_that_names_no_tokens_takes_more_than_one() -> None:
    source = program(FLIP.replace("    tokens = 2\n", "").replace(", token=lambda t: t", ""))
    assert weft.run(source, [0, 7]).outputs == (0, 0)
    compiled = weft.compile(source)
    if quietly(compiled.model, source, compiled.certificate).proved:
        assert not differs(compiled.model, source, [[0, 7]])


def test_states_where_a_variable_fails_that_was_left_out_are_named() -> None:
    body = FLIP.replace("layers = 2", "count = weft.var(3)\n    layers = 4")
    source = program(body + "        z.count = z.count + 1\n")
    with pytest.raises(weft.WeftError, match="outside its range"):
        weft.run(source, [0])
    compiled = weft.compile(source)
    assert compiled.certificate.left_out == ("count",)
    assert prove(compiled.model, source, compiled.certificate).failing


def test_a_certificate_for_no_input_proves_nothing_of_the_others() -> None:
    source, compiled = flip()
    attacked = with_units(compiled.model, [[[0, 1]], [[-1], [1]]], [[1], [0, 0]])
    certificate = Certificate(values={"x": (0,)}, inputs=())
    assert not quietly(attacked, source, certificate).proved


SEVERAL = """
    tokens = 3
    x = weft.var(3, token=lambda t: t)
    same = weft.attend(x, x, x)
    y = weft.var(4)
    phase = weft.var(2, token=lambda t: t == 2)
    layers = 2
    output = y

    def step(z):
        if z.phase:
            z.y = z.same + 1
"""


def test_what_level_0_leaves_of_a_mixture_is_named() -> None:
    source = program(SEVERAL)
    compiled = weft.compile(source, level=0)
    proof = quietly(compiled.model, source, compiled.certificate)
    inputs = [[0, 0] + [1] * count for count in range(18, 46, 4)]
    assert differs(compiled.model, source, inputs)
    assert proof.unrounded, str(proof)
    small = quietly(weft.compile(source).model, source, weft.compile(source).certificate)
    assert small.proved
    assert not small.unrounded


FAILS = """
    tokens = 2
    a = weft.var(2, token=lambda t: t)
    b = weft.var(3, default=2)
    x = weft.var(2)
    layers = 1
    output = x

    def step(z):
        if z.a == 0:
            z.x = (0, 1, 2)[z.b]
        else:
            z.x = 1
"""


def test_states_that_fail_are_those_of_listed_values() -> None:
    """It fails if a is 0, since b is always 2; it would not fail if b were 0."""
    source = program(FAILS)
    compiled = weft.compile(source)
    proof = quietly(compiled.model, source, compiled.certificate)
    assert proof.proved, str(proof)


# Attacks that were repelled


@pytest.mark.parametrize("terms", [2**24 - 2, 2**24])
def test_sums_are_exact_up_to_the_last_bit_and_no_further(terms: int) -> None:
    source, compiled = flip()
    half = float(terms // 2)
    weights = [[[0, 0], [0, 1], [0, 0]], [[half, 1, -half]], FLIPPED]
    model = with_units(compiled.model, weights, [[1, 0, 1], [0], FLIPPED_BIAS])
    proof = quietly(model, source, compiled.certificate)
    assert proof.proved == (terms < 2**24)
    assert not differs(model, source, [[0], [1]]) or not proof.proved


def test_negative_zeros_change_nothing() -> None:
    source, compiled = neighbour(-1)
    tensors = {name: tensor + 0.0 for name, tensor in compiled.model.state_dict().items()}
    for name, tensor in tensors.items():
        tensor[tensor == 0] = -0.0
        assert bool(torch.signbit(tensor).any()), name
    model = rebuilt(compiled.model, tensors)
    assert quietly(model, source, compiled.certificate).proved
    assert not differs(model, source, [[3, 0, 0], [2, 0], [2]])


@pytest.mark.parametrize("entry", [float("nan"), float("inf"), 103.0 + 128.0])
def test_a_bias_that_is_not_high_enough_is_found(entry: float) -> None:
    source, compiled = neighbour(-1)
    bias = compiled.model.state_dict()[HEADS + "bias"].clone()
    bias[0][bias[0] == 256] = entry
    assert not quietly(
        rebuilt(compiled.model, {HEADS + "bias": bias}), source, compiled.certificate
    ).proved


def test_a_slot_cannot_be_cleared_twice() -> None:
    source, compiled = neighbour(-1)
    tensors = compiled.model.state_dict()
    parts = ("query", "key", "value", "output", "bias", "sink")
    twice = {HEADS + part: tensors[HEADS + part][[0, 1, 1]] for part in parts}
    model = rebuilt(compiled.model, twice, heads=3)
    assert_not_deceived(model, source, compiled.certificate, [[2, 3, 0, 0]])


NATURAL = {
    "no layers": FLIP.replace("layers = 2", "layers = 0"),
    "halted at once": FLIP.replace("layers = 2", "halt = x == 1"),
    "one token": FLIP.replace("tokens = 2", "tokens = 1"),
    "an offset beyond the longest input": """
    tokens, positions = 2, 3
    x = weft.var(2, token=lambda t: t)
    keep = weft.var(2, position=lambda i: 1)
    far = weft.relative(x, -9)
    layers = 1
    output = x

    def step(z):
        if not z.keep:
            z.x = z.far
""",
    "an offset to the right, and causal": """
    tokens, causal = 2, True
    n = weft.number([0, 1], token=lambda t: t)
    one = weft.var(1)
    near = weft.attend(one, one, n, relative={1, 0, -1}, output=weft.number([0, 0.5, 1]))
    x = weft.var(2)
    layers = 1
    output = x

    def step(z):
        z.x = z.near > 0
""",
    "an empty set as a query": """
    tokens = 2
    s = weft.subset(2, [set(), {1}], token=lambda t: {1} if t else set())
    k = weft.var(2, token=lambda t: t)
    n = weft.number([-1, 0, 1], token=lambda t: t)
    share = weft.attend(s, k, n, output=weft.number([0, 1]))
    y = weft.var(2)
    layers = 2
    output = y

    def step(z):
        if z.k:
            z.y = int(z.share)
""",
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NATURAL)
def test_odd_programs_are_proved_and_right(name: str, dtype: str) -> None:
    source = program(NATURAL[name])
    compiled = weft.compile(source, max_length=3, dtype=dtype)
    proof = quietly(compiled.model, source, compiled.certificate)
    assert proof.proved, str(proof)
    size = source.vocabulary.size or 1
    if source.definition.halt is not None:  # not all inputs halt
        assert not differs(compiled.model, source, [[1], [0], [1, 1]])
    else:
        words = [list(w) for n in (1, 2, 3) for w in itertools.product(range(size), repeat=n)]
        assert not differs(compiled.model, source, words)


# A verdict whatever comes


def test_a_feed_forward_without_hidden_layers_gets_a_verdict() -> None:
    source, compiled = flip()
    model = with_units(compiled.model, [[[-1, 1], [1, -1]]])
    assert quietly(model, source, compiled.certificate).verdict != "wrong"


def test_scores_of_any_size_get_a_verdict() -> None:
    source = program(ASK)
    compiled = weft.compile(source, dtype="float64")
    tensors = compiled.model.state_dict()
    changed = {name: tensors[name] * 2.0**600 for name in (HEADS + "query", HEADS + "key")}
    assert not quietly(rebuilt(compiled.model, changed), source, compiled.certificate).proved


def test_a_set_of_nothing_gets_a_verdict() -> None:
    body = FLIP.replace("layers = 2", "s = weft.subset(0, [set()])\n    layers = 2")
    source = program(body.replace("z.x = 1 - z.x", "z.x = z.s == frozenset()"))
    compiled = weft.compile(source)
    assert quietly(compiled.model, source, compiled.certificate).verdict != "wrong"


def test_inputs_of_unknown_tokens_get_a_verdict() -> None:
    source = weft.program("parity")
    compiled = weft.compile(source)
    certificate = replace(compiled.certificate, inputs=((99,),))
    assert not quietly(compiled.model, source, certificate).proved


def test_a_longest_input_that_is_not_a_number_is_refused() -> None:
    _, compiled = neighbour(-1)
    with pytest.raises(weft.WeftError, match="max_length is nan"):
        rebuilt(compiled.model, max_length=float("nan"))


EDITS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "nan": lambda d: d["config"].update(max_length=float("nan")),
    "half a token": lambda d: d["config"].update(max_length=5.5),
    "offsets as text": lambda d: d["config"].update(offsets="1"),
    "a slot at 0.0": lambda d: d["layout"][0].update(start=0.0),
    "a slot at text": lambda d: d["layout"][0].update(start="0"),
    "no program": lambda d: d.pop("program"),
    "a program that is a list": lambda d: d.update(program=[]),
    "other tokens": lambda d: d["vocabulary"].reverse(),
    "no tokens": lambda d: d.update(vocabulary=None),
    "other answers": lambda d: d["text"]["classes"].reverse(),
    "rounded": lambda d: d.update(rounds=True),
    "trained": lambda d: d.update(kind="trained"),
    "other heads": lambda d: d["heads"].reverse(),
    "no hash": lambda d: d["program"].pop("source_hash"),
    "found as a number": lambda d: d["program"].update(found_as=3),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_config_is_refused_or_not_proved(tmp_path: Path, edit: str) -> None:
    folder = tmp_path / "model"
    weft.save(weft.compile(weft.program("parity")), folder, name="parity")
    description = json.loads((folder / "config.json").read_text())
    EDITS[edit](description)
    (folder / "config.json").write_text(json.dumps(description))
    with contextlib.suppress(weft.WeftError):
        assert not prove_folder(folder, None, weft.program).proved


CARDS: dict[str, bytes | None] = {"missing": None, "empty": b"", "no text": b"\xff\xfe\x80"}


@pytest.mark.parametrize("card", CARDS)
def test_a_spoilt_card_is_no_traceback(tmp_path: Path, card: str) -> None:
    folder = tmp_path / "model"
    weft.save(weft.compile(weft.program("parity")), folder, name="parity")
    content = CARDS[card]
    if content is None:
        (folder / "card.md").unlink()
    else:
        (folder / "card.md").write_bytes(content)
    with contextlib.suppress(weft.WeftError):
        prove_folder(folder, None, weft.program)


def test_a_certificate_nested_without_end_is_no_traceback(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    weft.save(weft.compile(weft.program("parity")), folder, name="parity")
    (folder / "certificate.json").write_text("[" * 100_000)
    with pytest.raises(weft.WeftError):
        prove_folder(folder, None, weft.program)


NEVER = """
    tokens = 3
    n = weft.number([0, 1], token=lambda t: t == 1)
    one = weft.var(1)
    share = weft.attend(one, one, n, output=weft.number([0, 0.5, 1]))
    x = weft.var(5, token=lambda t: t)
    done = weft.var(2)
    output = x
    halt = done == 1

    def step(z):
        z.x = (z.x + int(2 * z.share)) % 5
"""


@pytest.mark.slow
def test_the_search_for_a_counterexample_ends_soon() -> None:
    """None of the inputs halts, so each is run for as long as the search allows."""
    source = program(NEVER)
    compiled = weft.compile(source, max_length=24, activation="relu")
    assert quietly(compiled.model, source, compiled.certificate).seconds < 10
