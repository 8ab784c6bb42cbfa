"""`weft regulariser` on folders and on programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import execute


def test_terms_of_a_folder_and_growth_of_a_program(tmp_path: Path) -> None:
    arguments = ["crasp", "compile", "tomita-4", "--form", "absolute", "--max-length", "20"]
    assert execute([*arguments, "-o", "t4"], tmp_path).code == 0
    terms = json.loads(execute(["regulariser", "t4", "--json"], tmp_path).stdout)
    assert (terms["layers"], terms["heads"], terms["position"]) == (2, 3, 131072.0)
    shown = execute(["regulariser", "t4"], tmp_path)
    assert "position norm" in shown.stdout
    grown = json.loads(
        execute(["regulariser", "t4", "--lengths", "16,32", "--json"], tmp_path).stdout
    )
    assert set(grown["terms"]) == {"16", "32"}
    assert grown["growth"]["position"] == "bounded"


@pytest.mark.parametrize(
    "arguments", [["nosuch"], ["tomita-4", "--lengths", "x"], ["tomita-4", "--lengths", "0"]]
)
def test_bad_input_is_one_line(arguments: list[str]) -> None:
    done = execute(["regulariser", *arguments])
    assert done.code == 2
    assert len(done.stderr.splitlines()) == 1


def test_every_term_of_a_trained_run_is_shown(tmp_path: Path) -> None:
    settings = [
        "steps=2", "batch=4", "evaluation.size=4", "parameters.length=12", "parameters.longer=16",
        "parameters.longest=20", "model.layers=2", "model.heads=2", "model.width=8",
        "model.hidden=8", "model.position=learned", "model.positions=23",
    ]  # fmt: skip
    done = execute(["train", "binary-majority", *settings, "--device", "cpu"], tmp_path)
    assert done.code == 0, done.stderr
    [run] = (tmp_path / "runs").iterdir()
    shown = execute(["regulariser", run.name[:6]], tmp_path).stdout
    values = json.loads(execute(["regulariser", f"runs/{run.name}", "--json"], tmp_path).stdout)
    terms = ("layers", "heads", "precision", "rank", "norm", "position norm", "position", "R")
    for term in terms:
        key = "total" if term == "R" else term.replace(" ", "_")
        assert any(line.startswith(f"{term}  ") for line in shown.splitlines()), term
        assert values[key] is not None
    parts = [term.replace(" ", "_") for term in terms[:-1]]
    assert values["total"] == pytest.approx(sum(values[part] for part in parts))
