"""The trace machine against the interpreter of the language and against CPython."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

import weft
from weft.programs.ptg.machine import TraceMachine
from weft.programs.ptg.memory import Memory, load
from weft.programs.ptg.random_runs import random_run
from weft.programs.ptg.simulator import simulate, value_of
from weft.ptg.interpreter import run
from weft.ptg.language import Language, Program, Value
from weft.ptg.parser import parse
from weft.ptg.source import source_of
from weft.ptg.tracing import call_text, program_text, trace_text
from weft.tasks import task
from weft.tasks.program_traces.task import ProgramTraces

SMALL_TIER: dict[str, Any] = {
    "lines": 39,
    "ints": 10,
    "counters": 1,
    "bools": 6,
    "lists": 4,
    "capacity": 10,
    "largest": 16,
    "tens": 12,
}
"""Everything that the small tier of the task contains, the `def` line besides `lines`."""


def python_state(source: str, inputs: Mapping[str, Value]) -> dict[str, Any]:
    """The variables at the end, by CPython."""
    namespace: dict[str, Any] = {}
    exec(source.replace("\treturn\n", "\treturn locals()\n"), namespace)
    given = {name: list(v) if isinstance(v, tuple) else v for name, v in inputs.items()}
    found = namespace["f"](**given)
    return {name: tuple(v) if isinstance(v, list) else v for name, v in found.items()}


def compare(machine: TraceMachine, runs: list[tuple[Program, dict[str, Value]]]) -> int:
    """Check traces and final states; returns the number of trace lines."""
    loaded = [load(machine.memory, program, inputs) for program, inputs in runs]
    traces = machine.traces(loaded)
    lines = 0
    for (program, inputs), each, trace in zip(runs, loaded, traces, strict=True):
        expected = run(program, inputs)
        assert trace_text(trace) == trace_text(expected)
        assert trace.final == expected.final == python_state(source_of(program), inputs)
        cells = simulate(machine.memory, each.words)
        for name, address in each.addresses.items():
            assert value_of(cells, name, address) == expected.final.get(name)
        lines += len(expected.steps)
    return lines


@pytest.mark.parametrize("sizes", [{}, SMALL_TIER], ids=["default", "small tier"])
def test_it_executes_random_programs(sizes: dict[str, Any]) -> None:
    machine, rng = TraceMachine(**sizes), random.Random(1)
    room = machine.memory.instructions
    runs = [random_run(rng, machine.memory, room, steps=110) for _ in range(60)]
    assert compare(machine, runs) > 120


EVERYTHING = """\
def f(a,b,cond_a,lst_a,lst_b):
\tc = len(lst_a)
\tcond_b = a == b
\tif cond_b:
\t\ta = lst_a[1]
\telse:
\t\tcnt = 0
\t\tcond_c = cnt != 3
\t\twhile cond_c:
\t\t\tcnt_2 = 0
\t\t\tcond_d = cnt_2 != 2
\t\t\twhile cond_d:
\t\t\t\tlst_b.append(a)
\t\t\t\ta = a - 1
\t\t\t\tcnt_2 = cnt_2 + 1
\t\t\t\tcond_d = cnt_2 != 2
\t\t\t#####
\t\t\tlst_b.pop()
\t\t\tcnt = cnt + 1
\t\t\tcond_c = cnt != 3
\tcond_a = a != 9
\twhile cond_a:
\t\ta = a + 1
\t\tcond_a = a != 9
\tlst_a.append(7)
\treturn
"""


def test_nested_blocks_else_data_loops_and_comments() -> None:
    machine = weft.program("trace-machine(lines=24, ints=3, counters=2, bools=4, lists=2, "
                           "capacity=6, largest=9)")  # fmt: skip
    assert isinstance(machine, TraceMachine)
    language = Language(depth=3, else_blocks=True, data_loops=True, comments=True)
    program = parse(EVERYTHING, language)
    for a, b in ((3, 1), (2, 2), (0, 9)):
        inputs = {"a": a, "b": b, "cond_a": True, "lst_a": (4, 5), "lst_b": ()}
        assert compare(machine, [(program, inputs)]) > 10
        text = program_text(program) + call_text(program, inputs)
        plain = EVERYTHING + call_text(program, inputs)
        assert machine.encode(text) == machine.encode(plain)
        (result,) = weft.run_batch(machine, [text]).results
        assert result == machine.task(machine.encode(text))
        assert result["lst_a"] == [4, 5, 7]


@pytest.mark.parametrize("start", [-11, -10, -9, -1, 0, 1, 9, 10, 19])
def test_numbers_step_across_tens_and_zero(start: int) -> None:
    source = "def f(a):\n\tb = a + 1\n\ta = a - 1\n\treturn\n"
    assert compare(weft_machine(), [(parse(source), {"a": start})])


def weft_machine() -> TraceMachine:
    return TraceMachine(lines=6, ints=2, lists=1, capacity=2, largest=9, tens=3)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("def f(a):\n\ta = a + 1\n\treturn\n", "there is no call"),
        ("def f(a):\n\ta = a + 1\n\treturn\nf(b=1)", "no parameter 'b'"),
        ("def f(a):\n\ta = a + 2\n\treturn\nf(a=1)", "addend=2"),
        ("def f(a,b,c):\n\ta = b\n\treturn\nf(a=1,b=1,c=1)", "3 integer variables"),
        ("def f(lst_a):\n\treturn\nf(lst_a=[1,2,3])", "3 elements"),
        ("def f(lst_a):\n\ta = lst_a[2]\n\treturn\nf(lst_a=[1])", "larger `capacity`"),
        ("def f(a):\n" + 6 * "\ta = a + 1\n" + "\treturn\nf(a=1)", "larger `lines`"),
        ("def f(a):\n\ta = a * 2\n\treturn\nf(a=1)", "multiplication"),
        ("def f(a):\n\treturn\nf(a=300)", "300|3 digits"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, what: str) -> None:
    if "call" in what:
        text = text.replace("\treturn\n", "\treturn\nf a")
    with pytest.raises(weft.WeftError, match=what):
        weft_machine().encode(text)


@pytest.mark.parametrize("sizes", ["ints=27", "lines=0", "capacity=200", "largest=30", "lists=-1"])
def test_sizes_are_checked(sizes: str) -> None:
    with pytest.raises(weft.WeftError, match="trace-machine"):
        weft.program(f"trace-machine({sizes})")


def test_a_cell_without_a_value_has_none_at_the_end() -> None:
    source = "def f(a,cond_a):\n\tif cond_a:\n\t\tb = a\n\treturn\nf(a=1,cond_a={})"
    machine = weft_machine()
    assert weft.run(machine, source.format(False)).result == {"a": 1, "cond_a": False}
    assert weft.run(machine, source.format(True)).result == {"a": 1, "b": 1, "cond_a": True}


def test_a_program_without_parameters_needs_no_call() -> None:
    assert weft.run(weft_machine(), "def f():\n\ta = 3\n\treturn\n").result == {"a": 3}


@pytest.mark.slow
def test_weights_execute_programs_of_the_small_tier() -> None:
    machine, rng = TraceMachine(**SMALL_TIER), random.Random(2)
    compiled = weft.compile(machine)
    memory = Memory(10, 1, 6, 4, 10, 16, 39, 119)
    assert machine.memory == memory
    longest = max(
        (random_run(rng, memory, 39, 110) for _ in range(20)), key=lambda p: len(p[0].body)
    )
    words = load(memory, *longest).words
    run_ = weft.run_batch(machine, [words])[0]
    import torch

    ids = torch.tensor([machine.vocabulary.all_numbers(list(words))])
    out = compiled.model(ids)
    assert out.layers.tolist() == [run_.layers]
    read = compiled.model.read(out.stream)
    for part in ("sign", "tens", "ones", "pc"):
        assert tuple(read[part][0]) == run_.stream[part]


@pytest.mark.slow
def test_the_small_tier_is_proved() -> None:
    compiled = weft.compile(TraceMachine(**SMALL_TIER))
    assert compiled.hidden_units < 2_500
    assert weft.prove(compiled).verdict == "proved"


@pytest.mark.slow
def test_it_executes_a_thousand_random_programs() -> None:
    machine, rng = TraceMachine(**SMALL_TIER), random.Random(3)
    runs = [random_run(rng, machine.memory, 39, steps=110) for _ in range(1_000)]
    assert compare(machine, runs) > 10_000


@pytest.mark.slow
def test_it_is_exact_on_every_split_of_the_small_tier() -> None:
    machine, traces = TraceMachine(**SMALL_TIER), task("program-traces", tier="small")
    assert isinstance(traces, ProgramTraces)
    for split in traces.splits:
        rows = traces.test_set(split, 200).tokens
        runs = [traces.program_of(row) for row in rows]
        loaded = [
            load(machine.memory, parse(source, traces.language), given) for source, given in runs
        ]
        found = [trace_text(trace) for trace in machine.traces(loaded)]
        assert found == [traces.trace_of(row) for row in rows], split
