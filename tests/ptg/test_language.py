from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from random_source import random_source

from weft.errors import WeftError
from weft.ptg.first_errors import CATEGORIES, first_error
from weft.ptg.interpreter import run
from weft.ptg.language import GRAMMAR, KINDS, PAPER, RICH, Language, Limits
from weft.ptg.lines import TRACED, lines_of
from weft.ptg.parser import parse
from weft.ptg.tracing import TraceFormat, trace_text

PAGE = (Path(__file__).parents[2] / "docs" / "ptg.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"depth": 0}, "depth is 0"),
        ({"depth": 10}, "depth is 10"),
        ({"depth": True}, "depth is True"),
        ({"addend": 0}, "addend is 0"),
        ({"literal": 10**6}, "literal is 1,000,000"),
        ({"trips": -1}, "trips is -1"),
        ({"multiplication": 1}, "multiplication is 1"),
    ],
)
def test_options_have_bounds(options: dict[str, Any], what: str) -> None:
    with pytest.raises(WeftError, match=re.escape(what)):
        Language(**options)


def test_limits_have_bounds() -> None:
    for options in ({"steps": 0}, {"list_length": -1}, {"value": 10**16}):
        with pytest.raises(WeftError):
            Limits(**options)


def test_every_rule_of_the_grammar_is_defined_and_used() -> None:
    named = set()
    for definition in GRAMMAR.values():
        plain = re.sub(r'"[^"]*"', "", definition.partition(", ")[0])
        named |= set(re.findall(r"\b[a-z_]{2,}\b", plain))
    prose = {"digits", "without", "leading", "zeros", "counted", "one", "two", "loops", "and", "to"}
    assert named - prose - {"in", "deeper"} <= set(GRAMMAR)
    assert set(GRAMMAR) - named <= {"program"}


def test_the_page_has_every_option_and_category() -> None:
    for option in (*fields(Language), *fields(TraceFormat)):
        default = str(option.default).lower()
        assert re.search(rf"^\| `{option.name}` \| {default} \|", PAGE, re.MULTILINE), option.name
    for category in CATEGORIES:
        assert re.search(rf"^\| {category} \| ", PAGE, re.MULTILINE), category
    for name, value in {"steps": Limits().steps, "values": Limits().value}.items():
        assert f"({value:,})" in PAGE, name


def test_the_examples_of_categories_on_the_page() -> None:
    found = re.search(r"# countdown.py\n(def f.*?return\n)", PAGE, re.DOTALL)
    assert found is not None
    program, inputs = parse(found[1]), {"a": 3, "lst_a": [0, 9]}
    trace = run(program, inputs)
    seen = set()
    for category, examples in re.findall(r"^\| (\w[\w ]+) \| .+ \| (`L.*|`6 L.*) \|$", PAGE, re.M):
        form = TraceFormat(step_index=category == "wrong step")
        right = trace_text(trace, form)
        for example in re.findall(r"`([^`]+)`", examples):
            line = "L7,lst_a:[0,9,2]\n" if category.startswith("list") else "L6,a:2\n"
            line = "5 L6,a:2\n" if form.step_index else line
            before, _, after = right.partition(line)
            assert after
            written = before + example + ("" if category == "early end" else f"\n{after}")
            if category == "late end":
                written = right + example
            error = first_error(program, inputs, trace, written, form)
            assert error is not None
            assert error.category == category
            seen.add(category)
    assert seen == set(CATEGORIES)


def test_lines_cover_the_source_and_jumps_lead_to_lines_that_are_executed() -> None:
    for seed in range(200):
        source, _, _ = random_source(seed)
        lines = lines_of(parse(source, RICH))
        assert len(lines) == source.count("\n")
        for line in lines:
            if line.kind in ("comment", "else", "return"):
                assert line.next == line.otherwise == 0
                continue
            targets = [line.next, *([line.otherwise] if line.kind in ("if", "while") else [])]
            assert all(lines[target - 1].kind in TRACED for target in targets)
            assert (line.kind in ("if", "while")) == bool(line.otherwise)


def test_names_have_one_kind() -> None:
    assert len(KINDS) == 26 * 3 + 9
    assert Language() == PAPER
