"""Prompts state what they should, and answers are graded exactly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.recursion import Notation, decode_term, definition, recursion_depth
from weft.tasks.recursion.prompts import (
    Prompt,
    PromptSettings,
    grade,
    prompts,
    read_answers,
    read_prompts,
    write_prompts,
)


def blocks(text: str) -> list[tuple[str, list[str]]]:
    """The inputs of a prompt with the lines after `output:`."""
    found = []
    for part in text.split("input: ")[1:]:
        first, *lines = part.splitlines()
        assert lines[0] == "output:"
        found.append((first, [line for line in lines[1:] if line]))
    return found


@pytest.mark.parametrize("order", ["constructor", "natural"])
def test_demonstrations_are_right_and_never_the_question(order: str) -> None:
    function = definition("successor")
    kind, notation = function.result, Notation(order=order)  # type: ignore[arg-type]
    settings = PromptSettings(order=order, demonstrations=3, depths=(1, 3), per_depth=4)  # type: ignore[arg-type]
    for each in prompts(settings):
        *shown, (question, nothing) = blocks(each.prompt)
        assert nothing == []
        assert len(shown) == 3
        for text, lines in [*shown, (question, list(each.expected))]:
            term = decode_term(text.split(), kind, notation)
            answer = decode_term(lines[0].split(), kind, notation)
            assert function(term) == answer
            assert text != question or lines == list(each.expected)
        assert question not in [text for text, _ in shown]
        asked = decode_term(question.split(), kind, notation)
        assert recursion_depth(function, asked) == each.depth
    assert list(prompts(settings)) == list(prompts(settings))


def test_the_definition_is_stated_if_it_is_wanted() -> None:
    settings = PromptSettings(definition="in-order", demonstrations=0, with_definition=True,
                              ask="trace", depths=(2, 3), sizes=(2, 5), per_depth=2,
                              notation="flat")  # fmt: skip
    for each in prompts(settings):
        for equation in definition("in-order").equations:
            assert str(equation) in each.prompt
        assert "append Nil right = right" in each.prompt
        assert len(each.expected) == 2 * each.size + 1
    plain = next(prompts(PromptSettings()))
    assert "successor" not in plain.prompt


def asked(number: int, *expected: str, ask: str = "value", depth: int = 1) -> Prompt:
    return Prompt(id=number, prompt="?", expected=expected, depth=depth, size=2, demonstrations=1,
                  with_definition=False, ask=ask, definition="successor")  # type: ignore[arg-type]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("XO 01", 0),
        ("  XO   01\n\n", 0),
        ("Let me think.\noutput: XO 01", 0),
        ("= XO 01", 0),
        ("XO 01 01", 1),
        ("xo 01", 1),
        ("XO 01\nis the answer", 1),
        ("", 1),
    ],
)
def test_values_are_graded_by_their_last_line(answer: str, error: int) -> None:
    assert grade([asked(0, "XO 01")], {0: answer}).first_error == (error,)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("XO s 01\nXO XO 01", 0),
        ("=> XO s 01\n\n=> XO XO 01\n", 0),
        ("XO s 01", 2),
        ("XO s 01\nXO XO 01\nXO XO 01", 3),
        ("XO XO 01", 1),
        ("", 1),
    ],
)
def test_traces_are_graded_line_by_line(answer: str, error: int) -> None:
    prompt = asked(0, "XO s 01", "XO XO 01", ask="trace")
    assert grade([prompt], {0: answer}).first_error == (error,)


def test_grades_by_depth_count_only_what_was_answered() -> None:
    several = [asked(n, "01", depth=n % 2) for n in range(6)]
    grades = grade(several, {0: "01", 1: "XO", 2: "XO", 3: "01", 4: "01"})
    assert grades.missing == 1
    assert {d: (s.right, s.count) for d, s in grades.by_depth().items()} == {0: (2, 3), 1: (1, 2)}
    assert (grades.share.right, grades.share.count) == (3, 5)


def test_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    settings = PromptSettings(depths=(0, 1), per_depth=2)
    assert write_prompts(settings, file) == 4
    assert read_prompts(file) == list(prompts(settings))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1: this is not a JSON object"),
        ("[1]", "line 1: this is not a JSON object"),
        ('{"id": 0}', "this is not an answer"),
        ('{"id": "x", "answer": "01"}', "this is not an answer"),
        ('{"id": 0, "answer": "01"}\n{"id": 0, "answer": "XO"}', "line 2: the prompt 0 has"),
        ('{"id": 9, "answer": "01"}', "there is no prompt 9"),
        ("", "no prompt has an answer"),
    ],
)
def test_files_of_answers_that_are_wrong(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(text)
    with pytest.raises(WeftError, match=said):
        grade([asked(0, "01")], read_answers(file))
    file.write_text(json.dumps({"id": 0}))
    with pytest.raises(WeftError, match="this is not a prompt"):
        read_prompts(file)
