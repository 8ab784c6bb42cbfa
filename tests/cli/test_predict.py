"""`weft predict`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import execute


def test_one_screen_for_a_language() -> None:
    done = execute(["predict", "(ab|aabb)*"])
    assert done.code == 0
    assert len(done.stdout.splitlines()) <= 30
    assert "no positions: no (proved)" in done.stdout
    assert "learned absolute positions: yes (proved)" in done.stdout
    assert "star-free says yes where C-RASP says no" in done.stdout


def test_json_holds_everything() -> None:
    found = json.loads(execute(["predict", "tomita-4", "--json"]).stdout)
    (membership, legal) = found["length"]["readings"]
    assert membership["none"]["verdict"] == "no"
    assert membership["absolute"]["certificate"]["kind"] == "program"
    assert legal["question"] == "legal next symbols"
    assert found["arithmetic"] is None


def test_letters_in_colons_are_printed_as_they_are() -> None:
    assert "re:a:" in execute(["predict", "re:a"]).stdout


def test_certificates_are_written_and_checked(tmp_path: Path) -> None:
    assert execute(["predict", "abab", "--out", "abab.json"], tmp_path).code == 0
    done = execute(["predict", "--check", "abab.json"], tmp_path)
    assert done.code == 0
    assert done.stdout.count("holds:") == 2
    assert execute(["predict", "(abab)*", "--check", "abab.json"], tmp_path).code == 0
    assert execute(["predict", "(ab)*", "--check", "abab.json"], tmp_path).code == 2
    data = json.loads((tmp_path / "abab.json").read_text())
    data["readings"][0]["none"]["verdict"] = "yes"
    (tmp_path / "forged.json").write_text(json.dumps(data))
    forged = execute(["predict", "--check", "forged.json"], tmp_path)
    assert forged.code == 1
    assert "DOES NOT HOLD" in forged.stdout


def test_programs_and_details() -> None:
    shown = execute(["predict", "(aa)*", "--program", "--details"]).stdout
    assert "accept :=" in shown
    assert "= 1 times the cycle 'aa' at state 0" in shown


def test_functions_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def even(word):\n    return word.count('a') % 2 == 0\n"
        "def broken(word):\n    return 1 / word.count('b')\n"
        "def fickle(word, seen=[]):\n    seen.append(word)\n    return len(seen) % 2 == 0\n"
    )
    done = execute(["predict", "mine.py:even", "--alphabet", "ab", "--max-length", "6"], tmp_path)
    assert done.code == 0
    assert "no positions: no" in done.stdout
    for name in ("broken", "fickle"):
        bad = execute(["predict", f"mine.py:{name}", "--alphabet", "ab"], tmp_path)
        assert (bad.code, len(bad.stderr.splitlines())) == (2, 1), name


def test_what_a_function_prints_is_no_part_of_the_output(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(
        "print('imported')\ndef even(word):\n    print(word)\n    return len(word) % 2 == 0\n"
    )
    arguments = ["predict", "loud.py:even", "--alphabet", "a", "--max-length", "4", "--json"]
    done = execute(arguments, tmp_path)
    assert json.loads(done.stdout)["length"]["readings"][0]["absolute"]["verdict"] == "yes"
    assert "imported" in done.stderr


def test_a_parameter_of_a_task_may_be_called_alphabet() -> None:
    assert execute(["predict", "sorting", "alphabet=200"]).code == 0


def test_tasks_are_answered_by_reading() -> None:
    done = execute(["predict", "sorting"])
    assert done.code == 0
    assert "growing alphabet" in done.stdout


def test_arithmetic_tasks() -> None:
    done = execute(["predict", "modular-addition", "modulus=150", "digits=4"])
    assert done.code == 0
    assert "33.3" in done.stdout


def test_minimal_programs() -> None:
    done = execute(["predict", "parity", "--train", "length<=4", "--test", "length=5..6"])
    assert done.code == 0
    assert "minimal program" in done.stdout


def test_communication_and_protocol() -> None:
    table = execute(["predict", "(aa)*", "--communication"]).stdout
    assert "communication: consistent" in table
    table = execute(["predict", "crasp:majority", "--communication"]).stdout
    assert "communication: certified" in table
    shown = execute(["predict", "crasp:majority", "--protocol"]).stdout
    assert "N = 512" in shown
    assert "NOT EXACT" not in shown


def test_the_list_of_languages() -> None:
    rows = json.loads(execute(["predict", "--list", "--json"]).stdout)
    assert {"name": "tomita-4", "none": "no", "absolute": "yes"}.items() <= rows[2].items()
    assert "tomita-4" in execute(["predict", "--list"]).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["(ab"],
        ["tomita4"],
        ["nothere.json"],
        ["tomita-4", "length=3"],
        ["tomita-4", "--alphabet", "ab"],
        ["tomita-4", "--encoding", "rotary"],
        ["tomita-4", "--protocol"],
        ["sorting", "--communication"],
        ["tomita-4", "--test", "length=3"],
        ["--check", "nothere.json"],
        ["sorting", "--check", "nothere.json"],
        ["tomita-4", "--out", "nosuchfolder/x.json"],
        ["scan", "--out", "x.json"],
        ["mine.py:f", "--alphabet", "ab"],
        ["modular-addition", "modulus=1", "digits=3"],
        ["parity", "nosuch=3", "--train", "length<=3"],
    ],
)
def test_bad_input_is_one_line(arguments: list[str], tmp_path: Path) -> None:
    done = execute(["predict", *arguments], tmp_path)
    assert done.code == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert "bug" not in done.stderr
    assert not list(tmp_path.iterdir())
