"""Every check is needed: without it, a model that is wrong is proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from crasp_mutants import is_harmful, rebuilt, words_for
from handmade_crasp import PLACE, PROGRAM, ahead

from weft.crasp import CraspProgram, library
from weft.crasp.construction import _compile
from weft.crasp.proof import execution, heads, prove, values, verify
from weft.models.slots import Layout
from weft.models.transformer import Transformer
from weft.proofs.rounding import PRECISIONS

MAJORITY = library.load("majority")


@dataclass(frozen=True)
class Weakened:
    """A check, where it is used, what it is replaced by, and a wrong model that then escapes."""

    owner: Any
    name: str
    by: Any
    model: Callable[[], Transformer]
    words: tuple[tuple[str, ...], ...] = ()
    program: CraspProgram = PROGRAM


def nothing(*_: Any, **__: Any) -> None:
    """A check that passes everything."""


def with_change(name: str, place: tuple[Any, ...], value: float, **options: Any) -> Transformer:
    model = ahead(8, **options)
    state = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    state[name][place] = value
    return rebuilt(model, state)


def with_config(**fields: Any) -> Transformer:
    model = ahead(8)
    return rebuilt(model, model.state_dict(), replace(model.config, **fields))


def with_close_scores() -> Transformer:
    """The local head prefers its offset by 3 only."""
    return with_change("layers.1.attention.bias", (1, slice(1, 2)), 131.0)


def with_small_slope() -> Transformer:
    model = _compile(MAJORITY, 30, "float32", None, sound=True).model
    return rebuilt(model, model.state_dict(), replace(model.config, max_length=301))


def too_long() -> Transformer:
    return _compile(MAJORITY, 1500, "bfloat16", None, sound=False).model


def always_sure(ramp: Any, *_: Any) -> Any:
    """Whatever is above 1/2 counts as 1, and the rest as 0."""
    original(ramp, *_)
    ramp.ones = np.ceil(ramp.crossing(0.5))
    ramp.between = np.zeros_like(ramp.between)


original = values.Ramp.__init__
careless = {name: replace(given, vanishes=1.0) for name, given in PRECISIONS.items()}

CHECKS = {
    "config": Weakened(verify, "check_config", nothing, lambda: with_config(kind="encoder")),
    "outputs": Weakened(
        verify._Proving,
        "_check_outputs",
        nothing,
        lambda: with_change("unembedding", (1, PLACE["accept"]), -1.0),
    ),
    "counts": Weakened(
        verify._Proving,
        "_check_count",
        nothing,
        lambda: with_change("layers.1.feed_forward.weights.1", (PLACE["n"], 2), 0.25),
    ),
    "Booleans": Weakened(
        verify._Proving,
        "_check_boolean",
        nothing,
        lambda: with_change("position.parts.learned.table", (6, PLACE["odd"]), 1.0),
    ),
    "underflow of scores": Weakened(heads, "PRECISIONS", careless, with_close_scores),
    "margins": Weakened(
        values.Ramp,
        "__init__",
        always_sure,
        with_small_slope,
        (("1",) * 150 + ("0",) * 149,),
        MAJORITY,
    ),
    "rounding": Weakened(
        values.Arithmetic,
        "_error",
        lambda self, terms, bias: self.exact,
        too_long,
        (("1",) * 750 + ("0",) * 750,),
        MAJORITY,
    ),
    "sizes": Weakened(
        verify,
        "check_sizes",
        nothing,
        lambda: with_change("layers.0.attention.bias", (1, slice(None)), -float("inf")),
    ),
}


@pytest.mark.parametrize("check", CHECKS)
def test_without_a_check_a_wrong_model_is_proved(
    check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weakened = CHECKS[check]
    model, program = weakened.model(), weakened.program
    assert model.config.max_length is not None
    words = [*weakened.words] or words_for(program, model.config.max_length - 1)
    with torch.inference_mode():
        assert is_harmful(model, program, words)
    assert not prove(model, program, search=False).proved
    monkeypatch.setattr(weakened.owner, weakened.name, weakened.by)
    assert prove(model, program, search=False).proved


def test_what_an_earlier_layer_wrote_is_not_taken_for_an_embedding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A key that reads a dimension of the embedding, after the first layer has changed it."""
    model = ahead(8)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state["layers.0.feed_forward.weights.1"][PLACE["begin"], 0] = 2.0
    slots = tuple(slot for slot in model.layout.values() if slot.name != "begin")
    wrong = rebuilt(model, state, None, Layout(slots))
    assert is_harmful(wrong, PROGRAM, words_for(PROGRAM, 8))
    proof = prove(wrong, PROGRAM, search=False)
    assert "its queries or keys read what a layer has written" in proof.reason
    monkeypatch.setattr(
        execution, "attends_to", lambda w, e, written: heads.attends_to(w, e, frozenset())
    )
    assert prove(wrong, PROGRAM, search=False).proved
