"""The sampler: windows are kept, guards hold, draws repeat, and what cannot be is refused."""

from __future__ import annotations

import time
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.ptg.examples import AXES, Assembler, Example, ExampleSampler
from weft.ptg.fragments import Fragments
from weft.ptg.interpreter import run
from weft.ptg.language import PAPER, CountedLoop, Language
from weft.ptg.parser import parse
from weft.ptg.sampler import Sampler
from weft.ptg.sizes import Sizes, Weights
from weft.ptg.source import canonical_source
from weft.ptg.steering import Plan
from weft.ptg.tracing import L0_BENCH

SIZES = Sizes(
    lines=(10, 20), steps=(10, 60), integers=(3, 5), booleans=(1, 3), lists=(1, 2),
    list_length=(3, 6), trips=(2, 6),
)  # fmt: skip
RICH = Language(
    depth=3, else_blocks=True, data_loops=True, addend=9, multiplication=True, variable_index=True,
    comments=True,
)  # fmt: skip


def examples_of(sizes: Sizes, language: Language = PAPER, context: int = 4096) -> ExampleSampler:
    fragments = Fragments(language, L0_BENCH)
    assembler = Assembler(language, L0_BENCH, "symbols", fragments)
    return ExampleSampler(Sampler(language, sizes, fragments), assembler, context)


def axes_of(example: Example) -> dict[str, int]:
    return dict(zip(AXES, example.axes, strict=True))


def every(first: int, second: int) -> bool:
    return True


def source_of(sampler: ExampleSampler, example: Example) -> str:
    text = sampler.assembler.tokeniser.decode(example.prompt[1:])
    lines = text.splitlines()[:-1]
    return "".join(f"{line.split(' ', 1)[1]}\n" for line in lines)


@settings(max_examples=60)
@given(st.data())
def test_windows_are_kept_or_refused_in_bounded_time(data: st.DataObject) -> None:
    """Any windows: a program within all of them, or an error about them, and soon."""

    def window(name: str, low: int, high: int) -> tuple[int, int]:
        first = data.draw(st.integers(low, high), label=name)
        return first, data.draw(st.integers(first, high), label=name)

    sizes = Sizes(
        lines=window("lines", 3, 30),
        steps=window("steps", 2, 80),
        integers=window("integers", 1, 8),
        booleans=window("booleans", 0, 4),
        lists=window("lists", 0, 3),
        list_length=window("list_length", 0, 6),
        trips=window("trips", 1, 9),
        uniform_steps=data.draw(st.booleans(), label="uniform"),
        any_input=data.draw(st.booleans(), label="any input"),
    )
    language = data.draw(st.sampled_from([Language(), RICH]), label="language")
    begun, seed, refused = time.process_time(), data.draw(st.integers(0, 99), label="seed"), ""
    try:
        sampler = examples_of(sizes, language, context=10_000)
        axes = axes_of(sampler.draw(Random(seed), every))
    except WeftError as error:
        refused = error.what
    assert time.process_time() - begun < 5
    if refused:
        assert "no program of" in refused or "was found in 200 attempts" in refused
        return
    for name in ("lines", "steps", "integers", "booleans", "lists"):
        low, high = getattr(sizes, name)
        assert low <= axes[name] <= high, name
    assert axes["list_length"] <= sizes.list_length[1]
    assert not axes["trips"] or sizes.trips[0] <= axes["trips"] <= sizes.trips[1]


def test_every_number_of_lines_and_steps_can_be_had() -> None:
    """Steering reaches every pair of lines and steps that some program has."""
    reach = Plan(SIZES).reach
    for lines in range(10, 21):
        for steps in range(10, 61, 5):
            window = (steps, steps + 5)  # loops add up to 6 steps at a time
            if window[1] < lines - 1 or reach[lines - 2] + 1 < window[0]:
                continue
            sizes = replace(SIZES, lines=(lines, lines), steps=window)
            axes = axes_of(examples_of(sizes).draw(Random(0), every))
            assert axes["lines"] == lines
            assert window[0] <= axes["steps"] <= window[1]


