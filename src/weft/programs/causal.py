"""Causal programs: what comes next? Induction head, counting in context, and a^n b^n.

No position sees a later one, and the output is the next token, so `weft.generate` can let these
programs continue a prompt, as a language model does:

    >>> import weft
    >>> "".join(weft.generate(weft.program("induction-head"), "badge"))
    'badge'
    >>> weft.generate(weft.program("count-so-far"), "abaaba")
    ['3']
    >>> "".join(weft.generate(weft.program("anbn"), "aaaa"))
    'bbbb'
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import weft
from weft.programs.counting import START, counted, shares

BAR = "|"


class InductionHead(weft.Program):
    """Copying by an induction head: find the previous occurrence of a token, output its successor.

    In the first layer every position stores the token before it. In the second it attends to the
    position that stored its own token: the token there followed it last time. If there is none, it
    attends to the first bar alone, whose number is 0. The mean over the bar, 0, and the token, v,
    is v / 2. So the head is defined even if the token is new.

    Two layers and two heads; variables with a value for each letter and a few more. A prompt
    `badge` becomes `|badge|`, and is continued until the bar comes again; no letter may occur in it
    twice.
    """

    causal, stop, layers = True, BAR, 2

    def __init__(self, letters: str = "abcdefgh") -> None:
        size = len(letters) + 1  # the bar is number 0
        first = size  # what the first position stores
        tokens = [BAR, *letters]
        self.letters = letters
        self.tokens = tokens
        self.token = weft.var(size, token=tokens.index)
        self.number = weft.number(range(size), token=tokens.index)
        wanted = [{token, first} for token in range(size)]
        self.wanted = weft.subset(size + 1, wanted, token=lambda t: wanted[tokens.index(t)])
        self.is_first = weft.var(2, position=lambda i: i == 0)
        self.before = weft.var(size + 1, default=first)
        self.following = weft.var(size)
        self.left = weft.relative(self.token, -1)
        self.mean = weft.attend(
            self.wanted,
            self.before,
            self.number,
            output=weft.number([token / 2 for token in range(size)]),
        )
        self.output = self.following

    def step(z: Any) -> None:
        if not z.is_first:
            z.before = z.left
        z.following = round(2 * z.mean)  # right from the second layer on

    def encode(self, text: str) -> Sequence[Any]:
        """A word between two bars; or what has bars already, as it is."""
        tokens = self.vocabulary.parse(text)
        if BAR in tokens:
            return tokens
        twice = [token for token in tokens if tokens.count(token) > 1]
        if twice:
            raise weft.WeftError(
                f"'{twice[0]}' occurs twice, so its successor is ambiguous",
                remedy="Give a word with distinct letters",
            )
        return [BAR, *tokens, BAR]

    def decode(self, stream: weft.Stream) -> Any:
        """What should come next, after each token."""
        following: Any = stream["following"]
        return "".join(map(self.vocabulary.name, following))

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A word between bars, and the beginning of its copy."""
        word = rng.sample(self.letters, rng.randint(1, min(length, len(self.letters))))
        return [BAR, *word, BAR, *word][:length]

    def task(self, tokens: Sequence[Any]) -> Any:
        """What followed the previous occurrence of each token; a bar if there is none."""
        return "".join(
            tokens[tokens.index(token) + 1] if token in tokens[:place] else BAR
            for place, token in enumerate(tokens)
        )


class CountSoFar(weft.Program):
    """Counting in context: after each letter, the number of times that it occurred before.

    The share is that of `histogram`, except that a causal head sees earlier positions only. A
    number is followed by the end.

    One layer and one head, variables with a value for each token; up to ten letters, so that the
    count is a digit.
    """

    causal, stop, layers = True, ".", 1

    def __init__(self, letters: str = "abc") -> None:
        tokens = [START, *letters, *"0123456789", "."]
        size, self.zero = len(tokens), len(letters) + 1
        self.letters = letters
        self.tokens = tokens
        self.positions = 12
        self.token = weft.var(size, token=tokens.index)
        alike = [{0, token} for token in range(size)]
        self.alike = weft.subset(size, alike, token=lambda t: alike[tokens.index(t)])
        self.start = weft.number([0, 1], token=lambda t: t == START)
        self.following = weft.var(size, default=size - 1)
        self.share = weft.attend(self.alike, self.token, self.start, output=weft.number(shares(10)))
        self.output = self.following

    def step(self, z: Any) -> None:
        if 0 < z.token < self.zero:
            z.following = self.zero + counted(z.share) - 1

    def encode(self, text: str) -> Sequence[Any]:
        """Letters, behind a start mark."""
        tokens = self.vocabulary.parse(text)
        return tokens if tokens[:1] == [START] else [START, *tokens]

    decode = InductionHead.decode

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """Random letters of a few kinds."""
        return [START, *rng.choices(self.letters, k=min(length, 11) - 1)]

    def task(self, tokens: Sequence[Any]) -> Any:
        """The counts, by counting; the end after anything but a letter."""
        return "".join(
            str(tokens[:place].count(token)) if token in self.letters else "."
            for place, token in enumerate(tokens)
        )


class AnBn(weft.Program):
    """The language a^n b^n: continues with b until there are as many b as a, then ends.

    One head averages over everything so far; as long as b are missing, more than half of it is a.
    The smallest such share is n / (2n - 1). So there are two buckets, 1/2 and this one, and the
    distance between them bounds n.

    One layer and one head, and no variable with more than three values, for up to `most` a. This is
    greedy decoding of the language a^n b^n.
    """

    causal, stop, layers = True, ".", 1

    def __init__(self, most: int = 16) -> None:
        self.most = most
        self.tokens = ["a", "b", "."]
        self.positions = 2 * most
        self.all = weft.var(1)
        self.is_a = weft.number([0, 1], token=lambda t: t == "a")
        self.following = weft.var(3, default=1)
        self.share = weft.attend(
            self.all, self.all, self.is_a, output=weft.number([1 / 2, most / (2 * most - 1)])
        )
        self.output = self.following

    def step(z: Any) -> None:
        if z.share <= 1 / 2:
            z.following = 2

    def encode(self, text: str) -> Sequence[Any]:
        """Some a, then at most as many b."""
        tokens = self.vocabulary.parse(text)
        count = tokens.count("a")
        if not re.fullmatch("a+b*", "".join(tokens)) or not len(tokens) <= 2 * count:
            raise weft.WeftError(
                "no word of a^n b^n begins like this",
                remedy="Give some a, then at most as many b",
            )
        if count > self.most:
            raise weft.WeftError(
                f"{count} a are too many",
                remedy=f"Give up to {self.most}, or make the program with a larger `most`",
            )
        return tokens

    decode = InductionHead.decode

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """The beginning of a word."""
        count = rng.randint((length + 1) // 2, min(length, self.most))
        return [*"a" * count, *"b" * (length - count)]

    def task(self, tokens: Sequence[Any]) -> Any:
        """Whether a b is missing, after each token."""
        prefixes = (tokens[: place + 1] for place in range(len(tokens)))
        return "".join("b" if prefix.count("b") < prefix.count("a") else "." for prefix in prefixes)
