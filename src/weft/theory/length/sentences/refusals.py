"""A no in words: two states that no combination of counts tells apart, though the language does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weft.automata.dfa import DFA
from weft.theory.length.blocks import BlockObstruction
from weft.theory.length.decider import Component, Decision
from weft.theory.length.sentences.conflicts import Conflict, Cycle, Letters, shortest_conflict
from weft.theory.length.sentences.text import MAX_LISTED, enumerated, more, quoted

MAX_CYCLES = 3
"""Cycles that a sentence spells out."""


@dataclass(frozen=True)
class Refusal:
    """A conflict and how it is put into words.

    Attributes:
        dfa: the automaton whose states it is about.
        component: the component that fails.
        conflict: the conflict.
        last: the letter after the ending; none if it is not read apart.
        head: lines about the automaton.
        spell_path: how paths and cycles are shown.
        unit: what is counted, "letter" or "block".
    """

    dfa: DFA
    component: Component
    conflict: Conflict
    last: Letters
    head: tuple[str, ...]
    spell_path: Callable[[Letters], str]
    unit: str

    def reason(self) -> str:
        """The conflict in a sentence."""
        found = self.conflict
        first, second = (f"the state after {self._spell(word)}" for word in found.words)
        path = self._times(found.times, self.spell_path(found.path))
        if len(found.beside) + len(found.cycles) <= MAX_CYCLES:
            left = [path, *map(self._cycle, found.beside)]
            right = enumerated([*map(self._cycle, found.cycles)])
        else:
            left = [path]
            right = f"a combination of {len(found.beside) + len(found.cycles)} cycles"
        same = f"{enumerated(left)} {'use' if len(left) > 1 else 'uses'} the same {self.unit}s"
        if not self._one_class:
            same += " in the same classes of states"
        return (
            f"no combination of counts tells {first} from {second} ({same} as {right}), "
            f"but {self._verdicts()}"
        )

    def details(self) -> list[str]:
        """What a reader can check by hand."""
        found, (one, two) = self.conflict, self.conflict.states
        words = self.dfa.access_words()
        states = self.component.states
        listed = [f"state {q} (after {self._spell(words[q])})" for q in states[:MAX_LISTED]]
        lines = [*self.head, f"component: {', '.join(listed)}{more(len(states), 'states')}"]
        if self._one_class:
            lines.append(f"{self.unit} by {self.unit},")
        else:
            lines.append(f"classes that counts tell apart: {self._classes()}")
            lines.append(f"{self.unit} by {self.unit}, class by class,")
        path = self.spell_path(found.path)
        lines.append(f"  {found.times} times {path}, from state {one} to state {two}")
        for sign, side in (("+", found.beside), ("=", found.cycles)):
            for number, each in enumerate(side[:MAX_LISTED]):
                word = f"the cycle {self.spell_path(each.word)} at state {each.state}"
                lines.append(f"  {'+' if number else sign} {each.times} times {word}")
            if len(side) > MAX_LISTED:
                lines.append(f"  + {len(side) - MAX_LISTED} more cycles")
        lines.append(
            f"so a combination of counts that no cycle changes is the same in {one} and in {two},"
        )
        lines.append(f"but {self._verdicts()}")
        return lines

    @property
    def _one_class(self) -> bool:
        return len(set(self.conflict.classes.values())) == 1

    def _classes(self) -> str:
        classes: dict[int, list[int]] = {}
        for state in self.component.states:
            classes.setdefault(self.conflict.classes[state], []).append(state)
        listed = [
            ", ".join(map(str, each[:MAX_LISTED])) + more(len(each), "states")
            for each in classes.values()
        ]
        return " | ".join(listed[:MAX_LISTED]) + more(len(listed), "classes")

    def _spell(self, word: Letters) -> str:
        return quoted(self.dfa.show_word(word))

    def _verdicts(self) -> str:
        """Which of the two whole words is accepted."""
        found = self.conflict
        one, two = (self._spell((*word, *found.ending, *self.last)) for word in found.words)
        verbs = ("accepted", "rejected") if found.accepted else ("rejected", "accepted")
        return f"{one} is {verbs[0]} and {two} is {verbs[1]}"

    def _cycle(self, cycle: Cycle) -> str:
        return self._times(cycle.times, f"the cycle {self.spell_path(cycle.word)}")

    @staticmethod
    def _times(times: int, what: str) -> str:
        return what if times == 1 else f"{times} times {what}"


def refusal(witness: Decision | BlockObstruction) -> Refusal:
    """The shortest conflict of a no, with how it is put into words."""
    return _letters(witness) if isinstance(witness, Decision) else _blocks(witness)


def _letters(decision: Decision) -> Refusal:
    part, component = decision.failing
    dfa, inside = part.dfa, set(component.states)
    edges = [
        (state, letter, then)
        for state in component.states
        for letter, then in enumerate(dfa.transitions[state])
        if then in inside
    ]
    if part.letter:
        head = f"automaton of the words before a last {part.letter}"
    else:
        head = "automaton of the language; a program does not read the last symbol by itself"
    return Refusal(
        dfa,
        component,
        shortest_conflict(dfa, component, edges),
        dfa.read_word((part.letter,)) if part.letter else (),
        (head,),
        lambda word: quoted(dfa.show_word(word)),
        "letter",
    )


def _blocks(blocks: BlockObstruction) -> Refusal:
    dfa, component = blocks.dfa, blocks.component
    inside = set(component.states)
    frame = dfa.read_word(blocks.frame)
    edges = [
        (state, block, then)
        for state in component.states
        for block, middle in enumerate(blocks.middles)
        if (then := dfa.run_from(state, (*dfa.read_word(middle), *frame))) in inside
    ]
    texts = [dfa.show_word(dfa.read_word(middle)) for middle in blocks.middles]
    listed = ", ".join(map(quoted, texts[:MAX_LISTED])) + more(len(texts), "words")
    return Refusal(
        dfa,
        component,
        shortest_conflict(dfa, component, edges),
        (),
        (
            f"blocks [v] = w v w of equal length, w = {quoted(dfa.show_word(frame))}, v = {listed}",
            "w twice acts as w once, so longer w hide the neighbours from windows and periods",
        ),
        lambda word: "".join(f"[{texts[block]}]" for block in word),
        "block",
    )