def test_reach_is_the_largest_number_of_steps() -> None:
    """Against a search through all ways to fill lines with simple statements and loops."""

    def most(lines: int) -> int:
        options = [1 + most(lines - 1)] if lines else [0]
        for body in (1, 2, 3):
            if lines >= body + 5:
                options.append(6 * (body + 3) + 3 + most(lines - body - 5))
        return max(options)

    assert Plan(SIZES).reach[:19] == [most(lines) for lines in range(19)]


@pytest.mark.parametrize("any_input", [False, True])
@pytest.mark.parametrize("language", [Language(), RICH], ids=["default", "rich"])
def test_no_guard_is_ever_violated(language: Language, any_input: bool) -> None:
    """An index out of range or a pop from an empty list would raise in the fast machine."""
    sampler = examples_of(replace(SIZES, any_input=any_input), language)
    for seed in range(600):
        axes = axes_of(sampler.draw(Random(seed), every))
        assert axes["list_length"] <= 6
        assert 10 <= axes["steps"] <= 60


def test_lists_never_grow_beyond_their_largest_length() -> None:
    """Also during the run, by the interpreter; and pops empty some of them."""
    sampler, longest, shortest = examples_of(replace(SIZES, list_share=5.0)), 0, 9
    for seed in range(300):
        example = sampler.draw(Random(seed), every)
        program = parse(source_of(sampler, example))
        inputs = inputs_of(sampler, example)
        for step in run(program, inputs).steps:
            if isinstance(step.value, tuple):
                longest, shortest = max(longest, len(step.value)), min(shortest, len(step.value))
    assert (shortest, longest) == (0, 6)


def inputs_of(sampler: ExampleSampler, example: Example) -> Any:
    from weft.ptg.inputs import read_inputs

    call = sampler.assembler.tokeniser.decode(example.prompt[1:]).splitlines()[-1]
    return read_inputs(call[2:-1])


def test_programs_for_any_input_run_on_all_inputs() -> None:
    """On inputs of every combination of shortest and longest lists, by the interpreter."""
    sampler = examples_of(replace(SIZES, any_input=True))
    for seed in range(60):
        example = sampler.draw(Random(seed), every)
        program = parse(source_of(sampler, example))
        given_inputs = inputs_of(sampler, example)
        chance = Random(seed)
        for trial in range(12):
            inputs = {
                name: tuple(chance.randrange(10) for _ in range((3, 6, 3 + trial % 4)[trial % 3]))
                if isinstance(value, tuple)
                else (chance.random() < 0.5 if isinstance(value, bool) else chance.randrange(10))
                for name, value in given_inputs.items()
            }
            trace = run(program, inputs)
            assert 10 <= len(trace.steps) <= 60


def test_draws_repeat_and_differ_by_seed() -> None:
    sampler, other = examples_of(SIZES), examples_of(SIZES)
    first = [sampler.draw(Random(seed), every) for seed in range(20)]
    assert first[::-1] == [other.draw(Random(seed), every) for seed in reversed(range(20))]
    assert len({example.digest for example in first}) == 20


def test_the_digest_identifies_the_canonical_source() -> None:
    """Equal digests exactly for equal canonical sources, of programs as small as can be."""
    sizes = replace(SIZES, lines=(3, 4), steps=(2, 3), integers=(1, 2), booleans=(0, 1),
                    lists=(0, 1), list_length=(1, 1))  # fmt: skip
    sampler = examples_of(sizes)
    by_digest: dict[tuple[int, int], str] = {}
    by_source: dict[str, tuple[int, int]] = {}
    for seed in range(4000):
        example = sampler.draw(Random(seed), every)
        source = canonical_source(source_of(sampler, example))
        assert by_digest.setdefault(example.digest, source) == source
        assert by_source.setdefault(source, example.digest) == example.digest
    assert 300 < len(by_source) < 3600  # programs repeat, so the test says something


