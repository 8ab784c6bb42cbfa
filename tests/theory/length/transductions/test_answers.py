"""The answers for tasks against the published flags, plain solvers and the checker."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from typing import ClassVar

import pytest

from weft.crasp import parse, run
from weft.errors import WeftError
from weft.tasks import Task, task
from weft.tasks.algorithmic import BitParity, InterleavedMajority, RepeatCopy, Sorting
from weft.tasks.formal import COUNTERS
from weft.theory.length.checker.witnesses import check
from weft.theory.length.transductions import predict_task, task_readings

PUBLISHED = {  # Huang et al. (2025): without positions, with learned absolute ones
    "binary-majority": ("yes", "yes"),
    "letter-majority": ("yes", "yes"),
    "interleaved-majority": ("no", "yes"),
    "sorting": ("yes", "yes"),
    "unique-copy": ("no", "yes"),
    "repeat-copy": ("no", "no"),
    "bit-parity": ("no", "no"),
    "binary-addition": ("no", "no"),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_flags_of_the_paper(name: str) -> None:
    pair = predict_task(task(name))
    assert pair is not None
    assert tuple(answer.verdict for answer in pair) == PUBLISHED[name]
    assert [answer.positions for answer in pair] == ["none", "absolute"]
    for answer in pair:
        assert answer.support == ("checked" if answer.verdict == "yes" else "theorem")
        assert bool(answer.program) == (answer.verdict == "yes") == (answer.checked_to is not None)
        assert answer.reason
        assert answer.details
        assert answer.change


@pytest.mark.parametrize("target", ["next", "membership"])
@pytest.mark.parametrize("language", COUNTERS)
def test_counter_languages_are_in(language: str, target: str) -> None:
    pair = predict_task(task("formal-language", language=language, target=target))
    assert pair is not None
    assert [answer.verdict for answer in pair] == ["yes", "yes"]
    assert all((answer.checked_to or 0) >= 4 for answer in pair)


def test_other_tasks_are_left_to_others() -> None:
    for other in (task("parity"), task("copy"), task("formal-language", language="(ab|aabb)*")):
        assert predict_task(other) is None
        assert task_readings(other) == {}


def test_copying_a_fixed_alphabet_needs_no_positions() -> None:
    copy = task("unique-copy")
    growing, fixed = predict_task(copy), predict_task(copy, alphabet="fixed")
    assert growing is not None
    assert fixed is not None
    assert [answer.verdict for answer in growing] == ["no", "yes"]
    assert [answer.verdict for answer in fixed] == ["yes", "yes"]
    assert list(task_readings(copy)) == ["growing alphabet", "fixed alphabet"]
    for answer in fixed[:1]:
        program = parse(answer.program)
        assert not program.locals
        assert not program.periodics


@pytest.mark.parametrize("stride", [2, 3, 9])
def test_strides(stride: int) -> None:
    readings = task_readings(task("unique-copy", stride=stride))
    verdicts = {name: [a.verdict for a in pair] for name, pair in readings.items()}
    assert verdicts == {"growing alphabet": ["no", "yes"], "fixed alphabet": ["yes", "yes"]}


@pytest.mark.parametrize("strings", [1, 2, 4])
def test_numbers_of_strings(strings: int) -> None:
    pair = predict_task(task("interleaved-majority", strings=strings))
    assert pair is not None
    assert pair[0].verdict == ("yes" if strings == 1 else "no")
    assert pair[1].verdict == "yes"


def test_programs_answer_as_plain_solvers_do() -> None:
    """The printed programs, by the reference interpreter, against definitions written here."""

    def majority(word: tuple[str, ...]) -> str | None:
        ones = word.count("1")
        return None if 2 * ones == len(word) else str(int(2 * ones > len(word)))

    def interleaved(word: tuple[str, ...]) -> str | None:
        parts = [majority(word[k::3]) for k in range(3)]
        return None if len(word) % 3 or None in parts else "".join(map(str, parts))

    bits = [word for n in (*range(1, 5), 6) for word in product("01", repeat=n)]
    letters = [word for n in range(1, 5) for word in permutations("abcd", n)]
    for name, reading, words, solver in [
        ("binary-majority", "", bits, majority),
        ("interleaved-majority", "", bits, interleaved),
        ("sorting", "fixed alphabet", letters, lambda word: "".join(sorted(word))),
        ("unique-copy", "fixed alphabet", letters, "".join),
    ]:
        for answer in task_readings(task(name))[reading]:
            if answer.verdict != "yes":
                continue
            program = parse(answer.program)
            for word in words[::2]:
                expected = solver(word)
                if expected is not None:
                    assert _generated(program, word, len(expected) + 1) == expected


def _generated(program: object, word: tuple[str, ...], limit: int) -> str:
    """What a program writes after a word and the separator, symbol by symbol."""
    written = ""
    while len(written) < limit:
        values = run(program, (*word, "|", *written)).values  # type: ignore[arg-type]
        lines = program.next_symbols  # type: ignore[attr-defined]
        allowed = [symbol for symbol, line in lines.items() if values[line][-1]]
        assert len(allowed) <= 1
        if not allowed:
            return written
        written += allowed[0]
    return written


@pytest.mark.parametrize("name", ["bit-parity", "interleaved-majority"])
def test_certificates_hold(name: str) -> None:
    pair = predict_task(task(name))
    assert pair is not None
    for answer in pair:
        if answer.verdict == "no":
            checked = check(dict(answer.certificate or {}))
            assert not checked.inside
            assert checked.positions == (answer.positions == "absolute")


# Tasks that only look like these


@dataclass(frozen=True, kw_only=True)
class LastBit(BitParity):
    name: ClassVar[str] = "last-bit"

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return ("o" if tokens[-1] == "1" else "e",)


@dataclass(frozen=True, kw_only=True)
class FirstLetter(RepeatCopy):
    name: ClassVar[str] = "first-letter"

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return tokens[1:2]


@dataclass(frozen=True, kw_only=True)
class Descending(Sorting):
    name: ClassVar[str] = "descending"

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return super().reference(tokens)[::-1]


@dataclass(frozen=True, kw_only=True)
class AllOnes(InterleavedMajority):
    name: ClassVar[str] = "all-ones"

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return ("1",) * self.strings


@pytest.mark.parametrize("kind", [LastBit, FirstLetter, Descending, AllOnes])
def test_premises_are_checked_on_the_task_itself(kind: type[Task]) -> None:
    with pytest.raises(WeftError):
        predict_task(kind())
