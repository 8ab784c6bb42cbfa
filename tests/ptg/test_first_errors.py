from __future__ import annotations

import ast
import random
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import walk
from random_source import random_source

from weft.errors import WeftError
from weft.ptg.first_errors import CATEGORIES, first_error, read_trace_line
from weft.ptg.interpreter import run
from weft.ptg.language import RICH, Limits
from weft.ptg.parser import parse
from weft.ptg.tracing import L0_BENCH, TraceFormat, final_text, step_text, trace_text

SOURCE = """def f(u,w,lst_s):
	u = u - 1
	lst_s.append(u)
	cnt = 0
	cond_l = cnt != 2
	while cond_l:
		w = u
		u = u + 1
		cnt = cnt + 1
		cond_l = cnt != 2
	w = lst_s[1]
	lst_s.pop()
	return
"""
INPUTS = {"u": 3, "w": 7, "lst_s": [0, 9]}
TRACE = """L2,u:2
L3,lst_s:[0,9,2]
L4,cnt:0
L5,cond_l:True
L6,
L7,w:2
L8,u:3
L9,cnt:1
L10,cond_l:True
L6,
L7,w:3
L8,u:4
L9,cnt:2
L10,cond_l:False
L6,
L11,w:9
L12,lst_s:[0,9]
L13,
"""
FORMATS = [
    L0_BENCH,
    TraceFormat(step_index=True),
    TraceFormat(reversed_digits=True),
    TraceFormat(first_label=90),
    TraceFormat(answer=True),
    TraceFormat(answer=True, reversed_digits=True),
]


def judge(written: str, form: TraceFormat = L0_BENCH) -> Any:
    program = parse(SOURCE)
    return first_error(program, INPUTS, run(program, INPUTS), written, form)


def test_the_right_trace_has_no_error() -> None:
    assert judge(TRACE) is None


@pytest.mark.parametrize(
    ("step", "line", "category", "kind", "column"),
    [
        (1, "L2,u:1", "off by one", "sum", 5),
        (1, "L2,u:3", "stale value", "sum", 5),  # the value before; off by one, too
        (1, "L2,u:4", "other value", "sum", 5),
        (1, "L2,u:-2", "other value", "sum", 5),
        (1, "L2,u:20", "other value", "sum", 6),
        (1, "L2,w:2", "wrong variable", "sum", 3),
        (1, "L2,cnt:2", "wrong variable", "sum", 3),
        (1, "L2,", "wrong variable", "sum", 3),
        (1, "L3,u:2", "wrong line", "sum", 1),
        (1, "L20,u:2", "wrong line", "sum", 2),
        (1, "L02,u:2", "malformed", "sum", 1),
        (1, "L2 u:2", "malformed", "sum", 2),
        (1, "L2,u:02", "malformed", "sum", 5),
        (1, "L2,u:-0", "malformed", "sum", 5),
        (1, "L2,u:\u0662", "malformed", "sum", 5),
        (1, "L2,u:True", "malformed", "sum", 5),
        (1, "L2,u:[2]", "malformed", "sum", 5),
        (1, "L2,u:", "malformed", "sum", 5),
        (1, "L2,v_u:2", "malformed", "sum", 3),
        (1, "1 L2,u:2", "malformed", "sum", 0),
        (1, "", "malformed", "sum", 0),
        (1, "L2,u:" + "9" * 5000, "malformed", "sum", 5),
        (2, "L3,lst_s:[0,9]", "list length", "append", 13),
        (2, "L3,lst_s:[0,9,2,2]", "list length", "append", 15),
        (2, "L3,lst_s:[]", "list length", "append", 10),
        (2, "L3,lst_s:[0,9,3]", "list element", "append", 14),
        (2, "L3,lst_s:[1,9,2]", "list element", "append", 10),
        (2, "L3,lst_s:[0,9,]", "malformed", "append", 14),
        (2, "L3,lst_s:2", "malformed", "append", 9),
        (2, "L3,lst_t:[0,9,2]", "wrong variable", "append", 7),
        (3, "L4,cnt:1", "off by one", "counter start", 7),
        (5, "L7,w:2", "wrong line", "while", 1),
        (5, "L6,w:2", "wrong variable", "while", 3),
        (5, "L6", "malformed", "while", 2),
        (6, "L7,w:3", "stale value", "copy", 5),  # u before line 2
        (6, "L7,w:7", "stale value", "copy", 5),  # w before
        (6, "L7,w:1", "off by one", "copy", 5),
        (6, "L7,w:0", "other value", "copy", 5),
        (7, "L8,u:4", "stale value", "sum", 5),  # the first value of u, plus one
        (8, "L9,cnt:0", "stale value", "counter step", 7),
        (8, "L9,cnt:2", "off by one", "counter step", 7),
        (9, "L10,cond_l:False", "other value", "loop test", 11),
        (14, "L10,cond_l:True", "stale value", "loop test", 11),
        (16, "L11,w:8", "off by one", "item", 6),
        (16, "L11,w:7", "stale value", "item", 6),
        (16, "L11,w:0", "other value", "item", 6),
        (17, "L12,lst_s:[0,9,2]", "list length", "pop", 14),
        (18, "L14,", "wrong line", "return", 2),
    ],
)
def test_every_category_by_example(
    step: int, line: str, category: str, kind: str, column: int
) -> None:
    lines = TRACE.splitlines()
    lines[step - 1] = line
    for rest in (lines[step:], ["L1,what:ever"], []):
        error = judge("".join(f"{row}\n" for row in [*lines[:step], *rest]))
        assert (error.category, error.kind, error.step) == (category, kind, step)
        assert error.column == column
        assert (error.expected, error.written) == (TRACE.splitlines()[step - 1], line)
        assert error.line == int(re.sub(r"\D", " ", error.expected).split()[0])


