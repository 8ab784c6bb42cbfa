from __future__ import annotations

from typing import Any

import pytest
from oracles import execute, line_events, walk
from random_source import random_source

from weft.errors import WeftError
from weft.ptg.interpreter import Machine, run
from weft.ptg.language import PAPER, RICH, Language, Limits
from weft.ptg.parser import parse
from weft.ptg.source import source_of
from weft.ptg.tracing import trace_text

LIMITS = Limits(steps=2000, list_length=10_000, value=10**15)
PHRASES = {
    "IndexError": ("out of range", "is empty"),
    "NegativeIndex": ("out of range",),
    "NameError": ("read before it is assigned",),
    "StepLimit": ("more than 2,000 steps",),
    "ValueLimit": ("would be",),
}
"""By exception of the walk, the words of the interpreter's errors."""


def check(source: str, inputs: dict[str, Any], options: dict[str, Any]) -> str:
    """Compare the interpreter with CPython and both tracers; return how the run ends."""
    program = parse(source, Language(**options))
    assert source_of(program) == source
    expected = walk(source, inputs, LIMITS.steps)
    if expected.error:
        with pytest.raises(WeftError) as caught:
            run(program, inputs, LIMITS)
        assert any(words in caught.value.what for words in PHRASES[expected.error]), source
        assert caught.value.where is not None
        assert caught.value.where.line == expected.line, source
        if expected.error in ("IndexError", "NameError"):
            direct = execute(source, inputs)
            assert direct.line == expected.line
            assert direct.error in (expected.error, "UnboundLocalError")
        return expected.error
    trace = run(program, inputs, LIMITS)
    assert trace_text(trace) == "".join(f"{line}\n" for line in expected.trace), source
    final = {name: list(v) if isinstance(v, tuple) else v for name, v in trace.final.items()}
    assert final == expected.final == execute(source, inputs).final, source
    assert all(type(final[name]) is type(expected.final[name]) for name in final)
    if len(trace.steps) < 300:
        assert line_events(source, inputs) == expected.trace, source
    return "return"


def compare(seeds: range) -> dict[str, int]:
    counts: dict[str, int] = {}
    for seed in seeds:
        end = check(*random_source(seed))
        counts[end] = counts.get(end, 0) + 1
    return counts


def test_random_programs_have_the_trace_and_the_final_state_of_cpython() -> None:
    counts = compare(range(500))
    assert counts["return"] > 300
    assert counts["IndexError"] > 20


@pytest.mark.slow
def test_50_000_random_programs_have_the_trace_and_the_final_state_of_cpython() -> None:
    counts = compare(range(500, 50_500))
    assert min(counts[end] for end in ("return", *PHRASES)) > 20, counts


# Single programs

LOOP = "cnt = 0; cond_l = cnt != 1; while cond_l:; >u = u + 1; >cnt = cnt + 1; >cond_l = cnt != 1"


def lines(body: str, head: str = "u,lst_s") -> str:
    """A program of the given lines, which are separated by `; ` and indented by `>`."""
    rows = [f"def f({head}):", *(f">{row}" for row in body.split("; ")), ">return"]
    return "".join(f"{row}\n" for row in rows).replace(">", "\t")


def test_a_trace_has_a_line_for_every_test_of_a_loop() -> None:
    source = lines(LOOP)
    assert trace_text(run(parse(source), {"u": 3, "lst_s": []})).split() == [
        "L2,cnt:0", "L3,cond_l:True", "L4,", "L5,u:4", "L6,cnt:1", "L7,cond_l:False", "L4,", "L8,",
    ]  # fmt: skip


def test_inputs_are_not_changed_and_not_shared() -> None:
    shared = [1, 2]
    program = parse(lines("lst_s.append(u); lst_t.pop()", "u,lst_s,lst_t"))
    trace = run(program, {"u": 7, "lst_s": shared, "lst_t": shared})
    assert shared == [1, 2]
    assert trace.final == {"u": 7, "lst_s": (1, 2, 7), "lst_t": (1,)}


def test_the_final_state_is_in_the_order_of_the_text() -> None:
    source = lines("z = u; cond_q = z == a; a = 3", "lst_s,u,a")
    trace = run(parse(source), {"u": 1, "a": 1, "lst_s": [0]})
    assert list(trace.final) == ["lst_s", "u", "a", "z", "cond_q"]
    assert trace.final["cond_q"] is True


def test_a_variable_of_a_branch_that_is_not_taken_is_unbound() -> None:
    source = lines("cond_a = u == 1; if cond_a:; >x = 1; y = x")
    assert run(parse(source), {"u": 1, "lst_s": []}).final["y"] == 1
    with pytest.raises(WeftError, match=r"x is read before it is assigned \(line 5, column 2\)"):
        run(parse(source), {"u": 2, "lst_s": []})


