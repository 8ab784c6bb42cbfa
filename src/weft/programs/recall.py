"""Recall of the latest value of a name, when names are written again and again.

Heads select by equality, so "the last position with this name" is not one lookup. But the c-th
write of a name can be found in as many lookups as c has bits.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import weft
from weft.programs.counting import START, counted, shares

UNKNOWN = "?"
DIGITS = list("0123456789")


class LatestValue(weft.Program):
    """After a name, the digit that was last written to it; a name and a digit are a write.

    Every write counts how often its name has been written so far, by an average over these writes
    and the start mark. A name that asks counts them too: it looks for write number c.

    Write c is the child of write number c without its lowest set bit, and the writes that have a
    single bit are children of the name. So c names a path from the name down, from the highest bit
    to the lowest. For each bit, the writes for which it is the lowest show the node that they are
    children of, and whoever has this bit set follows. Each write has a number of its own as a node,
    its place among all writes, which is counted in the same way.

    Four layers and two per bit of the number of writes. Five heads; four of the variables have a
    value for each name and each write.
    """

    causal, stop = True, "."

    def __init__(self, names: str = "abc", writes: int = 6) -> None:
        room = writes + 1  # an answer is a write too
        bits, size = room.bit_length(), len(names)
        nobody, mark = size + room, size + 1
        tokens = [START, *names, *DIGITS, UNKNOWN, "."]
        pairs = [frozenset({number, mark}) for number in range(size)]
        alone = frozenset({mark})
        self.names, self.writes, self.bits, self.nobody = names, writes, bits, nobody
        self.pairs, self.tokens, self.unknown = pairs, tokens, tokens.index(UNKNOWN)
        self.positions = 2 * writes + 3  # the start, the writes, a name and its answer
        self.layers = 4 + 2 * bits
        self.clock = weft.var(self.layers)
        self.token = weft.var(len(tokens), token=tokens.index)
        self.is_name = weft.var(2, token=lambda t: t in list(names))
        self.is_write = weft.var(2, token=lambda t: t in DIGITS)

        # Which name a write is of, which of its writes it is, and which of all.
        self.left = weft.relative(self.token, -1)
        self.start = weft.number([0, 1], position=lambda i: i == 0)
        self.alike = weft.subset(
            size + 2,
            [*pairs, alone],
            token=lambda t: pairs[names.index(t)] if t in list(names) else alone,
        )
        self.written = weft.var(size + 2, position=lambda i: size if i else mark)
        self.every = weft.subset(3, [{1, 2}], default={1, 2})
        self.kind = weft.var(3, position=lambda i: 0 if i else 2)
        # Midway between two shares there may be another one; midway between these there is none.
        all_shares = weft.number([share * (1 + 2**-15) for share in shares(room)])
        self.share = weft.attend(self.alike, self.written, self.start, output=all_shares)
        self.share_of_all = weft.attend(self.every, self.kind, self.start, output=all_shares)
        self.bits_of_count = [f"bit_{bit}" for bit in range(bits)]
        for name in self.bits_of_count:
            setattr(self, name, weft.var(2))
        self.lowest = weft.var(bits + 1, default=bits)  # bit that is set, if any

        # The path from the name to the write, from the highest bit to the lowest.
        self.shows = weft.var(2)  # whether the next layer is that of the write's lowest bit
        self.follows = weft.var(2)  # whether the current bit of the count is set
        self.node = weft.var(nobody + 1, default=nobody)
        self.at = weft.var(
            nobody + 1, token=lambda t: names.index(t) if t in list(names) else nobody
        )
        self.parent = weft.var(nobody + 1, default=nobody)
        self.child = weft.attend(self.at, self.parent, self.node)
        self.value = weft.attend(self.at, self.node, self.token)
        self.following = weft.var(len(tokens), default=tokens.index("."))
        self.output = self.following

    def step(self, z: Any) -> None:
        if z.clock == 0:
            if z.is_write:
                z.kind = 1
                z.written = z.at = z.left - 1
                z.alike = self.pairs[z.left - 1]
        elif z.clock == 1:
            count = counted(z.share)
            for bit, name in enumerate(self.bits_of_count):
                z[name] = count >> bit & 1
            z.lowest = (count & -count).bit_length() - 1 if count else self.bits
            if z.is_write:
                z.node = len(self.names) + counted(z.share_of_all) - 1
        elif z.clock == 3 + 2 * self.bits:
            if z.is_name:
                z.following = z.value if z.lowest < self.bits else self.unknown
        elif z.clock % 2:
            z.parent = z.at if z.shows else self.nobody
            for bit, name in enumerate(self.bits_of_count):
                if z.clock == 1 + 2 * (self.bits - bit):
                    z.follows = z[name]
        else:
            if z.follows:
                z.at = z.child
            z.shows = z.is_write and z.clock == 2 * (self.bits - z.lowest)
        z.clock = min(z.clock + 1, 3 + 2 * self.bits)

    def encode(self, text: str) -> Sequence[Any]:
        """Writes such as `a3`, and names that ask, behind a start mark."""
        tokens = self.vocabulary.parse(text)
        tokens = tokens if tokens[:1] == [START] else [START, *tokens]
        writes = sum(token in DIGITS for token in tokens)
        if writes > self.writes:
            raise weft.WeftError(
                f"these are {writes} writes, and the program is made for {self.writes}",
                subject=self.name,
                remedy="Make it with a larger `writes`",
            )
        for before, token in pairwise(tokens):
            if (token in DIGITS and before not in list(self.names)) or token == START:
                raise weft.WeftError(
                    f"{token!r} comes after {before!r}",
                    subject=self.name,
                    remedy="Write names, each with a digit or without, as in 'a3b5a7a'",
                )
        return tokens

    def decode(self, stream: weft.Stream) -> Any:
        """What should come next, after each token."""
        following: Any = stream["following"]
        return "".join(map(self.vocabulary.name, following))

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """Writes and names in random order."""
        tokens, writes = [START], 0
        while len(tokens) < length:
            tokens.append(rng.choice(self.names))
            if rng.random() < 0.7 and writes < self.writes and len(tokens) < length:
                tokens.append(rng.choice(DIGITS))
                writes += 1
        return tokens

    def task(self, tokens: Sequence[Any]) -> str:
        """The same with a dictionary."""
        memory: dict[Any, str] = {}
        following = []
        for place, token in enumerate(tokens):
            if token in DIGITS:
                memory[tokens[place - 1]] = token
            following.append(memory.get(token, UNKNOWN) if token in list(self.names) else ".")
        return "".join(following)
