"""`weft prove` on models of C-RASP programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import weft

PROGRAM = """\
alphabet a b
bad := Q_a and previous Q_a
accept := # bad == 0 and not Q_a
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "mine.crasp").write_text(PROGRAM)
    model = str(tmp_path / "model")
    weft("crasp", "compile", str(tmp_path / "mine.crasp"), "-o", model, "--max-length", "60")
    return model


def test_a_model_is_proved_against_its_own_program(folder: str) -> None:
    said = weft("prove", folder)
    assert "proved for words of up to 60 symbols (2 lines, 1 compared quantity, " in said
    assert "trusted: the meaning of the program" in said
    found = json.loads(weft("prove", folder, "--json", "--strict"))
    assert found["proved"]
    assert found["lines"] == 2
    assert not found["excluded"]
    assert "proved for words of up to 60 symbols (2 lines" in (Path(folder) / "card.md").read_text()


def test_a_model_is_proved_against_another_program(folder: str, tmp_path: Path) -> None:
    other = tmp_path / "other.crasp"
    other.write_text(PROGRAM.replace("# bad == 0 and", "not exists bad and"))
    card = (Path(folder) / "card.md").read_text()
    assert "proved for words of up to 60 symbols" in weft("prove", folder, str(other))
    other.write_text(PROGRAM.replace("Q_a and previous Q_a", "Q_b and previous Q_b"))
    said = weft("prove", folder, str(other), code=1)
    assert "wrong: the line 'bad' at position 2 on the word 'aa'" in said
    assert "the weights give 1, the program 0" in said
    assert (Path(folder) / "card.md").read_text() == card  # it speaks of its own program alone
    assert "the alphabet of dyck-1 is not that of the model" in weft(
        "prove", folder, "dyck-1", code=2
    )


def test_a_config_that_claims_more_is_found_out(folder: str) -> None:
    file = Path(folder) / "config.json"
    original = json.loads(file.read_text())
    longer = json.loads(file.read_text())
    longer["config"]["max_length"] = 1501
    longer["text"]["longest"] = 1500
    file.write_text(json.dumps(longer))
    found = json.loads(weft("prove", folder, "--json", code=1))
    assert found["unclear_comparison"] == "#[j <= i] bad(j) == 0"
    assert found["unclear_from"] > 60
    assert found["proved_to"] == found["unclear_from"] - 1
    assert found["verdict"] == "wrong"
    assert len(found["word"]) > 60
    classes = {**original, "text": {**original["text"], "classes": ["accept", "reject"]}}
    file.write_text(json.dumps(classes))
    found = json.loads(weft("prove", folder, "--json", code=1))
    assert found["reason"] == "in config.json, text.classes is not that of the program"
    joined = {**original, "text": {**original["text"], "spaced": False}}
    file.write_text(json.dumps(joined))
    assert "text.spaced" in json.loads(weft("prove", folder, "--json", code=1))["reason"]


def test_another_program_is_for_models_of_crasp_programs_alone(tmp_path: Path) -> None:
    weft("compile", "parity", "-o", str(tmp_path / "parity"))
    said = weft("prove", str(tmp_path / "parity"), "dyck-1", code=2)
    assert "is not a C-RASP model" in said