def test_a_trace_that_is_cut_off_ends_early() -> None:
    for length in range(len(TRACE)):
        error = judge(TRACE[:length])
        assert error.category == "early end"
        assert error.step == TRACE[:length].count("\n") + 1
        assert error.written == TRACE[:length].split("\n")[-1]


def test_a_trace_that_goes_on_ends_late() -> None:
    for more in ("\n", "L13,\n", "L2,u:2\n", "x"):
        error = judge(TRACE + more)
        assert (error.category, error.kind, error.step) == ("late end", "return", 19)
        assert (error.expected, error.written) == ("", more.strip("\n"))


def test_a_last_line_without_a_line_break_is_judged_as_it_stands() -> None:
    assert judge("L2,u:3").category == "stale value"
    assert judge("L2,w").category == "malformed"


def test_formats() -> None:
    program = parse("def f(a):\n\ta = a - 1\n\tb = 1\n\treturn\n")
    inputs = {"a": -11}
    trace = run(program, inputs)

    def category(written: str, **options: Any) -> str:
        error = first_error(program, inputs, trace, written, TraceFormat(**options))
        return error.category if error else "right"

    assert category("1 L2,a:-12\n2 L3,b:1\n3 L4,\n", step_index=True) == "right"
    assert category("1 L2,a:-12\n3 L3,b:1\n", step_index=True) == "wrong step"
    assert category("1 L2,a:-12\nL3,b:1\n", step_index=True) == "malformed"
    assert category("01 L2,a:-12\n", step_index=True) == "malformed"
    assert category("L2,a:-21\nL3,b:1\nL4,\n", reversed_digits=True) == "right"
    assert category("L2,a:-12\n", reversed_digits=True) == "other value"
    assert category("L2,a:-31\n", reversed_digits=True) == "off by one"
    assert category("L2,a:-11\n", reversed_digits=True) == "stale value"
    assert category("L2,a:-20\n", reversed_digits=True) == "malformed"
    assert category("L8,a:-12\nL9,b:1\nL10,\n", first_label=7) == "right"
    assert category("L2,a:-12\n", first_label=7) == "wrong line"
    assert category("a:-12\nb:1\n", answer=True) == "right"
    assert category("a:-11\n", answer=True) == "stale value"
    assert category("a:-13\n", answer=True) == "off by one"
    assert category("b:1\n", answer=True) == "wrong variable"
    assert category("L2,a:-12\n", answer=True) == "malformed"
    assert category("a:-12\n", answer=True) == "early end"
    assert category("a:-12\nb:1\nb:1\n", answer=True) == "late end"


