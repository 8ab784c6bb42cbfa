"""Every encoding of positions against its formula: values, gradients, tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.func import functional_call

import mechanisms
from mechanisms import DIGITS, ENCODINGS
from reference_model import Reference, digit_places, t5_bucket
from weft.errors import WeftError
from weft.models import Transformer, preset
from weft.models.bias import ScoreBias
from weft.models.context import make_context
from weft.models.positions.abacus import digit_places as places_of
from weft.models.positions.alibi import alibi_slopes
from weft.models.positions.nape import Nape
from weft.models.positions.t5 import bucket

KINDS: list[dict[str, Any]] = [
    *({"position": name} for name in ENCODINGS if "randomised" not in name),
    *({"position": "nape", "slopes": name, "heads": 4} for name in ("harmonic", "geometric")),
    {"position": "nape", "heads": 3, "key_width": 4},
    {"position": "nape", "heads": 4, "slope_share": 0.25},
    {"position": "alibi", "heads": 6, "key_width": 3},
    {"position": "learned+fire"},
    {"position": "sinusoidal+alibi"},
    {"position": "sinusoidal", "width": 7},
    *(
        {"position": name, "kind": "encoder"}
        for name in ("learned", "rotary", "alibi", "nape", "t5", "distance", "fire", "abacus")
    ),
]


def named(changes: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in changes.items())


@pytest.mark.parametrize("changes", KINDS, ids=named)
def test_logits_are_those_of_the_formula(changes: dict[str, Any]) -> None:
    model = mechanisms.model(seed=1, **changes)
    tokens = mechanisms.tokens(2, 9)
    for backend in ("dense", "auto"):
        logits = model(tokens, backend=backend).logits.detach().numpy()
        for row, found in zip(tokens.tolist(), logits, strict=True):
            expected = Reference(model).logits(row, digits=DIGITS)
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("changes", KINDS, ids=named)
def test_gradcheck(changes: dict[str, Any]) -> None:
    """Of all weights of a layer and of the encoding, by the formula as it stands."""
    small = {"width": 4, "hidden": (3,), "layers": 1, "norm": "none", "positions": 9, **changes}
    model = mechanisms.model(seed=4, **small)
    tokens = mechanisms.tokens(1, 5, seed=5)
    names = [name for name, _ in model.named_parameters()]

    def logits(*weights: torch.Tensor) -> torch.Tensor:
        given = dict(zip(names, weights, strict=True))
        found: torch.Tensor = functional_call(model, given, (tokens,), {"backend": "dense"}).logits
        return found

    assert torch.autograd.gradcheck(logits, tuple(model.parameters()), fast_mode=True)


@pytest.mark.parametrize("name", ["alibi", "nape", "t5", "distance", "fire"])
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_biases_of_200_positions(name: str, kind: str) -> None:
    """Far enough for all of T5's buckets and both sides of FIRE's threshold."""
    model = mechanisms.model(seed=2, position=name, kind=kind, heads=4)
    found = model.position.bias(make_context(model.config, torch.zeros(1, 200, dtype=torch.long)))
    assert isinstance(found, ScoreBias)
    context = make_context(model.config, torch.zeros(1, 200, dtype=torch.long))
    dense = found.dense(context, torch.float64)
    assert dense is not None
    formula = Reference(model)
    rng = np.random.default_rng(0)
    for i, j in {*map(tuple, rng.integers(200, size=(300, 2))), (199, 0), (0, 0), (150, 22)}:
        if kind == "decoder" and j > i:
            continue
        for h in range(4):
            expected = formula.bias(h, int(i), int(j), kind == "decoder")
            assert float(dense[h, i, j].detach()) == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_published_slopes() -> None:
    """ALiBi's of 8 and 16 heads as in the paper; of 12 by the authors' code."""
    assert alibi_slopes(8) == [1 / 2**h for h in range(1, 9)]
    np.testing.assert_allclose(alibi_slopes(16), [2 ** (-h / 2) for h in range(1, 17)])
    between = [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    np.testing.assert_allclose(alibi_slopes(12), [1 / 2**h for h in range(1, 9)] + between)


def test_nape_of_16_heads_by_its_three_schedules() -> None:
    expected = {
        "steep": [2 ** (-h / 2) for h in range(1, 9)],
        "harmonic": [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6, 1 / 7, 1 / 8],
        "geometric": [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256],
    }
    for name, slopes in expected.items():
        part = Nape(preset("154m", position="nape", slopes=name))
        np.testing.assert_allclose(part.slopes, [*slopes, *[0] * 8], rtol=1e-15)


def test_nape_has_the_steeper_half_of_6_heads() -> None:
    part = Nape(preset("mini", position="nape"))
    assert part.slopes.tolist() == [1 / 2, 1 / 4, 1 / 8, 0, 0, 0]


@pytest.mark.parametrize("schedule", ["steep", "harmonic", "geometric"])
@pytest.mark.parametrize("heads", [1, 3, 4, 6, 8, 16])
def test_the_share_of_sloped_heads_runs_from_nope_to_alibi(heads: int, schedule: str) -> None:
    """Shares round up; sloped heads come first, and have the schedule's slopes for their number."""

    def slopes(share: float) -> list[float]:
        sizes = {"width": heads * 8, "heads": heads, "slopes": schedule, "slope_share": share}
        return Nape(preset("mini", position="nape", **sizes)).slopes.tolist()

    assert slopes(0.0) == [0.0] * heads
    if schedule == "steep":
        assert slopes(1.0) == sorted(alibi_slopes(heads), reverse=True)
    for quarters in (1, 2, 3, 4):
        found, count = slopes(quarters / 4), -(-heads * quarters // 4)
        assert sum(slope > 0 for slope in found) == count
        expected = {
            "steep": sorted(alibi_slopes(heads), reverse=True)[:count],
            "harmonic": [1 / h for h in range(1, count + 1)],
            "geometric": alibi_slopes(count),
        }[schedule]
        assert found == [*expected, *[0.0] * (heads - count)]


def test_half_of_the_heads_are_sloped_by_default() -> None:
    for heads in (2, 3, 8):
        changes = {"position": "nape", "width": 8 * heads, "heads": heads}
        default, half = preset("mini", **changes), preset("mini", **changes, slope_share=0.5)
        assert default == half
        assert Nape(default).schedule() == Nape(half).schedule()


def test_slopes_stay_exact_in_bfloat16() -> None:
    model = Transformer(preset("154m", layers=1, position="alibi", dtype="bfloat16"))
    slopes = model.position.parts["alibi"].slopes
    np.testing.assert_allclose(slopes.float(), [2 ** (-h / 2) for h in range(1, 17)], rtol=1e-7)


T5_STARTS = [*range(17), 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]


def test_t5_buckets_begin_where_the_printed_table_says() -> None:
    expected = [max(b for b, start in enumerate(T5_STARTS) if start <= n) for n in range(300)]
    assert [bucket(n) for n in range(300)] == expected
    assert [t5_bucket(n, causal=True) for n in range(300)] == expected


def test_t5_buckets_of_one_side_of_an_encoder() -> None:
    assert [bucket(n, 16) for n in range(300)] == [t5_bucket(n, causal=False) for n in range(300)]
    assert [bucket(n, 16) for n in (7, 8, 11, 12, 15, 16, 127, 128)] == [7, 8, 8, 9, 9, 10, 15, 15]


def test_rotary_scores_depend_on_the_distance_alone() -> None:
    model = mechanisms.model(position="rotary")
    vector = torch.randn(1, 2, 1, 4, dtype=torch.float64, generator=torch.manual_seed(0))
    same = vector.expand(1, 2, 30, 4)
    query, key = model.position.rotate(same, same, make_context(model.config, torch.zeros(1, 30)))
    scores = query @ key.transpose(-1, -2)
    for distance in range(30):
        line = scores[0, 0].diagonal(-distance)
        torch.testing.assert_close(line, line[:1].expand_as(line), rtol=0, atol=1e-13)


def test_rotary_angles_are_exact_at_100000_in_bfloat16() -> None:
    """They are computed in float32: 1e5 radians to within 1e-2, not to within thousands."""
    model = mechanisms.model(position="rotary", dtype="bfloat16")
    context = make_context(model.config, torch.zeros(1, 100_001))
    ones = torch.ones(1, 1, 100_001, 2, dtype=torch.bfloat16)
    turned, _ = model.position.rotate(ones, ones, context)
    expected = [math.cos(1e5) - math.sin(1e5), math.cos(1e5) + math.sin(1e5)]
    np.testing.assert_allclose(turned[0, 0, -1].float(), expected, atol=2e-2)


def test_fire_in_bfloat16_tells_far_positions_apart() -> None:
    """bfloat16 cannot count above 256."""
    model = mechanisms.model(position="fire", dtype="float32")
    with torch.no_grad():
        for name, value in {"first": 1.0, "first_bias": 0.0, "second": 1.0, "c": 1.0}.items():
            getattr(model.position.parts["fire"], name).fill_(value)
    context = make_context(model.config, torch.zeros(1, 600))
    exact = model.position.bias(context).pairs[0, 599]
    rough = model.bfloat16().position.bias(context).pairs[0, 599].float()
    assert float((exact - rough).detach().abs().max()) < 0.3  # of 32
    assert len(set(rough[300:].tolist())) > 60


# Positions that are moved or drawn


def test_a_random_offset_moves_learned_positions_while_training() -> None:
    """Every batch by one number; the table's last row is reached and never passed."""
    model = mechanisms.model(seed=3, position="learned", positions=9, random_offset=20)
    row = mechanisms.tokens(1, 6)
    torch.testing.assert_close(model(row).logits, model(row).logits, rtol=0, atol=0)
    formula = Reference(model)
    expected = [formula.logits(row[0].tolist(), positions=range(n, n + 6)) for n in range(4)]
    model.train()
    torch.manual_seed(0)
    met = set()
    for _ in range(40):
        found = model(row).logits[0].detach().numpy()
        met.add([bool(np.allclose(found, one, rtol=0, atol=1e-12)) for one in expected].index(True))
    assert met == {0, 1, 2, 3}


def test_a_random_offset_moves_digits_and_leaves_other_tokens() -> None:
    model = mechanisms.model(seed=3, position="abacus", positions=12, random_offset=5)
    row = torch.tensor([[2, 3, 0, 4, 4, 4, 1]])
    formula = Reference(model)
    expected = [formula.logits(row[0].tolist(), digits=DIGITS, offset=n) for n in range(6)]
    model.train()
    torch.manual_seed(0)
    met = set()
    for _ in range(60):
        found = model(row).logits[0].detach().numpy()
        met.add([bool(np.allclose(found, one, rtol=0, atol=1e-12)) for one in expected].index(True))
    assert met == {0, 1, 2, 3, 4, 5}


def test_abacus_does_not_limit_the_length() -> None:
    """`positions` are places of digits there, also where another encoding is told positions."""
    model = mechanisms.model(position="abacus+fire", positions=4, random_offset=2)
    row = mechanisms.tokens(1, 20)
    expected = Reference(model).logits([1] * 20, digits=DIGITS)
    found = model(torch.ones_like(row)).logits[0].detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    model.train()
    context = make_context(model.config, row, training=True)
    assert context.positions.diff().tolist() == [1] * 19


def test_places_of_digits() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        row = rng.integers(7, size=12).tolist()
        marks = torch.tensor([[token in DIGITS for token in row]])
        assert places_of(marks)[0].tolist() == digit_places(row, DIGITS)
        cut = int(rng.integers(1, 12))
        documents = torch.tensor([[int(t >= cut) for t in range(12)]])
        both = digit_places(row[:cut], DIGITS) + digit_places(row[cut:], DIGITS)
        assert places_of(marks, documents)[0].tolist() == both


@pytest.mark.parametrize(
    "name", ["learned", "rotary", "alibi", "fire", "sinusoidal", "t5", "distance"]
)
def test_randomised_positions(name: str) -> None:
    """Drawn in training, spread evenly otherwise; the encoding is told what was drawn."""
    model = mechanisms.model(seed=3, position=f"randomised+{name}", positions=40)
    row = mechanisms.tokens(1, 6)
    formula = Reference(model)
    spread = [0, 6, 13, 20, 26, 33]
    expected = formula.logits(row[0].tolist(), positions=spread)
    found = model(row).logits[0].detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    model.train()
    met = set()
    for seed in range(10):
        torch.manual_seed(seed)
        drawn = make_context(model.config, row, training=True).positions.tolist()
        assert drawn == sorted(set(drawn))
        assert drawn[-1] < 40
        met.add(tuple(drawn))
        torch.manual_seed(seed)
        found = model(row).logits[0].detach().numpy()
        expected = formula.logits(row[0].tolist(), positions=drawn)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    assert len(met) == 10


def test_drawn_positions_are_uniform_in_every_document_and_padded_sequence() -> None:
    config = mechanisms.config(position="randomised+learned", positions=40)
    row = mechanisms.tokens(500, 10)
    documents = torch.tensor([[0] * 3 + [1] * 7]).expand(500, 10)
    torch.manual_seed(0)
    drawn = make_context(config, row, None, documents, training=True).positions
    for part in (drawn[:, :3], drawn[:, 3:]):
        assert bool((part.diff(dim=-1) > 0).all())
        assert float(part.float().mean()) == pytest.approx(19.5, abs=1)
    lengths = torch.full((500,), 4)
    drawn = make_context(config, row, lengths, training=True).positions[:, :4]
    assert bool((drawn.diff(dim=-1) > 0).all())
    assert float(drawn.float().mean()) == pytest.approx(19.5, abs=1)


def test_abacus_asks_which_tokens_are_digits() -> None:
    with pytest.raises(WeftError, match="needs to know which tokens are digits"):
        mechanisms.model(position="abacus", digits=())(mechanisms.tokens(1, 3))
