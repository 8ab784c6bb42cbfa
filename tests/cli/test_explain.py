"""`weft explain`: rules out of runs trained from traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import weft
from weft.training import RunStore

QUICK = ("parameters.length=6", "parameters.longer=8", "evaluation.size=16",
         "supervision.examples=60", "steps=2")  # fmt: skip


def trained(runs: Path, *arguments: str) -> str:
    told = weft("train", "parity", *QUICK, *arguments, "--runs", str(runs), "--device", "cpu",
                "--json")  # fmt: skip
    name: str = json.loads(told)["name"]
    return name


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def learned(runs: Path) -> str:
    """Some rules are in its weights, and some units are none."""
    return trained(runs, "--traces", "parity", "--small", "model.hidden=64,", "batch=32",
                   "optimiser.lr=0.1", "supervision.sample_by=states", "supervision.l1=8e-4",
                   "steps=1400")  # fmt: skip


def asked(runs: Path, name: str, *more: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(weft("explain", name, "--runs", str(runs), "--json", *more))
    return found


def test_every_unit_and_every_rule_is_accounted_for(runs: Path, learned: str) -> None:
    found = asked(runs, learned[:7])
    units = found["units"]
    assert (found["run"], found["program"], found["hidden"]) == (learned, "parity", [64])
    assert found["rules"] == 7 == units["recovered"] + units["alike"] + len(units["missing"])
    kinds = [one["kind"] for one in units["read"]]
    assert kinds.count("recovered") == units["recovered"] > 0
    assert kinds.count("extra") == units["extra"]
    named = [unit for one in (*units["read"], *units["no_rule"]) for unit in one["units"]]
    assert {*named, *units["idle"]} == set(range(64))
    assert not {*named} & {*units["idle"]}


def test_the_text_says_what_the_json_says(runs: Path, learned: str) -> None:
    units = asked(runs, learned)["units"]
    text = weft("explain", learned, "--runs", str(runs))
    lines = text.splitlines()
    assert lines[0] == f"run           {learned}, done"
    assert "traces        parity, on 60 inputs of parity" in lines
    assert "feed-forward  64 ReLUs" in lines
    said = {"recovered": "program", "alike": "alike", "extra": "extra"}
    for one in units["read"]:
        word = "units" if len(one["units"]) > 1 else "unit"
        numbers = ", ".join(map(str, one["units"]))
        assert f"{said[one['kind']]:<14}{one['rule']}   [{word} {numbers}]" in lines
    for rule in units["missing"]:
        assert f"missing       {rule}" in lines
    lost = sum(len(one["units"]) for one in units["no_rule"])
    assert f" {len(units['idle'])} idle, {lost} not a rule" in text
    weights, compiled = units["weights"], units["compiled"]
    assert f"weights {weights['l1']:.2f} (L1), {weights['l2']:.2f} (L2)" in text
    assert (compiled["l1"], round(compiled["l2"] ** 2)) == (31, 43)  # see docs/optimum.md
    short = weft("explain", learned, "--runs", str(runs), "--limit", "0")
    assert f"program       and {units['recovered']} more (--limit)" in short


def test_units_must_be_nearer_to_rules_with_less_tolerance(runs: Path, learned: str) -> None:
    counts = [
        len(asked(runs, learned, "--tolerance", t)["units"]["read"]) for t in ("0.001", "0.2")
    ]
    assert counts[0] == 0 < counts[1]


def test_a_deep_run_says_why_no_rules_are_read(runs: Path) -> None:
    name = trained(runs, "--traces", "parity", "--small", "model.hidden=6,5")
    found = asked(runs, name)
    assert found["units"] is None
    assert found["wrong"] > 0
    text = weft("explain", name, "--runs", str(runs))
    assert "feed-forward  6 x 5 ReLUs" in text
    assert f"rules         7 fire; none are extracted: {found['unreadable']}" in text


def test_mistakes_are_one_line(runs: Path) -> None:
    for arguments, said in (
        (
            ("model.layers=1", "model.width=8", "model.heads=2"),
            "which trained parity from answers. These can be explained: runs trained",
        ),
        (("--traces", "parity-sum(ones=8)", "--small", "model.hidden=4,"), "categorical"),
    ):
        error = weft("explain", trained(runs, *arguments), "--runs", str(runs), code=2)
        assert error.count("\n") == 1
        assert said in error
    assert "there is no run 'zzz'" in weft("explain", "zzz", "--runs", str(runs), code=2)


def test_a_run_without_weights_is_named(tmp_path: Path, runs: Path, learned: str) -> None:
    config = (RunStore(runs).find(learned).folder / "config.json").read_text()
    (tmp_path / learned).mkdir()
    (tmp_path / learned / "config.json").write_text(config)
    error = weft("explain", learned, "--runs", str(tmp_path), code=2)
    assert error == f"weft: the run {learned} has no weights yet. Train it first\n"