def test_what_is_not_accepted_is_never_drawn() -> None:
    sampler = examples_of(SIZES)

    def accepts(first: int, second: int) -> bool:
        return first % 8 == 0

    drawn = [sampler.draw(Random(seed), accepts) for seed in range(200)]
    assert all(example.digest[0] % 8 == 0 for example in drawn)
    with pytest.raises(WeftError, match="was found in 200 attempts"):
        examples_of(SIZES).draw(Random(0), lambda first, second: False)


def test_names_are_drawn_uniformly_and_counters_are_not_touched() -> None:
    sampler, letters = examples_of(SIZES), [0] * 26
    for seed in range(800):
        source = source_of(sampler, sampler.draw(Random(seed), every))
        for name in source.split("(", 1)[1].split(")", 1)[0].split(","):
            if len(name) == 1:
                letters[ord(name) - ord("a")] += 1
        for line in source.splitlines():
            code = line.strip()
            if "cnt" in code:
                assert code in ("cnt = 0", "cnt = cnt + 1") or " = cnt != " in code
    expected = sum(letters) / 26
    assert sum((count - expected) ** 2 / expected for count in letters) < 60  # 25 degrees, p 1e-4


def test_weights_decide_which_statements_are_drawn() -> None:
    fragments = Fragments(Language(), L0_BENCH)
    weights = Weights(simple=1.0, branch=0.0, loop=0.0, integer=1.0, boolean=0.0, list=0.0)
    sampler = Sampler(Language(), replace(SIZES, steps=(5, 60)), fragments, weights)
    for seed in range(50):
        sampled = sampler.draw(Random(seed))
        code = fragments.tokeniser.decode(b"".join(sampled.code))
        assert "while" not in code
        assert "if" not in code
        assert "append" not in code


def test_nested_loops_have_counters_of_their_own() -> None:
    sampler = examples_of(replace(SIZES, steps=(30, 60)), RICH)
    depths = set()
    for seed in range(200):
        program = parse(source_of(sampler, sampler.draw(Random(seed), every)), RICH)
        depths.add(max(map(_loop_depth, program.body), default=0))
    assert depths == {0, 1, 2}


def _loop_depth(statement: Any) -> int:
    inner = [*getattr(statement, "body", ()), *getattr(statement, "otherwise", ())]
    return isinstance(statement, CountedLoop) + max(map(_loop_depth, inner), default=0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"steps": (200, 300)}, "no program of 10 to 20 lines takes 200 to 300 steps"),
        ({"lines": (70, 80)}, "no program of 70 to 80 lines takes 10 to 60 steps"),
        ({"trips": (2, 100)}, "loops have up to 100 iterations"),
        ({"lines": (20, 10)}, "lines is 20 to 10"),
        ({"lines": (2, 10)}, "lines is 2 to 10"),
        ({"integers": (0, 5)}, "integers is 0 to 5"),
        ({"booleans": (3, 27)}, "booleans is 3 to 27"),
        ({"list_length": (-1, 2)}, "list_length is -1 to 2"),
        ({"list_share": 0.0}, "list_share is 0"),
        ({"list_share": float("nan")}, "list_share is nan"),
        ({"nesting": 0}, "nesting is 0"),
        ({"any_input": 1}, "any_input is 1"),
    ],
)
def test_sizes_that_no_program_has_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(WeftError, match=said):
        examples_of(replace(SIZES, **changes))


def test_a_loop_without_a_boolean_is_refused_and_does_not_hang() -> None:
    sizes = replace(SIZES, booleans=(0, 0), steps=(40, 60))
    with pytest.raises(WeftError, match="was found in 200 attempts"):
        examples_of(sizes).draw(Random(0), every)


def test_values_that_would_leave_the_language_are_refused() -> None:
    with pytest.raises(WeftError, match="values may reach"):
        examples_of(replace(SIZES, steps=(10, 200)), Language(addend=9999))


def test_a_context_that_is_too_small_is_refused() -> None:
    with pytest.raises(WeftError, match="with at most 100 tokens"):
        examples_of(SIZES, context=100).draw(Random(0), every)
    short = examples_of(SIZES, context=260)
    assert all(short.draw(Random(seed), every).tokens <= 260 for seed in range(20))
