"""SCAN's grammar: against a reading of the paper by hand, and the published file."""

from __future__ import annotations

import pytest

from scan_files import folder
from weft.errors import WeftError
from weft.programs.scan.grammar import ACTIONS, WORDS, meaning, meanings
from weft.programs.scan.splits import read_examples


def acted(command: str) -> list[str]:
    """What a command means, said by hand once more: word by word, without rules."""
    for joint in (" and ", " after "):
        if joint in command:
            left, right = map(acted, command.split(joint))
            return left + right if joint == " and " else right + left
    verb, *others = command.split()
    times = {"twice": 2, "thrice": 3}.get(others[-1] if others else "", 1)
    deed = [] if verb == "turn" else [f"I_{verb.upper()}"]
    for side in ("left", "right"):
        if side in others:
            turn = [f"I_TURN_{side.upper()}"]
            once = turn + deed
            deed = once * 4 if "around" in others else turn * ("opposite" in others) + once
    return deed * times


def test_it_generates_the_language_with_its_meanings() -> None:
    assert len(meanings()) == 20_910
    assert {command: tuple(acted(command)) for command in meanings()} == meanings()


def test_its_sizes_are_those_of_the_paper() -> None:
    assert len(WORDS) == 13
    assert len(ACTIONS) == 6
    assert {len(command.split()) for command in meanings()} == set(range(1, 10))
    assert max(map(len, meanings().values())) == 48
    counts = {kind: len(meanings(kind)) for kind in ("SENTENCE", "PHRASE", "DIRECTED", "VERB")}
    assert counts == {"SENTENCE": 102, "PHRASE": 34, "DIRECTED": 30, "VERB": 4}


@pytest.mark.parametrize(
    ("command", "actions"),
    [
        ("jump", "I_JUMP"),
        ("jump left", "I_TURN_LEFT I_JUMP"),
        ("turn left twice", "I_TURN_LEFT I_TURN_LEFT"),
        ("jump thrice", "I_JUMP I_JUMP I_JUMP"),
        ("jump opposite left and walk thrice", "I_TURN_LEFT I_TURN_LEFT I_JUMP" + " I_WALK" * 3),
        ("walk after run right", "I_TURN_RIGHT I_RUN I_WALK"),
        ("look around right", "I_TURN_RIGHT I_LOOK " * 4),
    ],
)
def test_examples_of_the_paper(command: str, actions: str) -> None:
    assert meaning(command) == tuple(actions.split())


@pytest.mark.parametrize(
    "text", ["", "turn", "left", "jump and", "jump twice twice", "jump left left", "a and b"]
)
def test_what_is_no_command_is_refused(text: str) -> None:
    with pytest.raises(WeftError, match=r"not a (command|word) of SCAN"):
        meaning(text)


def test_a_misspelt_word_is_named() -> None:
    with pytest.raises(WeftError, match=r"'jmup' is not a word of SCAN\. Did you mean 'jump'"):
        meaning("jmup twice")


def test_every_published_line_is_generated(capfd: pytest.CaptureFixture[str]) -> None:
    published = folder("WEFT_SCAN", capfd)
    lines = read_examples(published / "tasks.txt")
    assert len(lines) == len(meanings())
    assert [(command, meanings().get(command)) for command, _ in lines] == lines