def test_the_kind_in_the_format_without_a_trace() -> None:
    error = judge("u:4\nw:0\n", TraceFormat(answer=True))
    assert (error.category, error.kind, error.line, error.step) == (
        "other value",
        "final state",
        0,
        2,
    )


# Every wrong text has exactly one category, by definitions that are written again


def value_of(text: str) -> Any:
    return ast.literal_eval(text)


def holds(category: str, source: str, inputs: dict[str, Any], written: str, index: bool) -> bool:
    """Whether a text that is not the trace has a category, by the definition in docs/ptg.md."""
    trace = walk(source, inputs, 400).trace
    numbers = [f"{number} " if index else "" for number in range(1, len(trace) + 1)]
    right = "".join(f"{number}{line}\n" for number, line in zip(numbers, trace, strict=True))
    if category == "early end":
        return right.startswith(written)
    if category == "late end":
        return written.startswith(right)
    if right.startswith(written) or written.startswith(right):
        return False
    pairs = list(zip(right.split("\n"), written.split("\n"), strict=False))
    step = next(number for number, (a, b) in enumerate(pairs) if a != b)
    expected, line = pairs[step]
    integer = r"(?:0|-?[1-9]\d*)"
    kinds = [rf"[a-z]:{integer}", r"cond_[a-z]:(True|False)", rf"cnt(_[2-9])?:{integer}"]
    kinds += [rf"lst_[a-z]:\[({integer}(,{integer})*)?\]"]
    number = r"(0|[1-9]\d*) " if index else "()"
    readable = re.fullmatch(rf"{number}L(0|[1-9]\d*),({'|'.join(kinds)})?", line, re.ASCII)
    if category == "malformed":
        return not readable
    if not readable:
        return False
    wrong_step = index and readable[1] != numbers[step].strip()
    if category == "wrong step" or wrong_step:
        return category == "wrong step" and wrong_step
    line, expected = line.removeprefix(numbers[step]), expected.removeprefix(numbers[step])
    (label, rest), (right_label, right_rest) = line.split(",", 1), expected.split(",", 1)
    if category == "wrong line" or label != right_label:
        return category == "wrong line" and label != right_label
    name, right_name = rest.split(":")[0], right_rest.split(":")[0]
    if category == "wrong variable" or name != right_name:
        return category == "wrong variable" and name != right_name
    value, right_value = value_of(rest.split(":")[1]), value_of(right_rest.split(":")[1])
    if isinstance(value, list):
        same = len(value) == len(right_value)
        return category == ("list element" if same else "list length")
    stale = value in earlier(source, inputs, trace[:step], int(label[1:]), name)
    if category == "stale value" or stale:
        return category == "stale value" and stale
    close = not isinstance(value, bool) and abs(value - right_value) == 1
    return category == ("off by one" if close else "other value")


def earlier(
    source: str, inputs: dict[str, Any], past: list[str], line: int, name: str
) -> list[Any]:
    """The values that count as stale, by evaluating the line in Python."""
    history = {key: [value] for key, value in inputs.items()}
    for row in past:
        _, written = row.split(",", 1)
        if written:
            key, value = written.split(":")
            history.setdefault(key, []).append(value_of(value))
    if name.startswith("cond_"):
        return history.get(name, [])[-1:]
    result = list(history.get(name, []))
    code = source.split("\n")[line - 1].strip().split(" = ")[1]
    now = {key: values[-1] for key, values in history.items()}
    for key, values in history.items():
        if not re.search(rf"\b{key}\b", code):
            continue
        for value in values[:-1]:
            state = {**now, key: value}
            item = re.fullmatch(r"(\w+)\[(\w+)\]", code)
            if item and eval(item[2], {}, state) < 0:
                continue  # the language has no negative indices
            try:
                result.append(eval(code, {"len": len}, state))
            except IndexError:
                continue
    return result


