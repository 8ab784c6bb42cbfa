"""`weft models`: mechanisms and presets."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from command_line import weft
from weft.models import PRESETS, TransformerConfig, build_model, config_from_dict, preset
from weft.models.catalogue import mechanism, mechanisms, parameters_of
from weft.models.config import ATTENTIONS, CHOICES, POSITIONS


def found(*arguments: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(weft("models", *arguments, "--json"))
    return loaded


def counted(config: TransformerConfig) -> int:
    return sum(weight.numel() for weight in build_model(config).parameters())


def test_the_list_has_every_mechanism_and_every_preset() -> None:
    listed = found()
    for group, names in (("positions", POSITIONS), ("attentions", ATTENTIONS)):
        assert [one["name"] for one in listed[group]] == list(names)
    settings = [one["setting"] for one in listed["blocks"]]
    chosen = {(key, value) for setting in settings for key, value in setting.items()}
    for key in ("kind", "norm", "activation"):
        assert {value for name, value in chosen if name == key} == set(CHOICES[key])
    assert {value for name, value in chosen if name == "canon"} == set("ABCD")
    assert [one["name"] for one in listed["presets"]] == list(PRESETS)
    text = weft("models")
    for one in (*listed["positions"], *listed["attentions"], *listed["blocks"]):
        assert f"  {one['name']} " in text
        assert one["summary"] in text
    assert "154,428,416" in text


def test_counts_are_those_of_the_papers_sizes() -> None:
    listed = {one["name"]: one for one in found("--vocabulary", "100")["presets"]}
    large = listed["154m"]
    assert [large[key] for key in ("layers", "heads", "width", "hidden")] == [12, 16, 1024, [2816]]
    parts = large["parameters"]
    assert parts["attention"] + parts["feed_forward"] == 154_140_672
    assert parts["tokens"] == 2 * 100 * 1024
    assert parts["total"] == sum(count for name, count in parts.items() if name != "total")


def test_counts_are_those_of_the_models() -> None:
    for one in mechanisms():
        if one.name == "randomised":
            continue
        config = preset("nano", **one.changes)
        assert parameters_of(config).total == counted(config), one.name
    mixed = preset("nano", position="abacus+fire", attention="entmax", canon="ABCD", tied=True)
    assert parameters_of(mixed).total == counted(mixed)


def test_counting_makes_no_tensors() -> None:
    before = torch.random.get_rng_state()
    assert parameters_of(preset("154m", width=2**20, hidden=(2**22,))).total > 10**12
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_mechanism_is_shown_with_its_formula_and_its_cost() -> None:
    text = weft("models", "path", "--preset", "nano")
    for part in ("H_l = I - beta_l w_l w_l^T", "preset('nano', attention='path')", "more than"):
        assert part in text
    shown = found("forgetting", "--preset", "nano", "--canon", "AC")
    assert shown["parameters"]["total"] - shown["without_it"] == 3 * (3 * 48 + 3)
    assert shown["parameters"]["canon"] == 3 * 2 * 4 * 48
    config = config_from_dict(shown["config"])
    assert (config.attention, config.canon) == ("forgetting", "AC")
    assert shown["text"] == mechanism("forgetting").text


def test_positions_and_canon_are_joined_with_what_else_is_asked_for() -> None:
    assert found("abacus", "--position", "fire")["config"]["position"] == "abacus+fire"
    assert found("randomised")["config"]["position"] == "randomised+rotary"
    assert found("canon-d", "--canon", "A")["config"]["canon"] == "AD"


def test_a_preset_is_shown_with_any_mechanism() -> None:
    shown = found("mini", "--position", "learned", "--vocabulary", "16")
    assert shown["parameters"]["positions"] == 4096 * 384
    assert shown["parameters"]["tokens"] == 2 * 16 * 384
    assert found("--preset", "mini", "--position", "learned", "--vocabulary", "16") == shown
    text = weft("models", "micro", "--attention", "swan")
    for part in ("position      rotary", "attention     swan", "885,888"):
        assert part in text


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["naep"], "did you mean 'nape'"),
        (["minni"], "did you mean 'mini'"),
        (["mini", "--position", "rotery"], "did you mean 'rotary'"),
        (["path", "--position", "rotary"], "PaTH encodes relative positions itself"),
        (["stick-breaking", "--position", "alibi"], "takes no bias on scores"),
        (["--position", "alibi+t5"], "both bias scores by distance"),
        (["path", "--attention", "entmax"], "path and entmax are both attentions"),
        (["encoder", "--canon", "A"], "Canon layers are causal"),
        (["--canon", "AX"], "not a subset of ABCD"),
        (["--preset", "maxi"], "there is no preset 'maxi'"),
        (["mini", "--preset", "small"], "both presets"),
        (["mini", "--vocabulary", "0"], "at least 1"),
    ],
)
def test_nonsense_is_one_line_and_exit_code_2(arguments: list[str], part: str) -> None:
    message = weft("models", *arguments, code=2)
    assert part.lower() in message.lower()
    assert len(message.splitlines()) == 1


def test_every_activation_has_its_formula() -> None:
    for name in CHOICES["activation"]:
        assert name in mechanism(name).text
