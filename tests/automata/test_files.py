"""Automata as files: both ways, and errors that name the file, the state and the letter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from weft.automata import LANGUAGES, read_automaton, write_automaton
from weft.errors import WeftError

GOOD: dict[str, Any] = {
    "alphabet": ["a", "b"],
    "start": "even",
    "accepting": ["even"],
    "transitions": {"even": {"a": "odd", "b": "even"}, "odd": {"a": "even", "b": "odd"}},
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_file_holds_the_automaton(name: str, tmp_path: Path) -> None:
    dfa = LANGUAGES[name].dfa
    write_automaton(dfa, tmp_path / "dfa.json")
    assert read_automaton(tmp_path / "dfa.json") == dfa


def test_states_have_any_names(tmp_path: Path) -> None:
    (tmp_path / "even.json").write_text(json.dumps(GOOD))
    dfa = read_automaton(tmp_path / "even.json")
    assert dfa.accepts("abab")
    assert not dfa.accepts("abb")


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"transitions": {"even": {"a": "even"}}}, "'even' has no transition for the letter 'b'"),
        ({"transitions": {"even": {"a": "x", "b": "even"}}}, "there is no state 'x'"),
        ({"transitions": {"even": {"a": "even", "b": "even", "c": "even"}}}, "for 'c', which is"),
        ({"transitions": []}, "object of objects"),
        ({"transitions": {}}, "no state 'even'"),
        ({"start": None}, "there is no state None"),
        ({"accepting": "even"}, "'accepting' must be a list"),
        ({"alphabet": [1]}, "must be a string"),
        ({"alphabet": ["a", "b", "a"]}, "all different"),
    ],
)
def test_a_bad_file_is_refused(change: dict[str, Any], part: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(WeftError) as caught:
        read_automaton(path)
    assert part in str(caught.value)
    assert "bad.json" in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", "3", '{"alphabet": ["a"]}'])
def test_what_is_not_an_automaton_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(WeftError, match=r"bad\.json"):
        read_automaton(tmp_path / "bad.json")
