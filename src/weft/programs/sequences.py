"""Rearranging letters: reverse, two ways, and copy.

Letters move either one position per layer, by heads that look at a neighbour, or all at once, by
heads that look at an absolute position. The first kind needs a layer per letter and works for any
length; the second needs a constant number of layers and a value for every position.
"""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from typing import Any

import weft

START, END, BLANK = "<", ">", "_"
LETTERS = string.ascii_lowercase


class Reverse(weft.Program):
    """Reversal by swapping neighbours, everywhere in parallel, once per letter.

    Positions pair up with the right or the left neighbour in turn and always swap, so every letter
    moves steadily to one end, turns round there, and stops at its mirror image. It is `sort`
    without the comparison. `done` moves along as a clock.

    N layers and three heads for N letters, and no variable that grows with N.
    """

    tokens = [START, *LETTERS, END]

    letter = weft.var(27, token=lambda t: LETTERS.find(t) + 1)  # 0 stands for both marks
    pairs_left = weft.var(2, position=lambda i: i % 2)
    done = weft.var(2, token=lambda t: t in (START, END))
    left = weft.relative(letter, -1)
    right = weft.relative(letter, 1)
    done_left = weft.relative(done, -1)

    output = letter
    halt = done == 1

    def step(z: Any) -> None:
        if z.letter:
            z.letter = (z.left if z.pairs_left else z.right) or z.letter  # marks do not swap
            z.done |= z.done_left
        z.pairs_left = 1 - z.pairs_left

    def encode(self, text: str) -> Sequence[Any]:
        """Letters between two marks."""
        return [START, *word(text.removeprefix(START).removesuffix(END)), END]

    def decode(self, stream: weft.Stream) -> Any:
        """The letters in their new order."""
        return spelt(stream["letter"][1:-1])

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """Random letters between two marks."""
        return [START, *rng.choices(LETTERS, k=max(0, length - 2)), END]

    def task(self, tokens: Sequence[Any]) -> Any:
        """The letters backwards."""
        return "".join(tokens[-2:0:-1])


class ReverseAbsolute(weft.Program):
    """Reversal in two layers: find the end, then fetch the letter at the mirrored position.

    The first layer fetches the index of the end mark and subtracts; the second looks up the
    position that was computed. A head cannot use the result of another head of its layer, so this
    takes two layers, for any length.

    Two layers and two heads; two variables and a head with a value for each of `positions`.
    """

    layers = 2

    def __init__(self, positions: int = 16) -> None:
        self.tokens = [START, *LETTERS, END]
        self.positions = positions
        self.letter = weft.var(27, token=lambda t: LETTERS.find(t) + 1)
        self.index = weft.var(positions, position=lambda i: i)
        self.is_end = weft.var(2, token=lambda t: t == END)
        self.yes = weft.var(2, default=1)
        self.mirror = weft.var(positions)
        self.measured = weft.var(2)
        self.end = weft.attend(self.yes, self.is_end, self.index)
        self.opposite = weft.attend(self.mirror, self.index, self.letter)
        self.output = self.letter

    def step(z: Any) -> None:
        if z.measured:
            z.letter = z.opposite
        else:
            z.mirror = z.end - z.index
            z.measured = 1

    encode = Reverse.encode
    decode = Reverse.decode
    sample = Reverse.sample
    task = Reverse.task


class Copy(weft.Program):
    """Copying a word to the blanks after it, like a conveyor belt.

    In every layer every position takes over what its left neighbour carried, so the whole word
    moves to the right, followed by a flag. When the flag reaches the end mark, the word has
    arrived: all positions attend to the mark, and halt.

    N + 2 layers and three heads for N letters, and no variable that grows with N.
    """

    tokens = [START, *LETTERS, END, BLANK]

    first = weft.var(2, token=lambda t: t == START)
    is_end = weft.var(2, token=lambda t: t == END)
    yes = weft.var(2, default=1)
    cargo = weft.var(27, token=lambda t: LETTERS.find(t) + 1)
    flag = weft.var(2, token=lambda t: t == START)
    done = weft.var(2)
    cargo_left = weft.relative(cargo, -1)
    flag_left = weft.relative(flag, -1)
    passed = weft.attend(yes, is_end, flag)

    output = cargo
    halt = done == 1

    def step(z: Any) -> None:
        if z.passed:
            z.done = 1
        elif not z.first:
            z.cargo = z.cargo_left
            z.flag = z.flag_left

    def encode(self, text: str) -> Sequence[Any]:
        """A word between two marks, and as many blanks."""
        letters = word(text.rstrip(BLANK).removeprefix(START).removesuffix(END))
        return [START, *letters, END, *BLANK * len(letters)]

    def decode(self, stream: weft.Stream) -> Any:
        """The letters that arrived on the blanks."""
        cargo = stream["cargo"]
        return spelt(cargo[len(cargo) // 2 + 1 :])

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A random word, and its blanks."""
        return self.encode("".join(rng.choices(LETTERS, k=max(0, length - 2) // 2)))

    def task(self, tokens: Sequence[Any]) -> Any:
        """The word between the marks."""
        return "".join(tokens[1 : tokens.index(END)])


def word(text: str) -> Sequence[str]:
    """The letters of a word, without marks and blanks."""
    letters = "".join(text.split())
    strange = [letter for letter in letters if letter not in LETTERS]
    if strange:
        raise weft.WeftError(
            f"{strange[0]!r} is not a letter",
            remedy="Give a word of the letters a to z",
        )
    return letters


def spelt(numbers: Any) -> str:
    """Letters from their numbers, which count from 1."""
    return "".join(LETTERS[number - 1] for number in numbers)
