"""Breadth-first search: how far each vertex of a small graph is from a source."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import weft

START = "s"


class BreadthFirst(weft.Program):
    """Distances in a directed graph given as a list of edges; all paths grow in parallel.

    A position is an edge, `ab` from a to b; a vertex is an edge from itself to itself, and `>a`
    says that the search begins at a. In each layer every edge queries whether an edge that has been
    reached ends where it begins. If so it is reached too, and the number of the layer is the
    distance.

    Whether there is such an edge is read off an average: the start mark, with the number 1, is
    always selected, and edges have 0. The mean is below 1 if any edge is selected.

    As many layers as vertices and one head for any number of edges; four variables have a value for
    each vertex.
    """

    def __init__(self, vertices: str = "abcde") -> None:
        count = len(vertices)
        start, nowhere = count, count + 1  # a vertex that no edge leads to
        self.vertices, self.nowhere, self.layers = vertices, nowhere, count
        edges = [a + b for a in vertices for b in vertices if a != b]
        self.tokens = [START, *(f">{vertex}" for vertex in vertices), *vertices, *edges]

        def begin(token: str) -> set[int]:
            return {start} if token[0] in (START, ">") else {start, vertices.index(token[0])}

        def end(token: str) -> int:
            return start if token == START else vertices.index(token[-1])

        self.begins = weft.subset(
            nowhere + 1, [{start}, *({start, v} for v in range(count))], token=begin
        )
        self.ends = weft.var(nowhere + 1, token=end)
        self.leads = weft.var(
            nowhere + 1, token=lambda t: end(t) if t[0] in (START, ">") else nowhere
        )
        self.start = weft.number([0, 1], token=lambda t: t == START)
        self.round = weft.var(count + 1)
        self.distance = weft.var(count + 1, default=count)
        # At most 1/2 if an edge is selected beside the mark.
        self.alone = weft.attend(self.begins, self.leads, self.start, output=weft.number([0.5, 1]))
        self.output = self.distance

    def step(self, z: Any) -> None:
        if z.leads == self.nowhere and z.alone < 1:
            z.leads = z.ends
            z.distance = z.round
        z.round += 1

    def encode(self, text: str) -> Sequence[Any]:
        """The source and the edges, as in `a ab bc`; all vertices are put between them."""
        words = text.replace(",", " ").split()
        strange = [word for word in words if word not in self.vocabulary.numbers or word == START]
        if strange or not words or len(words[0]) != 1 or min(map(len, words[1:]), default=2) != 2:
            raise weft.WeftError(
                "this is not a source and edges",
                remedy=f"Write them as in 'a ab bc', with the vertices {self.vertices}",
            )
        return [START, f">{words[0]}", *self.vertices, *words[1:]]

    def decode(self, stream: weft.Stream) -> Any:
        """The distance of each vertex that can be reached."""
        distances = zip(self.vertices, stream["distance"][2:], strict=False)
        return {vertex: far for vertex, far in distances if far != len(self.vertices)}

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A random source and random edges."""
        count = max(0, length - 2 - len(self.vertices))
        edges = ("".join(rng.sample(self.vertices, 2)) for _ in range(count))
        return self.encode(" ".join([rng.choice(self.vertices), *edges]))

    def task(self, tokens: Sequence[Any]) -> Any:
        """The same with a queue."""
        source = tokens[1][1]
        edges = [token for token in tokens[2:] if len(token) == 2]
        distances = {source: 0}
        queue = [source]
        for vertex in queue:
            for begin, end in edges:
                if begin == vertex and end not in distances:
                    distances[end] = distances[vertex] + 1
                    queue.append(end)
        return distances
