"""Tokens of documents: the vocabulary, and text to tokens and back.

A symbol stands for a keyword with its spaces, a name, or one digit, so numbers of any size, line
labels and counters are sequences of ten trained symbols. Concatenated symbols are the text. The
vocabulary follows from the options: it has no symbol that the language and the format never write.
At most 256 tokens, so that a document is a byte string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from weft.errors import WeftError
from weft.ptg.language import BOOLEANS, COUNTERS, INTEGERS, LISTS, PAPER, Language

SPECIAL = ("<pad>", "<start>", "<end>", "<trace>")
"""Tokens that are not text; `<trace>` stands between the call and the trace."""
PAD, START, END, TRACE = range(len(SPECIAL))
DIGITS = tuple("0123456789")

Level = Literal["symbols", "characters"]

ALWAYS = (
    "L", " def f(", "):", "f(", ")", ",", ":", "\n", "=", " = ", " + ", " - ", " == ", " != ", "-",
    "[", "]", ".append(", ".pop()", "len(", "if ", "while ", "return", "True", "False",
)  # fmt: skip
"""Symbols of every language, besides digits, names, counters and indents."""


def symbols_of(
    language: Language = PAPER, *, step_index: bool = False, level: Level = "symbols"
) -> tuple[str, ...]:
    """The symbols that documents of a language may contain, or their characters.

    Args:
        language: the options of the language.
        step_index: whether trace lines start with their number and a blank.
        level: whole `symbols`, or single `characters`.

    Example:
        >>> len(symbols_of()), len(symbols_of(level="characters"))
        (116, 54)
    """
    counters = COUNTERS[: language.depth]
    indents = tuple(" " + "\t" * number for number in range(1, language.depth + 2))
    symbols = (*DIGITS, *INTEGERS, *BOOLEANS, *LISTS, *counters, *indents, *ALWAYS)
    optional = {
        " * ": language.multiplication,
        "else:": language.else_blocks,
        "#": language.comments,
        " ": step_index,
    }
    symbols += tuple(symbol for symbol, on in optional.items() if on)
    return symbols if level == "symbols" else tuple(sorted(set("".join(symbols))))


@dataclass(frozen=True)
class Tokeniser:
    """Text to token numbers and back, for one vocabulary.

    Attributes:
        symbols: the symbols; the first has the number 4, after the special tokens.
    """

    symbols: tuple[str, ...]

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The names of all tokens by number."""
        return (*SPECIAL, *self.symbols)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each symbol."""
        return {symbol: place for place, symbol in enumerate(self.symbols, len(SPECIAL))}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self.symbols, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)))

    def encode(self, text: str) -> bytes:
        r"""The tokens of a text: at each place the longest symbol.

        Example:
            >>> tokens = Tokeniser(symbols_of())
            >>> [tokens.vocabulary[token] for token in tokens.encode("L12,lst_a:[-3]\n")]
            ['L', '1', '2', ',', 'lst_a', ':', '[', '-', '3', ']', '\n']
        """
        found, place = bytearray(), 0
        for match in self._pattern.finditer(text):
            if match.start() != place:
                break
            found.append(self.numbers[match[0]])
            place = match.end()
        if place < len(text):
            line = text.count("\n", 0, place) + 1
            raise WeftError(
                f"line {line} has no symbol for {text[place : place + 12]!r}",
                subject="program traces",
                remedy="Write programs, calls and traces in the language and format of the task",
            )
        return bytes(found)

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of some tokens, which may include special ones."""
        try:
            return "".join([self.vocabulary[token] for token in tokens])
        except IndexError:
            raise WeftError(
                f"there are {len(self.vocabulary)} tokens, and one has a larger number",
                subject="program traces",
                remedy="Decode tokens with the vocabulary that they were made with",
            ) from None
