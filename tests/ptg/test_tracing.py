from __future__ import annotations

import pytest
from oracles import walk
from random_source import random_source

from weft.errors import WeftError
from weft.ptg.interpreter import run
from weft.ptg.language import RICH, Limits
from weft.ptg.parser import parse
from weft.ptg.tracing import Document, TraceFormat, document

SOURCE = """def f(a,lst_a):
	cnt = 0
	cond_a = cnt != 10
	while cond_a:
		a = a - 12
		lst_a.append(a)
		cnt = cnt + 1
		cond_a = cnt != 10
	cnt = 0
	cond_a = cnt != 0
	while cond_a:
		cnt = cnt + 1
		cond_a = cnt != 0
	b = lst_a[1]
	return
"""
INPUTS = {"a": 100, "lst_a": [-20, 0]}


def made(form: TraceFormat) -> Document:
    program = parse(SOURCE, RICH)
    return document(program, INPUTS, run(program, INPUTS), form)


def test_the_default_format() -> None:
    text = made(TraceFormat()).text.splitlines()
    assert text[:3] == ["L1 def f(a,lst_a):", "L2 \tcnt = 0", "L3 \tcond_a = cnt != 10"]
    assert text[5] == "L6 \t\tlst_a.append(a)"
    assert text[15:22] == [
        "f(a=100,lst_a=[-20,0])", "L2,cnt:0", "L3,cond_a:True", "L4,", "L5,a:88",
        "L6,lst_a:[-20,0,88]", "L7,cnt:1",
    ]  # fmt: skip
    assert text[-1] == "L15,"
    expected = walk(SOURCE, INPUTS).trace
    assert made(TraceFormat()).target.splitlines() == expected


def test_reversed_digits_are_those_of_values_and_literals() -> None:
    plain, turned = made(TraceFormat()), made(TraceFormat(reversed_digits=True))
    rows = turned.text.splitlines()
    assert rows[2:5] == ["L3 \tcond_a = cnt != 01", "L4 \twhile cond_a:", "L5 \t\ta = a - 21"]
    assert rows[14:16] == ["L15 \treturn", "f(a=001,lst_a=[-02,0])"]
    assert rows[20] == "L6,lst_a:[-02,0,88]"
    assert len(turned.text) == len(plain.text)
    assert turned.target != plain.target


def test_counters_of_deeper_loops_keep_their_names() -> None:
    nested = "def f(a):\n\tcnt = 0\n\tcond_a = cnt != 12\n\twhile cond_a:\n"
    nested += "\t\tcnt_2 = 0\n\t\tcond_a = cnt_2 != 13\n\t\twhile cond_a:\n"
    nested += "\t\t\tcnt_2 = cnt_2 + 1\n\t\t\tcond_a = cnt_2 != 13\n"
    nested += "\t\tcnt = cnt + 1\n\t\tcond_a = cnt != 12\n\treturn\n"
    program = parse(nested, RICH)
    text = document(program, {"a": 1}, run(program, {"a": 1}), TraceFormat(reversed_digits=True))
    assert "L6 \t\tcond_a = cnt_2 != 31\n" in text.program


def test_step_numbers_and_labels() -> None:
    text = made(TraceFormat(step_index=True, first_label=95)).text.splitlines()
    assert text[0] == "L95 def f(a,lst_a):"
    assert text[14] == "L109 \treturn"
    assert text[16:20] == ["1 L96,cnt:0", "2 L97,cond_a:True", "3 L98,", "4 L99,a:88"]
    steps = [int(row.split()[0]) for row in text[16:]]
    assert steps == list(range(1, len(steps) + 1))


def test_the_answer_is_the_final_state() -> None:
    assert made(TraceFormat(answer=True)).target.splitlines() == [
        "a:-20", "lst_a:[-20,0,88,76,64,52,40,28,16,4,-8,-20]", "cnt:0", "cond_a:False", "b:0",
    ]  # fmt: skip


def test_every_document_is_the_program_the_call_and_the_target() -> None:
    for seed in range(60):
        source, inputs, _ = random_source(seed)
        program = parse(source, RICH)
        try:
            trace = run(program, inputs, Limits(steps=100))
        except WeftError:
            continue
        whole = document(program, inputs, trace)
        rows = source.splitlines()
        labelled = [f"L{number} {row}" for number, row in enumerate(rows, 1)]
        assert whole.program.splitlines() == labelled
        values = ", ".join(f"{name}={inputs[name]!r}" for name in program.parameters)
        assert whole.call == f"f({values})\n".replace(" ", "")
        assert whole.text == whole.program + whole.call + whole.target


def test_the_first_label_is_bounded() -> None:
    with pytest.raises(WeftError, match="first_label is -1"):
        TraceFormat(first_label=-1)
