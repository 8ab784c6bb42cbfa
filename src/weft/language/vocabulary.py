"""The tokens that a program reads, and how text becomes tokens."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from weft.errors import WeftError, check_known, unknown_name


@dataclass(frozen=True)
class Vocabulary:
    """Named tokens, or `size` unnamed ones, or (both None) any number at all.

    A program names its tokens as it likes: `["s", "0", "1"]`, or `[0, 1, "s"]`, whose numbers are
    0, 1 and 2. Initialisers are given the name; unnamed tokens are given as their number.
    """

    names: tuple[Hashable, ...] | None = None
    size: int | None = None

    @cached_property
    def numbers(self) -> dict[Hashable, int]:
        """The number of each named token."""
        return {name: number for number, name in enumerate(self.names or ())}

    @cached_property
    def _by_text(self) -> dict[str, Hashable]:
        return {str(name): name for name in self.names or ()}

    def number(self, token: Any) -> int:
        """The number of a token, checked."""
        if self.names is not None:
            try:
                return self.numbers[token]
            except (KeyError, TypeError):
                pass
            raise unknown_name(f"there is no token {token!r}", str(token), map(str, self.names))
        try:
            number = operator.index(token)
        except TypeError:
            raise WeftError(
                f"{token!r} is not a token: this program names none, so tokens are numbers",
                remedy="Give whole numbers",
            ) from None
        if number < 0 or (self.size is not None and number >= self.size):
            bound = "at least 0" if self.size is None else f"in 0..{self.size - 1}"
            raise WeftError(f"there is no token {token!r}", remedy=f"Tokens are {bound}")
        return number

    def all_numbers(self, tokens: list[Any]) -> list[int]:
        """The numbers of many tokens, checked."""
        if self.names is not None:
            numbers = self.numbers
            try:
                return [numbers[token] for token in tokens]
            except (KeyError, TypeError):
                pass  # looked at one by one, to say which it was
        return [self.number(token) for token in tokens]

    def name(self, number: int) -> Any:
        """The token with this number, as the program names it."""
        return self.names[number] if self.names is not None else number

    def parse(self, text: str) -> list[Any]:
        """Tokens from text: characters if every name is one character, otherwise words."""
        if self.names is None:
            return [_as_number(word) for word in _words(text, single=True)]
        single = all(len(written) == 1 for written in self._by_text)
        words, by_text = _words(text, single), self._by_text
        try:
            return [by_text[word] for word in words]
        except KeyError:
            return [self._named(word) for word in words]

    def show(self, tokens: Iterable[Any]) -> str:
        """Tokens as text, which `parse` reads back."""
        written = [str(token) for token in tokens]
        single = self.names is None or all(len(name) == 1 for name in self._by_text)
        return ("" if single and all(len(word) == 1 for word in written) else " ").join(written)

    def _named(self, word: str) -> Any:
        check_known(word, self._by_text, f"there is no token '{word}'")
        return self._by_text[word]


def vocabulary(tokens: Sequence[Hashable] | int | None) -> Vocabulary:
    """The vocabulary that a program's `tokens` attribute stands for."""
    if tokens is None:
        return Vocabulary()
    if isinstance(tokens, int):
        if tokens < 1:
            raise WeftError(f"a vocabulary needs at least one token, not {tokens}")
        return Vocabulary(size=tokens)
    try:
        names = tuple(tokens)
    except TypeError:
        raise WeftError(
            f"tokens is {tokens!r}",
            remedy="List them, as in tokens = ['a', 'b'], or give their number",
        ) from None
    texts = [str(name) for name in names]
    twice = sorted({text for text in texts if texts.count(text) > 1})
    if twice or not names:
        what = f"the token {twice[0]!r} is listed twice" if twice else "there are no tokens"
        raise WeftError(what, remedy="List each token once, as in tokens = ['a', 'b']")
    return Vocabulary(names=names, size=len(names))


def _words(text: str, single: bool) -> list[str]:
    spaced = text.replace(",", " ").split() if not single or " " in text or "," in text else None
    return spaced if spaced is not None else list(text)


def _as_number(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise WeftError(
            f"'{word}' is not a token: this program names none, so tokens are numbers",
            remedy="Write numbers, as in '1 0 2' or '102'",
        ) from None
