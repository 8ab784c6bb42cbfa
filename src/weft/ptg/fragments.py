"""Pieces of documents as tokens, made once, from which the sampler assembles documents."""

from __future__ import annotations

from functools import cached_property

from weft.ptg.language import BOOLEANS, COUNTERS, INTEGERS, LISTS, Language
from weft.ptg.tokens import Tokeniser, symbols_of
from weft.ptg.tracing import TraceFormat, number_text


class Numbers(dict[int, bytes]):
    """The tokens of integers with something before and after them, made when first needed."""

    def __init__(self, tokeniser: Tokeniser, form: TraceFormat, before: str, after: str) -> None:
        self._tokeniser, self._form = tokeniser, form
        self._before, self._after = before, after
        super().__init__()

    def __missing__(self, number: int) -> bytes:
        text = f"{self._before}{number_text(number, self._form)}{self._after}"
        self[number] = made = self._tokeniser.encode(text)
        return made


class Fragments:
    """Pieces of documents as tokens, on the level of symbols.

    Names are those of an example before its variables are renamed: number k of a kind has the k-th
    name of the kind, which is one token.

    Attributes:
        number: an integer; `line` with a line break.
        label: `L3` by line number; `head` with the comma behind it, as in a trace.
    """

    def __init__(self, language: Language, form: TraceFormat) -> None:
        plain = TraceFormat()
        self.tokeniser = tokens = Tokeniser(symbols_of(language, step_index=form.step_index))
        self.number = Numbers(tokens, form, "", "")
        self.line = Numbers(tokens, form, "", "\n")
        self.label = Numbers(tokens, plain, "L", "")
        self.head = Numbers(tokens, plain, "L", ",")
        self.integer = tuple(map(tokens.encode, INTEGERS))
        self.boolean = tuple(map(tokens.encode, BOOLEANS))
        self.list = tuple(map(tokens.encode, LISTS))
        self.counter = tuple(map(tokens.encode, COUNTERS[: language.depth]))
        self.indent = tuple(
            tokens.encode(" " + "\t" * number) if number else b""
            for number in range(language.depth + 2)
        )
        self.first_integer, self.first_boolean, self.first_list = (
            names[0][0] for names in (self.integer, self.boolean, self.list)
        )
        signs = (" = ", ":", "\n", ",")
        self.assign, self.colon, self.newline, self.comma = map(tokens.encode, signs)
        self.true_line, self.false_line = tokens.encode("True\n"), tokens.encode("False\n")

    @cached_property
    def step(self) -> Numbers:
        """The number of a step, with the blank behind it."""
        return Numbers(self.tokeniser, TraceFormat(), "", " ")
