"""`weft crasp compile` and `check`, and the commands for all models on what they write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from command_line import execute

PROGRAM = """\
// Every a is followed by a b at once.
alphabet a b
bad := Q_a and previous Q_a
accept := # bad == 0 and not Q_a
"""


def test_compile_run_and_show(tmp_path: Path) -> None:
    (tmp_path / "mine.crasp").write_text(PROGRAM)
    done = execute(
        ["crasp", "compile", "mine.crasp", "-o", "model", "--max-length", "50"], tmp_path
    )
    assert done.code == 0, done.stderr
    assert "layers      2" in done.stdout
    assert "written to model" in done.stdout
    assert (tmp_path / "model" / "program.crasp").exists()
    for word, result in (("abb", "accept"), ("aab", "reject"), ("", "accept")):
        ran = execute(["run", "model", word], tmp_path)
        assert f"result   {result}" in ran.stdout
    traced = execute(["run", "model", "aab", "--trace"], tmp_path)
    rows = [line.split() for line in traced.stdout.splitlines()]
    assert ["bad", "0", "0", "*1", "0", "0.5"] in rows  # after layer 1
    values = json.loads(execute(["run", "model", "aab", "--trace", "--json"], tmp_path).stdout)
    assert values["trace"]["layers"][-1]["after"]["# bad"] == [0, 0, 1, 1]
    shown = execute(["show", "model"], tmp_path)
    assert "C-RASP" in shown.stdout
    assert (
        json.loads(execute(["show", "model", "--json"], tmp_path).stdout)["program"]["range"] == 1
    )


def test_next_symbols(tmp_path: Path) -> None:
    execute(["crasp", "compile", "unique-copy", "-o", "model", "--max-length", "20"], tmp_path)
    ran = execute(["run", "model", "b a c | b a"], tmp_path)
    assert "result   c" in ran.stdout
    assert "result   stop" in execute(["run", "model", "b a c | b a c"], tmp_path).stdout


def test_explain_and_json() -> None:
    done = execute(["crasp", "compile", "dyck-1", "--explain"])
    assert "layer 1, head: mean of # Q_(, # Q_), one" in done.stdout
    sizes = json.loads(execute(["crasp", "compile", "dyck-1", "--json"]).stdout)
    assert (sizes["heads"], sizes["units"], sizes["max_length"]) == (2, 3, 1000)
    assert sizes["longest"] > 1000


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--max-length", "50000"], "at most 2,8"),
        (["--dtype", "float16"], "no number format 'float16'"),
        (["--form", "rotary"], "no form 'rotary'"),
    ],
)
def test_refusals(arguments: list[str], error: str) -> None:
    done = execute(["crasp", "compile", "dyck-1", *arguments])
    assert done.code == 2
    assert error in done.stderr


def test_check() -> None:
    done = execute(["crasp", "check", "tomita-4", "--max-length", "30", "--samples", "4"])
    assert done.code == 0, done.stderr
    assert "interpreters and weights agree on every line at every position" in done.stdout
    report = json.loads(execute(["crasp", "check", "abab", "--max-length", "9", "--json"]).stdout)
    assert report["agree"] is True
    assert report["longest"] == 9


def test_positions_shows_what_local_heads_prefer(tmp_path: Path) -> None:
    form = ["--form", "absolute", "--max-length", "40"]
    assert execute(["crasp", "compile", "tomita-4", *form, "-o", "model"], tmp_path).code == 0
    heads = json.loads(execute(["crasp", "positions", "model", "--json"], tmp_path).stdout)
    local = [head for head in heads if head["description"].startswith("prefers")]
    assert {head["description"] for head in local} == {"prefers i - 1", "prefers i - 2"}
    assert all(head["limit"] < 1e-3 for head in heads)
    assert "prefers i - 2" in execute(["crasp", "positions", "model"], tmp_path).stdout


def test_positions_refuses_a_model_without_a_table(tmp_path: Path) -> None:
    assert execute(["crasp", "compile", "dyck-1", "-o", "model"], tmp_path).code == 0
    done = execute(["crasp", "positions", "model"], tmp_path)
    assert (done.code, "no table of positions" in done.stderr) == (2, True)


@pytest.mark.parametrize("form", ["offsets", "layernorm"])
def test_check_compares_the_weights_of_a_folder(form: str, tmp_path: Path) -> None:
    compiling = ["crasp", "compile", "dyck-1", "-o", "dyck", "--max-length", "20", "--form", form]
    assert execute(compiling, tmp_path).code == 0
    compared = execute(["crasp", "equal", "dyck", "dyck-1", "--json"], tmp_path)
    assert json.loads(compared.stdout)["equal"] is True
    check = ["crasp", "check", "dyck", "--json"]
    assert json.loads(execute(check, tmp_path).stdout)["agree"] is True
    file = tmp_path / "dyck" / "model.safetensors"
    weights = load_file(file)
    weights["layers.1.feed_forward.biases.0"] -= 2
    save_file(weights, file)
    changed = execute(check, tmp_path)
    assert changed.code == 1
    assert json.loads(changed.stdout)["agree"] is False
