"""Tokens of program traces: texts are read back as they were, and unknown text is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.ptg.language import BOOLEANS, COUNTERS, INTEGERS, LISTS, RICH, Language
from weft.ptg.tokens import SPECIAL, Tokeniser, symbols_of
from weft.tasks.program_traces import ProgramTraces

SYMBOLS = Tokeniser(symbols_of(RICH, step_index=True))
CHARACTERS = Tokeniser(symbols_of(RICH, step_index=True, level="characters"))


@given(st.lists(st.sampled_from(symbols_of(RICH, step_index=True)), max_size=30))
def test_any_sequence_of_symbols_is_read_back(symbols: list[str]) -> None:
    text = "".join(symbols)
    for tokeniser in (SYMBOLS, CHARACTERS):
        assert tokeniser.decode(tokeniser.encode(text)) == text


@pytest.mark.parametrize("level", ["symbols", "characters"])
def test_documents_are_read_back(level: Any) -> None:
    made = ProgramTraces(level=level, context=4096)
    for row in made.batch("train", 0, 0, 50).tokens.tolist():
        tokens = bytes(token for token in row if token)
        text = made.decode(tokens)
        assert made.tokeniser.encode(re.sub("<[a-z]+>", "", text)) == bytes(
            token for token in tokens if token >= len(SPECIAL)
        )


def test_names_and_digits_are_one_token_each() -> None:
    for name in (*INTEGERS, *BOOLEANS, *LISTS, *COUNTERS, *"0123456789"):
        assert len(SYMBOLS.encode(name)) == 1
    assert len(SYMBOLS.encode("-1234567890")) == 11
    assert len(SYMBOLS.encode("L1203,")) == 6


def test_the_vocabulary_has_no_symbol_that_the_options_never_write() -> None:
    plain = set(symbols_of())
    assert {" * ", "else:", "#", " ", "cnt_2"} & plain == set()
    assert {" * ", "else:", "#", "cnt_2"} <= set(symbols_of(RICH))
    assert " " in symbols_of(step_index=True)
    assert set(symbols_of(Language(depth=2))) - plain == {"cnt_2", " \t\t\t"}
    assert len(Tokeniser(symbols_of(RICH, step_index=True)).vocabulary) < 256


@pytest.mark.parametrize(
    ("text", "line"),
    [("L1 def g(a):\n", 1), ("L2,a:3\nL3,é:4\n", 2), ("L2,a:3\n\tx = 1.5", 2), ("L2,a:\u0663", 1)],
)
def test_text_without_symbols_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(WeftError, match=f"line {line} has no symbol for"):
        Tokeniser(symbols_of()).encode(text)


def test_numbers_that_are_no_tokens_are_refused() -> None:
    with pytest.raises(WeftError, match="there are 120 tokens"):
        Tokeniser(symbols_of()).decode([5, 120])