def test_a_loop_may_overwrite_its_condition() -> None:
    source = lines(LOOP.replace("u = u + 1", "cond_l = u != u"))
    check(source, {"u": 0, "lst_s": []}, {})


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("u = lst_s[3]", "index 3 is out of range: lst_s has 3 elements"),
        ("u = lst_s[u]", "index -2 is out of range: lst_s has 3 elements"),
        ("lst_s.pop(); lst_s.pop(); lst_s.pop(); lst_s.pop()", "lst_s is empty"),
        ("u = u - 9; u = u - 9", "u would be -11"),
        ("lst_s.append(u); lst_s.append(u); lst_s.append(u)", "lst_s has 5 elements already"),
        ("cond_a = u == u; while cond_a:; >cond_a = u == u", "runs for more than 20 steps"),
        ("x = u * u; x = x * x", "x would be 16"),
    ],
)
def test_errors_at_run_time_have_the_line(body: str, what: str) -> None:
    program = parse(lines(body), RICH)
    with pytest.raises(WeftError) as caught:
        run(program, {"u": -2, "lst_s": [1, 2, 3]}, Limits(steps=20, list_length=5, value=10))
    assert what in caught.value.what
    assert caught.value.where is not None
    row = body.split("; ")[caught.value.where.line - 2]
    assert caught.value.where.source_line().strip() == row.strip(">")


@pytest.mark.parametrize(
    ("inputs", "what"),
    [
        ({"u": 1}, "the input has no lst_s"),
        ({"u": True, "lst_s": []}, "the input u has True"),
        ({"u": 1.0, "lst_s": []}, "the input u has 1.0"),
        ({"u": 1, "lst_s": 3}, "the input lst_s is 3"),
        ({"u": 1, "lst_s": "12"}, "the input lst_s is 12"),
        ({"u": 1, "lst_s": [False]}, "the input lst_s has False"),
        ({"u": 1, "lst_s": [[1]]}, "the input lst_s has [1]"),
        ({"u": 1, "lst_s": [], "v": 3}, "the program has no parameter 'v'"),
        ({"u": 10**40, "lst_s": []}, "the input u has a number that is too large"),
        ({"u": -(10**6), "lst_s": []}, "the input u has a number of 7 digits"),
        ({"u": 1, "lst_s": [0] * 65}, "lst_s has 65 elements"),
    ],
)
def test_inputs_are_checked(inputs: dict[str, Any], what: str) -> None:
    with pytest.raises(WeftError) as caught:
        run(parse(lines("u = u + 1")), inputs)
    assert caught.value.what == what


def test_a_machine_runs_line_by_line() -> None:
    machine = Machine(parse(lines("u = u + 1; lst_s.append(u)")), {"u": 1, "lst_s": []})
    assert machine.line == 2
    assert machine.step().value == 2
    assert (machine.line, machine.state["lst_s"]) == (3, ())
    machine.run()
    assert machine.line == 0


# Where CPython and another reading of the language might differ


@pytest.mark.parametrize(
    "body",
    [
        "lst_s.append(u); u = 5; x = lst_s[3]",  # an element is a copy, not a reference
        "x = u; x = x + 1; lst_s.append(x); lst_s.append(u)",  # so is a variable
        "f = u; f = f + 1; u = f",  # the name of the function is a variable inside it
        "u = lst_s[0]; lst_s.pop(); lst_s.pop(); x = len(lst_s)",
        "cond_a = u == u; cond_b = u != u; if cond_b:; >u = 1",
        "u = u - 1; u = u - 1; u = u - 1; lst_s.append(u); x = lst_s[3]",  # negative values
        "l = 1; o = 0; u = l - 1; cond_l = u == o",  # names that look like digits
        "e = 1; u = e + 1; e = u - 1",
    ],
)
def test_programs_that_invite_another_reading(body: str) -> None:
    assert check(lines(body), {"u": 1, "lst_s": [7, 8, 9]}, {}) == "return"


def test_parameters_may_be_overwritten_and_left_unused() -> None:
    source = lines("a = 3; cond_a = a == b", "b,cond_a,a,cond_b,lst_z")
    inputs = {"a": 0, "b": 3, "cond_a": False, "cond_b": True, "lst_z": []}
    assert check(source, inputs, {}) == "return"


def test_the_smallest_program() -> None:
    assert check("def f():\n\treturn\n", {}, {}) == "return"


def test_nested_loops_have_counters_of_their_own() -> None:
    body, options = "", {"depth": 6, "literal": 9}
    for depth in range(6):
        counter = f"cnt_{depth + 1}" if depth else "cnt"
        tabs = ">" * depth
        body += f"{tabs}{counter} = 0; {tabs}cond_a = {counter} != 2; {tabs}while cond_a:; "
    body += ">>>>>>u = u + 1"
    for depth in reversed(range(6)):
        counter = f"cnt_{depth + 1}" if depth else "cnt"
        tabs = ">" * (depth + 1)
        body += f"; {tabs}{counter} = {counter} + 1; {tabs}cond_a = {counter} != 2"
    assert check(lines(body), {"u": 0, "lst_s": []}, options) == "return"
    assert run(parse(lines(body), Language(**options)), {"u": 0, "lst_s": []}).final["u"] == 64
    with pytest.raises(WeftError, match="option depth=2"):
        parse(lines(body), PAPER)
