"""Programs of copies and of counter languages, against definitions by brute force."""

from __future__ import annotations

from itertools import permutations, product

import pytest

from weft.crasp import CraspProgram, library, parse, run, run_batch
from weft.errors import WeftError
from weft.tasks import task
from weft.tasks.formal import FormalLanguage
from weft.theory.length.transductions.comparison import check_program, first_mistake
from weft.theory.length.transductions.programs import (
    MEMBERSHIP_PROGRAMS,
    NEXT_PROGRAMS,
    counted_copy,
    local_copy,
)
from weft.theory.length.transductions.questions import all_inputs, input_prompt, word_prompt


def allowed(program: CraspProgram, word: tuple[str, ...]) -> set[str]:
    values = run(program, word).values
    return {symbol for symbol, line in program.next_symbols.items() if values[line][-1]}


@pytest.mark.parametrize("make", [counted_copy, local_copy])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_copies(make: object, stride: int) -> None:
    letters = 3 * stride if stride < 3 else 4
    program = make(letters, stride)  # type: ignore[operator]
    symbols = [a for a in program.alphabet if a not in "#|"]
    assert len(symbols) == letters
    words = [
        ("#",) * (stride - 1) + word
        for groups in range(1, letters // stride + 1)
        for word in permutations(symbols, groups * stride)
    ]
    for word in words[:: max(1, len(words) // 60)]:
        answer = ("", *word)[stride::stride]
        for done in range(len(answer) + 1):
            expected = {answer[done]} if done < len(answer) else set()
            assert allowed(program, (*word, "|", *answer[:done])) == expected


def test_copies_by_counting_use_no_positions() -> None:
    for stride in (1, 3):
        assert not counted_copy(4, stride).locals
        assert not counted_copy(4, stride).periodics
        assert local_copy(4, stride).locals


def _nested(word: str) -> bool:
    """Whether each kind of bracket is well nested on its own."""
    for kind in ("()", "[]"):
        depth = 0
        for symbol in word:
            depth += (symbol == kind[0]) - (symbol == kind[1])
            if depth < 0:
                return False
        if depth:
            return False
    return True


def _equal_runs(letters: str, word: str) -> bool:
    count = len(word) // len(letters)
    return word == "".join(a * count for a in letters)


def _expression(word: str) -> bool:
    """Whether a word is one expression, read by recursive descent."""

    def end(start: int) -> int | None:
        if start >= len(word):
            return None
        if word[start] in "01":
            return start + 1
        at: int | None = start + 1
        for _ in range("abcde".index(word[start]) + 1):
            if at is None:
                return None
            at = end(at)
        return at

    return end(0) == len(word)


DEFINITIONS = {
    "dyck-1": ("()", _nested, 6),
    "shuffle-2": ("()[]", _nested, 4),
    "anbn": ("ab", lambda word: _equal_runs("ab", word), 6),
    "anbncn": ("abc", lambda word: _equal_runs("abc", word), 6),
    "4-count": ("abcd", lambda word: _equal_runs("abcd", word), 4),
    "boolean-3": ("01abc", _expression, 4),
    "boolean-5": ("01abcde", _expression, 3),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_what_may_come_next(name: str) -> None:
    """Legal symbols are those from which some word can be reached, found by trying all words.

    Only prefixes that have a completion within the length are compared.
    """
    alphabet, member, length = DEFINITIONS[name]
    words = [
        "".join(word)
        for size in range(length + 1)
        for word in product(alphabet, repeat=size)
        if member("".join(word))
    ]
    program = NEXT_PROGRAMS[name]()
    accepting = run_batch(program, words)
    assert accepting.accepted.all()
    completed = {word[:k] for word in words for k in range(len(word) + 1)}
    for prefix in completed:
        said = allowed(program, tuple(prefix))
        assert {a for a in alphabet if prefix + a in completed} <= said
        assert run(program, tuple(prefix)).accepted == member(prefix)
    for prefix in completed:  # what is said to be legal must be completed by some longer word
        for symbol in allowed(program, tuple(prefix)):
            assert _completable(name, prefix + symbol)


def _completable(name: str, prefix: str) -> bool:
    """Whether a prefix has a completion, by the obvious one."""
    _, member, _ = DEFINITIONS[name]
    if name in ("dyck-1", "shuffle-2"):
        closing = "".join(
            kind[1] * (prefix.count(kind[0]) - prefix.count(kind[1])) for kind in ("()", "[]")
        )
        return member(prefix + closing)
    if name.startswith("boolean"):
        return any(member(prefix + "0" * more) for more in range(5 * len(prefix) + 2))
    letters = DEFINITIONS[name][0]
    count = prefix.count(letters[0])
    rest = "".join(a * (count - prefix.count(a)) for a in letters[1:])
    return member(prefix + rest)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_membership_programs_have_the_letters_of_the_tasks(name: str) -> None:
    symbols = task("formal-language", language=name).symbols
    assert set(library.load(MEMBERSHIP_PROGRAMS[name]).alphabet) == set(symbols)
    assert set(NEXT_PROGRAMS[name]().alphabet) == set(symbols)


def test_mistakes_are_found() -> None:
    wrong = parse("""
        alphabet 0 1 "|"
        NEXT_0 := Q_"|" and # Q_1 <= # Q_0
        NEXT_1 := Q_"|" and # Q_0 < # Q_1 and # Q_1 != 5
    """)
    majority = task("binary-majority")
    names = {"0": "0", "1": "1"}
    prompts = [
        input_prompt(majority, word, names)
        for length in range(6)
        for word in all_inputs(majority, "01", length)
    ]
    mistake = first_mistake(wrong, prompts)
    assert mistake == ("1",) * 5 + ("|",)
    with pytest.raises(WeftError, match=r"is wrong after '11111\|'"):
        check_program(wrong, prompts, "binary-majority")


def test_prompts_ask_for_the_whole_answer_and_its_end() -> None:
    prompt = input_prompt(task("sorting"), ("3", "1"), {"1": "a", "3": "c"})
    assert prompt.word == ("c", "a", "|", "a", "c")
    assert prompt.asked == {3: {"a"}, 4: {"c"}, 5: {"<end>"}}
    dyck = FormalLanguage(language="dyck-1")
    assert word_prompt(dyck, ("(",)).asked == {0: {"(", "<end>"}, 1: {"(", ")"}}