def corrupted(text: str, rng: random.Random) -> str:
    """A text with one to three edits, which need not differ from it."""
    rows = text.split("\n")
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.randrange(len(rows))
        edit = rng.randrange(9)
        if edit == 0:
            rows = rows[:at]
        elif edit == 1:
            rows[at:at] = [rng.choice(rows or [""])]
        elif edit == 2:
            rows[at : at + 1] = []
        elif edit == 3 and re.search(r"\d", rows[at]):
            found = rng.choice(list(re.finditer(r"-?\d+", rows[at])))
            number = int(found[0]) + rng.choice([-2, -1, 1, 2])
            rows[at] = f"{rows[at][: found.start()]}{number}{rows[at][found.end() :]}"
        elif edit == 4:
            rows[at] = rng.choice(rows)
        elif edit == 5:
            rows[at] = rows[at].replace("True", "x").replace("False", "True").replace("x", "False")
        elif edit == 6:
            rows[at] = re.sub(r"\b[a-z](?=:)", rng.choice("abcxyz"), rows[at])
        elif edit == 7:
            rows[at] = re.sub(r",-?\d+\]", "]", rows[at])
        elif rows[at]:
            place = rng.randrange(len(rows[at]))
            sign = rng.choice("L,:[]-0123456789abTF ")
            rows[at] = rows[at][:place] + sign + rows[at][place + rng.randrange(2) :]
        if not rows:
            break
    return "\n".join(rows)


@given(seed=st.integers(0, 300))
def test_a_corrupted_trace_has_exactly_one_category_and_the_right_one(seed: int) -> None:
    source, inputs, _ = random_source(seed)
    program = parse(source, RICH)
    try:
        trace = run(program, inputs, Limits(steps=400))
    except WeftError:
        return
    rng = random.Random(seed)
    for number in range(4):
        form = TraceFormat(step_index=number == 3)
        right = trace_text(trace, form)
        written = corrupted(right, rng)
        error = first_error(program, inputs, trace, written, form)
        if written == right:
            assert error is None
            continue
        assert error is not None
        index = form.step_index
        found = [name for name in CATEGORIES if holds(name, source, inputs, written, index)]
        assert found == [error.category], (source, written)


@given(seed=st.integers(0, 300), form=st.sampled_from(FORMATS))
def test_right_traces_are_read_back_in_every_format(seed: int, form: TraceFormat) -> None:
    source, inputs, _ = random_source(seed)
    program = parse(source, RICH)
    try:
        trace = run(program, inputs, Limits(steps=200))
    except WeftError:
        return
    text = final_text(trace.final, form) if form.answer else trace_text(trace, form)
    assert first_error(program, inputs, trace, text, form) is None
    if form.answer:
        read = [read_trace_line(line, form) for line in text.splitlines()]
        assert {line.name: line.value for line in read if line} == dict(trace.final)
        return
    for number, step in enumerate(trace.steps, 1):
        line = read_trace_line(step_text(step, number, form), form)
        assert line is not None
        assert (line.name, line.value) == (step.name, step.value)
        assert line.label == step.line - 1 + form.first_label
        assert line.index == (number if form.step_index else None)


@given(text=st.text(alphabet="L,:[]-0123456789abcondlstTrueFals_ \n", max_size=30))
def test_any_text_has_a_category(text: str) -> None:
    for form in FORMATS:
        error = judge(text, form)
        assert error is not None
        assert error.category in CATEGORIES
