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
