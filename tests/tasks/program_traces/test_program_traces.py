"""The task program-traces: pinned splits, what they promise, tokens, text and bad parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from weft.errors import WeftError
from weft.ptg.interpreter import run
from weft.ptg.language import Language
from weft.ptg.parser import parse
from weft.ptg.source import source_hash
from weft.tasks import Task, pack, score, task
from weft.tasks.formats import START
from weft.tasks.program_traces import TIERS, Plan, ProgramTraces
from weft.tasks.program_traces.splits import nesting, plans, symbols_written

SMALL = ProgramTraces()
HASHES = {
    "nano": {
        "train": ("0f0c77963433", "65eef4427be7"),
        "longer-programs": ("f58c4d350c42", "43c151581680"),
        "longer-traces-1": ("40a2744a3557", "0038f086af57"),
        "longer-traces-2": ("0a50bf895651", "acf16ceda9fe"),
        "more-variables": ("9dd52b28feb8", "7057d6cc352e"),
        "longer-lists": ("07052f1fcb25", "7d7203a9bbf0"),
        "more-loops": ("84bf2ecf038b", "1d6ddda64004"),
        "matched-length": ("8fbe98d03ae0", "94cd5eb66776"),
        "longer-lists-matched": ("11bed94debb3", "4bc321903bd9"),
        "same-program": ("5088618c1280", "c392a352da45"),
    },
    "small": {
        "train": ("4ab48c68102f", "2aec97c06b2b"),
        "longer-programs": ("0c9c688ed23f", "6be5c61e60df"),
        "longer-traces-1": ("01c97f8b346e", "d39b1e3a8a41"),
        "longer-traces-2": ("f2516ef47e83", "3e7926ab73cc"),
        "more-variables": ("f2cbe2a24379", "e4b2bb076ee3"),
        "longer-lists": ("ccc31a2a4b22", "d24f881c5764"),
        "more-loops": ("6006ec1d63c0", "14198f1e9d04"),
        "matched-length": ("3391c259cd15", "159d766c03e6"),
        "longer-lists-matched": ("d42196115144", "3df794ba9909"),
        "same-program": ("fba1e56e6b6b", "140bf6c9f75d"),
    },
    "paper": {
        "train": ("9c7e503a1c22", "1a4c8365665a"),
        "longer-programs": ("ab0928573625", "16689840cf25"),
        "longer-traces-1": ("1d4763936bb9", "7b668ce31b8a"),
        "longer-traces-2": ("3a86fbcaebc2", "ce1051723039"),
        "more-variables": ("32a922e00034", "fab6857a64c6"),
        "longer-lists": ("f3f8cb9a21f9", "e3018cb8206b"),
        "more-loops": ("3edf2cd4d9be", "8ae78d38a654"),
        "matched-length": ("fce21a3f114b", "b3a48ed8a3f7"),
        "longer-lists-matched": ("50dc9c4d56e9", "514468d73852"),
        "same-program": ("e7f7794f35bc", "7bfeb909cf83"),
    },
}
"""By tier and split, the first digits of the content hashes of 40 and of 1,000 tests."""
CASES = [(tier, split) for tier, found in HASHES.items() for split in found]


@pytest.mark.parametrize(("tier", "split"), CASES)
def test_test_sets_are_pinned(tier: Any, split: str) -> None:
    made = ProgramTraces(tier=tier)
    assert list(made.splits) == list(HASHES[tier])
    assert made.test_set(split, 40).content_hash[:12] == HASHES[tier][split][0]


@pytest.mark.slow
@pytest.mark.parametrize(("tier", "split"), CASES)
def test_test_sets_of_1000_are_pinned_and_share_no_program_with_training(
    tier: Any, split: str
) -> None:
    made = ProgramTraces(tier=tier)
    tests = made.test_set(split, 1000)
    assert len(tests) == 1000
    assert tests.content_hash[:12] == HASHES[tier][split][1]
    tested = {source_hash(made.program_of(row)[0]) for row in tests.tokens}
    assert len(tested) == (100 if split == "same-program" else 1000)
    for other in ("train", split):
        batch = made.batch(other, 0, 1, 2000)
        assert not tested & {source_hash(made.program_of(row)[0]) for row in batch.tokens}
    valid = made.validation_set(500)
    assert not tested & {source_hash(made.program_of(row)[0]) for row in valid.tokens}


@pytest.mark.parametrize("tier", TIERS)
def test_splits_vary_what_they_say_and_nothing_else(tier: Any) -> None:
    found = plans(tier, Language())
    train = found["train"].sizes
    for plan in found.values():
        for name in ("lines", "steps", "integers", "booleans", "lists", "list_length", "trips"):
            same = getattr(plan.sizes, name) == getattr(train, name)
            assert same == (name not in plan.varied), (plan.description, name)
    for split in ("longer-programs", "longer-lists", "more-variables", "more-loops"):
        for name in found[split].varied:
            assert getattr(found[split].sizes, name)[0] > getattr(train, name)[1]
    first, second = (found[f"longer-traces-{number}"].sizes for number in (1, 2))
    assert train.steps[1] < first.steps[0] <= first.steps[1] < second.steps[0]


def test_matched_documents_are_as_long_as_those_they_are_matched_to() -> None:
    for split, plan in ProgramTraces(comments=True).plans.items():
        if not plan.matched:
            continue
        made = ProgramTraces(comments=True)
        lengths, goals = (made.test_set(s, 200).axes["tokens"] for s in (split, plan.matched))
        off = 0.08
        if split == "matched-length":  # the sizes of training do not reach the longest
            goals, off = goals[goals < lengths.max()], 0.12
        for percent in (10, 50, 90):
            goal = np.percentile(goals, percent)
            assert abs(np.percentile(lengths, percent) - goal) < off * goal, split
    usual = made.test_set("train", 200).axes["tokens"]
    longer = made.test_set("matched-length", 200).axes["tokens"]
    assert np.percentile(longer, 10) > np.percentile(usual, 80)


def test_padded_documents_have_the_trace_of_the_program_without_the_comment() -> None:
    made = ProgramTraces(comments=True)
    for row in made.test_set("padded", 20).tokens:
        source, inputs = made.program_of(row)
        bare = "".join(line + "\n" for line in source.splitlines() if "#" not in line)
        assert source_hash(bare) == source_hash(source)
        assert run(parse(bare), inputs).final == run(parse(source, made.language), inputs).final


def test_more_loops_lengthens_traces_by_loops_of_the_trained_sizes() -> None:
    loops = {
        split: SMALL.test_set(split, 200).axes
        for split in ("train", "longer-traces-1", "more-loops")
    }
    assert loops["more-loops"]["trips"].max() <= 6 < loops["longer-traces-1"]["trips"].min() + 3
    means = {split: axes["loops"].mean() for split, axes in loops.items()}
    assert means["more-loops"] > 1.5 * max(means["train"], means["longer-traces-1"])
    assert loops["more-loops"]["steps"].min() > loops["train"]["steps"].max()


def test_same_program_has_all_programs_at_every_size_and_different_inputs() -> None:
    batch = SMALL.test_set("same-program", 250)
    assert batch.axes["program"].tolist() == [number % 100 for number in range(250)]
    assert batch.axes["input"].tolist() == [number // 100 for number in range(250)]
    sources = [SMALL.program_of(row)[0] for row in batch.tokens]
    assert len(set(sources[:100])) == 100
    assert sources[100:200] == sources[:100]
    assert sources[200:] == sources[:50]
    assert len({row.tobytes() for row in batch.tokens}) == 250
    whole = SMALL.test_set("same-program", 99_999)
    assert len(whole) == 5000
    assert len({row.tobytes() for row in whole.tokens}) == 5000
    batch = SMALL.batch("same-program", 0, 0, 20)
    assert "program" not in batch.axes


def test_an_example_depends_on_its_number_alone() -> None:
    small, large = (SMALL.batch("train", 4, 9, size) for size in (3, 8))
    assert small.content_hash == large.take(slice(3)).content_hash
    assert SMALL.example("train", 4, 9, 5).axes[2] == large.axes["tokens"][5]


def test_programs_are_held_out_by_their_hash_in_the_wanted_shares() -> None:
    pairs = SMALL.draw("train", np.random.default_rng(0), 1500)
    held, valid = SMALL.is_held_out(pairs), SMALL.is_validated(pairs)
    assert abs(held.mean() - 0.125) < 0.03
    assert not (valid & ~held).any()
    assert abs(valid[held].mean() - 0.25) < 0.12
    assert (SMALL.is_tested(pairs) == held & ~valid).all()
    batch = SMALL.lay_out(pairs)
    assert batch.tokens.shape == (1500, 1024)
    for place in range(20):
        row = batch.tokens[place]
        assert SMALL.decode(row[row > 0]).startswith("<start>L1 def f(")


def test_the_loss_may_be_on_all_tokens_but_tests_never_are() -> None:
    whole = ProgramTraces(loss="all")
    some, every = SMALL.batch("train", 0, 0, 10), whole.batch("train", 0, 0, 10)
    assert (some.tokens == every.tokens).all()
    assert (every.targets >= 0).sum() == every.lengths.sum()
    inside = some.targets >= 0
    assert (some.targets[inside] == every.targets[inside]).all()
    assert whole.test_set("train", 10).content_hash == SMALL.test_set("train", 10).content_hash
    assert list(whole.examples(every)) == list(SMALL.examples(some))


def test_packed_examples_keep_their_targets() -> None:
    batch = SMALL.batch("train", 0, 0, 60)
    packed = pack(batch, 1024)
    assert packed.tokens.shape[0] < 60
    assert packed.lengths.sum() / packed.tokens.size > 0.9
    assert score(packed, packed.targets).all()
    assert (packed.tokens == START).sum() == 60


# Tokens


def test_every_token_of_training_is_drawn_and_no_other_ever() -> None:
    """What is asserted when a task is made, against what is drawn."""
    for options in ({"tier": "nano"}, {"depth": 2, "else_blocks": True, "comments": True}):
        made = ProgramTraces(**options)  # type: ignore[arg-type]
        drawn = set(made.batch("train", 0, 0, 800).tokens.ravel().tolist())
        found = {made.vocabulary[token] for token in drawn if token > 3}
        assert found == made.written("train")
        for split in made.splits:
            rows = set(made.test_set(split, 60).tokens.ravel().tolist()) - {0}
            assert rows <= drawn


def test_a_split_with_a_token_that_training_lacks_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def with_deep_loops(tier: Any, language: Language) -> dict[str, Plan]:
        found = plans(tier, language)
        longer = found["longer-programs"]
        found["longer-programs"] = replace(longer, sizes=replace(longer.sizes, nesting=3,
                                                                 steps=(10, 200)))  # fmt: skip
        return found

    monkeypatch.setattr("weft.tasks.program_traces.task.plans", with_deep_loops)
    with pytest.raises(WeftError, match="'longer-programs' has tokens that training never has"):
        ProgramTraces(depth=3)


@pytest.mark.parametrize("depth", range(1, 10))
@pytest.mark.parametrize("tier", TIERS)
def test_loops_nest_no_deeper_in_tests_than_in_training(tier: Any, depth: int) -> None:
    language = Language(depth=depth)
    found = plans(tier, language)
    trained = symbols_written(found["train"].sizes, language)
    assert all(symbols_written(plan.sizes, language) <= trained for plan in found.values())
    assert nesting(found["train"].sizes, language) <= found["train"].sizes.nesting


# Rows and text


def test_rows_are_read_back_as_programs_inputs_and_traces() -> None:
    for options in ({}, {"random_labels": True}, {"reversed_digits": True, "literal": 99}):
        made = ProgramTraces(**options)  # type: ignore[arg-type]
        batch = made.test_set("longer-programs", 10)
        for place, row in enumerate(batch.tokens):
            source, inputs = made.program_of(row)
            prompt = made.encode(source, inputs)
            if not made.random_labels:
                assert prompt == row[: batch.prompt[place]].tolist()
            assert made.program_of(prompt) == (source, inputs)
            assert made.trace_of(prompt) == ""
            assert made.first_label(row) == int(made.decode(row[1:12]).split(" ")[0][1:])
            assert made.trace_of(row.tolist()) == made.trace_of(row)


def test_random_labels_train_every_label_of_every_split() -> None:
    made = ProgramTraces(tier="nano", random_labels=True)
    labels = [made.first_label(row) for row in made.batch("train", 0, 0, 400).tokens]
    batch = made.batch("train", 0, 0, 400)
    last = np.array(labels) + batch.axes["lines"] - 1
    longest = max(plan.sizes.lines[1] for plan in made.plans.values())
    assert min(labels) == 1
    assert last.max() == longest
    for row, lines in zip(made.test_set("longer-programs", 50).tokens, range(50), strict=True):
        assert made.first_label(row) >= 1, lines


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([1, 3], "the tokens have no program with a call"),
        ([], "the tokens have no program with a call"),
        ([1, 900, 3], "something else than tokens"),
        ([-4], "something else than tokens"),
        ([250], "there are 120 tokens"),
    ],
)
def test_rows_that_are_no_examples_are_refused(row: list[int], said: str) -> None:
    with pytest.raises(WeftError, match=said):
        SMALL.program_of(row)


def test_programs_outside_the_language_are_refused() -> None:
    with pytest.raises(WeftError):
        SMALL.encode("def f(a):\n\ta = a * 2\n\treturn\n", {"a": 1})
    with pytest.raises(WeftError):
        SMALL.encode("def f(a):\n\tprint(a)\n\treturn\n", {"a": 1})


# Parameters


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"tier": "giant"}, "tier cannot be 'giant'"),
        ({"context": -1}, "context is -1"),
        ({"context": 10**9}, "context is 1,000,000,000"),
        ({"context": 60}, "the split 'train' cannot be drawn"),
        ({"context": 300}, "the split 'longer-programs' cannot be drawn"),
        ({"held_out": 0.0}, "held_out is 0"),
        ({"held_out": 0.001}, "held_out is 0.001"),
        ({"held_out": 0.999}, "held_out is 0.999"),
        ({"depth": 0}, "depth is 0"),
        ({"depth": 10}, "depth is 10"),
        ({"literal": 0}, "literal is 0"),
        ({"addend": 9999}, "values may reach"),
        ({"level": "words"}, "level cannot be 'words'"),
        ({"loss": "none"}, "loss cannot be 'none'"),
        ({"format": "tag"}, "does not support the format 'tag'|format cannot be"),
        ({"answer": 1}, "answer is 1"),
        ({"colour": 1}, "it has no parameter 'colour'"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(WeftError, match=said):
        task("program-traces", **parameters)


def test_the_default_context_has_room_for_the_format() -> None:
    contexts = {
        (): 1024,
        (("tier", "paper"),): 4096,
        (("level", "characters"),): 4096,
        (("step_index", True),): 2048,
        (("context", 900),): 900,
    }
    for options, context in contexts.items():
        made: Task = task("program-traces", **dict(options))
        assert made.batch("train", 0, 0, 2).tokens.shape[1] == context


def test_unknown_splits_are_refused() -> None:
    for ask in (lambda: SMALL.batch("x", 0, 0, 1), lambda: SMALL.test_set("x", 1)):
        with pytest.raises(WeftError, match="it has no split 'x'"):
            ask()
