"""Predictions beyond regular languages: tasks, functions, communication and the protocol."""

from __future__ import annotations

import re
from collections.abc import Callable

from measure import Figure, seconds
from weft.crasp import library
from weft.tasks import task
from weft.theory.length.communication import FAMILIES, communication_table
from weft.theory.length.functions import predict_function
from weft.theory.length.protocol import LENGTHS, protocol
from weft.theory.length.search import search
from weft.theory.length.transductions import predict_task

FLAGS = {
    "binary-majority": ("yes", "yes"),
    "letter-majority": ("yes", "yes"),
    "interleaved-majority": ("no", "yes"),
    "sorting": ("yes", "yes"),
    "unique-copy": ("no", "yes"),
    "repeat-copy": ("no", "no"),
    "bit-parity": ("no", "no"),
    "binary-addition": ("no", "no"),
}
"""Of the paper: without positions, with learned absolute ones."""


def _balanced(word: str) -> bool:
    depth = 0
    for symbol in word:
        depth += 1 if symbol == "(" else -1
        if depth < 0:
            return False
    return depth == 0


def _matches(pattern: str) -> Callable[[str], bool]:
    return lambda word: re.fullmatch(pattern, word) is not None


SEARCHED: dict[str, tuple[str, Callable[[str], bool], bool]] = {
    "majority": ("01", lambda word: word.count("1") > word.count("0"), False),
    "Dyck-1": ("()", _balanced, False),
    "Tomita-2": ("01", _matches("(10)*"), False),
    "(aa)*": ("a", _matches("(aa)*"), True),
    "Σ*abΣ* of two letters": ("ab", _matches("[ab]*ab[ab]*"), False),
    "Σ*abΣ* of three letters": ("abc", _matches("[abc]*ab[abc]*"), True),
}


def figures() -> list[Figure]:
    wrong, unknown = _flags()
    result = [
        Figure("flags of the eight tasks that differ from the paper's, of 16", wrong, most=0),
        Figure("flags of the eight tasks that are unknown", unknown, most=4),
        Figure("the 16 flags", seconds(_flags, 1), "s"),
    ]
    for name, (alphabet, accepts, positions) in SEARCHED.items():
        found: list[bool] = []
        took = seconds(lambda: found.append(_search(alphabet, accepts, positions)), 1)  # noqa: B023
        result.append(Figure(f"{name} from membership", took if found[0] else 1e9, "s", most=60))
    reports = [protocol(library.load(name), LENGTHS, words=1) for name in library.names()]
    inexact = sum(not report.exact for report in reports)
    over = sum(
        cost.bits(row.length) > cost.factor * (row.length.bit_length() - 1) + 1e-9
        for report in reports
        for row in report.rows
        for cost in (report.cost, report.limit_cost)
        if cost is not None
    )
    name = (
        f"of {len(reports)} programs, those whose second half is not rebuilt to N = {LENGTHS[-1]}"
    )
    majority = SEARCHED["majority"][1]
    palindrome = FAMILIES["palindromes"].function
    return [
        *result,
        Figure(name, inexact, most=0),
        Figure("messages of more than C log2 N bits", over, most=0),
        Figure("majority's table to N = 8", seconds(lambda: _table(majority), 1), "s"),
        Figure("parity as a function, both answers", seconds(_parity, 1), "s"),
        Figure(
            "palindromes as a function, both answers",
            seconds(lambda: predict_function(palindrome, "ab"), 1),
            "s",
        ),
    ]


def _flags() -> tuple[int, int]:
    wrong = unknown = 0
    for name, flags in FLAGS.items():
        pair = predict_task(task(name))
        assert pair is not None
        for answer, flag in zip(pair, flags, strict=True):
            unknown += answer.verdict == "unknown"
            wrong += answer.verdict not in ("unknown", flag)
    return wrong, unknown


def _search(alphabet: str, accepts: Callable[[str], bool], positions: bool) -> bool:
    return search(alphabet, accepts, 12, 60, positions).found


def _table(function: Callable[[str], bool]) -> None:
    rows = [row.rows for row in communication_table(function, "01", 8)]
    assert rows == list(range(2, 10))


def _parity() -> None:
    pair = predict_function(lambda word: word.count("1") % 2 == 0, "01")
    assert [answer.verdict for answer in pair] == ["no", "no"]
