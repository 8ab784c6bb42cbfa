"""Automata as JSON files.

    {"alphabet": ["a", "b"],
     "start": "even",
     "accepting": ["even"],
     "transitions": {"even": {"a": "odd", "b": "even"}, "odd": {"a": "even", "b": "odd"}}}

States have any names. Every state needs a transition for every letter: which words an incomplete
automaton accepts depends on a convention, and the file should say it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from weft.automata.dfa import DFA
from weft.errors import WeftError
from weft.files import named, read_json, write_json

REMEDY = (
    'Write {"alphabet": [...], "start": STATE, "accepting": [...], '
    '"transitions": {STATE: {LETTER: STATE}}}'
)
MAX_TRANSITIONS = 1_000_000
"""The maximum number of transitions in a file."""


def read_automaton(path: str | Path) -> DFA:
    """The automaton of a file, or a `WeftError` that names the file and what is wrong."""
    path = Path(path)
    data = read_json(path, "Give an automaton as JSON")
    with named(path):
        return json_automaton(data)


def write_automaton(dfa: DFA, path: str | Path) -> None:
    """Write an automaton; its states are called 0, 1, 2, ..."""
    write_json(Path(path), automaton_json(dfa))


def automaton_json(dfa: DFA) -> dict[str, Any]:
    """An automaton as a value that JSON can hold."""
    return {
        "alphabet": list(dfa.alphabet),
        "start": str(dfa.start),
        "accepting": [str(state) for state in sorted(dfa.accepting)],
        "transitions": {
            str(state): {letter: str(then) for letter, then in zip(dfa.alphabet, row, strict=True)}
            for state, row in enumerate(dfa.transitions)
        },
    }


def json_automaton(data: Any) -> DFA:
    """The automaton that a JSON value describes; its states are numbered in their order there.

    Example:
        >>> data = {"alphabet": ["a"], "start": "x", "accepting": ["x"], "transitions": {"x": {}}}
        >>> json_automaton(data)
        Traceback (most recent call last):
            ...
        weft.errors.WeftError: the state 'x' has no transition for the letter 'a'. \
The automaton must be complete; add a state that rejects, with transitions to itself
    """
    if not isinstance(data, dict):
        raise WeftError("this is not an automaton", remedy=REMEDY)
    for key in ("alphabet", "start", "accepting", "transitions"):
        if key not in data:
            raise WeftError(f"the automaton has no {key!r}", remedy=REMEDY)
    alphabet = _list(data["alphabet"], "alphabet")
    if not all(isinstance(letter, str) for letter in alphabet):
        raise WeftError("every letter of the alphabet must be a string", remedy=REMEDY)
    table = data["transitions"]
    if not isinstance(table, dict) or not all(isinstance(row, dict) for row in table.values()):
        raise WeftError("the transitions must be an object of objects", remedy=REMEDY)
    if len(table) * max(1, len(alphabet)) > MAX_TRANSITIONS:
        raise WeftError(f"the automaton has more than {MAX_TRANSITIONS:,} transitions")
    states = {state: number for number, state in enumerate(table)}
    known = set(alphabet)
    rows = []
    for state, row in table.items():
        for letter in row:
            if letter not in known:
                raise WeftError(f"the state {state!r} has a transition for {letter!r}, which is "
                                "not in the alphabet", remedy=REMEDY)  # fmt: skip
        for letter in alphabet:
            if letter not in row:
                raise WeftError(
                    f"the state {state!r} has no transition for the letter {letter!r}",
                    remedy="The automaton must be complete; add a state that rejects, with "
                    "transitions to itself",
                )
        rows.append(tuple(_state(row[letter], states) for letter in alphabet))
    accepting = {_state(state, states) for state in _list(data["accepting"], "accepting")}
    start = _state(data["start"], states)
    return DFA(tuple(alphabet), tuple(rows), start, frozenset(accepting))


def _list(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise WeftError(f"{key!r} must be a list", remedy=REMEDY)
    return value


def _state(name: Any, states: dict[str, int]) -> int:
    """The number of a state; a number in the file means the state of that name."""
    if isinstance(name, bool) or not isinstance(name, str | int) or str(name) not in states:
        raise WeftError(f"there is no state {name!r} in the transitions", remedy=REMEDY)
    return states[str(name)]
