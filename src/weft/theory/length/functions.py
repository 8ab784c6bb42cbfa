"""Predict length generalisation of a Python function of words, from its answers alone.

No finite number of answers determines a function, so everything here is said as far as it was
compared: on all words up to a stated length, and on random longer ones. In order:

    automaton      if short words determine an automaton that agrees, the deciders answer for it
    family         if the function agrees with one that communication refutes, the answer is no
    program        if a search finds a C-RASP program that agrees, the answer is yes
    communication  otherwise it is unknown, and the growth of messages is shown as evidence
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, permutations, product

from weft.errors import WeftError
from weft.theory.length.answers import Answer, Positions
from weft.theory.length.communication import FAMILIES, FoolingFamily, communication
from weft.theory.length.learning import Learned, learn
from weft.theory.length.regular import predict_language
from weft.theory.length.search import SearchResult, search
from weft.theory.length.word_functions import WordFunction, shown
from weft.theory.length.word_samples import longest_length, random_words

MAX_LENGTH = 12
COMPARED = 20_000
"""All words are compared up to the longest length with this many of them in all."""
CHOICES = 64
"""Choices of letters for a refuted function that are tried, at most."""
FOOLING_LENGTH = 12
"""Rows of a refuted function are compared up to this N."""
SIFTED = 64
"""So many words are compared first."""
TABLE_LENGTH = 6
"""Communication tables go to this N."""


def predict_function(
    function: Callable[..., object],
    alphabet: Sequence[str],
    *,
    max_length: int = MAX_LENGTH,
    seconds: float = 60.0,
    patience: float = 30.0,
    seed: int = 0,
) -> tuple[Answer, Answer]:
    """Predict length generalisation on the language of a function, without and with positions.

    Args:
        function: whether a word is in the language. The word is text if every symbol is one
            character, otherwise a tuple of symbols.
        alphabet: the symbols; they are part of the question.
        max_length: all words up to this length are compared, if there are at most `COMPARED`.
        seconds: how long the search for a program may take.
        patience: how many seconds the function may take for one batch of words.
        seed: of random words.

    Returns:
        The answers without positions and with learned absolute ones.

    Raises:
        WeftError: if the function raises, does not return, gives two answers for one word, or an
            answer other than true or false.

    Example:
        >>> answers = predict_function(lambda word: word.count("1") % 2 == 0, "01", max_length=8)
        >>> [(answer.verdict, answer.support, answer.checked_to) for answer in answers]
        [('no', 'checked', 8), ('no', 'checked', 8)]
    """
    if max_length < 1:
        raise WeftError(f"the length cannot be {max_length}", remedy="Give at least 1")
    if seconds <= 0:
        raise WeftError(f"a search cannot take {seconds} s", remedy="Give more than 0 seconds")
    asked = WordFunction(function, alphabet, boolean=True, seconds=patience)

    def find(positions: bool) -> SearchResult:
        return search(asked.alphabet, asked, max_length, seconds / 2, positions, seed=seed)

    learned = learn(asked, max_length, budget=COMPARED, seed=seed)
    if learned.supported:
        return _of_automaton(learned, find)
    found = _agreeing_family(asked, max_length, seed)
    if found is not None:
        return found
    plain = find(False)
    if plain.program is not None:
        return _yes("none", plain), _yes("absolute", plain)
    evidence = _evidence(asked, learned)
    none = replace(_unknown(plain, evidence), positions="none")
    richer = find(True)
    return none, _yes("absolute", richer) if richer.program else _unknown(richer, evidence)


# Automata


def _of_automaton(learned: Learned, find: Callable[[bool], SearchResult]) -> tuple[Answer, Answer]:
    """The answers of the deciders for a learned automaton."""
    dfa = learned.dfa
    assert dfa is not None
    found = predict_language(dfa)
    states = f"{dfa.size} state{'s' * (dfa.size > 1)}"
    lines = (
        f"learned from its answers: an automaton of {states}, which agrees on all words up to "
        f"length {learned.length} and on {learned.random_words} random ones up to length "
        f"{learned.longest}",
        *(
            [f"no other automaton of at most {learned.unique_to} states agrees"]
            if learned.unique_to >= dfa.size
            else []
        ),
    )
    answers = []
    for answer in (found.none, found.absolute):
        if answer.positions == "absolute" and answer.verdict == "unknown":
            result = find(True)
            if result.program is not None:
                answers.append(_yes("absolute", result))
                continue
        change = "a longer word on which the function and the automaton differ"
        answers.append(
            replace(
                answer,
                support="none" if answer.verdict == "unknown" else "checked",
                reason=f"as far as tried, it is the language of an automaton of {states}: "
                f"{answer.reason}",
                details=(*lines, *answer.details),
                change=f"{change}; {answer.change}" if answer.change else change,
                checked_to=learned.length,
            )
        )
    return answers[0], answers[1]


# Functions that communication refutes


def _agreeing_family(
    asked: WordFunction, max_length: int, seed: int
) -> tuple[Answer, Answer] | None:
    """The answers if the function agrees with a refuted one on the words of some of its letters.

    A program restricted to these letters would be a program of the refuted function.
    """
    rng = random.Random(seed)
    for family in FAMILIES.values():
        size = len(family.alphabet)
        length = longest_length(size, max_length, COMPARED)
        short = [w for long in range(length + 1) for w in product(family.alphabet, repeat=long)]
        longer = [*random_words(rng, family.alphabet, 200, 4 * length), *_fooling(rng, family)]
        words = [*short, *longer]
        expected = [family.function("".join(word)) for word in words]
        if None in expected or size > len(asked.alphabet):
            continue
        for letters in islice(_choices(family.alphabet, asked.alphabet), CHOICES):
            names = dict(zip(family.alphabet, letters, strict=True))
            renamed = [tuple(names[a] for a in word) for word in words]
            if asked.answers(renamed[:SIFTED]) == expected[:SIFTED]:
                if asked.answers(renamed) == expected:
                    longest = max(map(len, longer))
                    return _of_family(
                        family,
                        names,
                        length,
                        f"and on {len(longer)} longer ones up to length {longest}",
                    )
    return None


def _fooling(rng: random.Random, family: FoolingFamily) -> list[tuple[str, ...]]:
    """Long words of a family: rows of which a column accepts one and not the other."""
    words = []
    for length in range(2, FOOLING_LENGTH + 1):
        one, two = rng.sample(family.rows(length), 2)
        column = family.column(one, two)
        words += [tuple(one + column), tuple(two + column)]
    return words


def _choices(wanted: Sequence[str], symbols: Sequence[str]) -> Iterator[Sequence[str]]:
    """Letters that may stand for those of a family: its own first, if they are there."""
    if set(wanted) <= set(symbols):
        yield wanted
    yield from permutations(symbols, len(wanted))


def _of_family(
    family: FoolingFamily, names: Mapping[str, str], length: int, longer: str
) -> tuple[Answer, Answer]:
    verified = family.verify()
    one, two = family.rows(2)[1:3]
    column = family.column(one, two)
    examples = [tuple(names[a] for a in row + column) for row in (one, two)]
    letters = " ".join(names.values())
    answer = Answer(
        positions="none",
        verdict="no",
        support="checked",
        reason=f"as far as tried, on the letters {letters} it is the language {family.name}, which "
        "needs messages of N bits; a program passes on O(log N)",
        details=(
            f"agrees with {family.name} on all words of {letters} up to length {length} {longer}",
            f"{family.growth} words of length N need different messages: {family.argument}",
            f"for N = 2: one of {shown(examples[0])} and {shown(examples[1])} is in the language",
            f"checked on all pairs to N = {verified}",
        ),
        change=f"a longer word on which the function and {family.name} differ",
        checked_to=length,
    )
    return answer, replace(answer, positions="absolute")


# Programs


def _yes(positions: Positions, result: SearchResult) -> Answer:
    return Answer(
        positions=positions,
        verdict="yes",
        support="checked",
        reason="a search found a C-RASP program that agrees with the function",
        details=(
            f"compared on all words up to length {result.checked_length} and on "
            f"{result.random_words} random ones up to length {result.longest}",
        ),
        change="a longer word on which the function and the program differ",
        program=str(result.program),
        checked_to=result.checked_length,
    )


def _unknown(result: SearchResult, evidence: Sequence[str]) -> Answer:
    return Answer(
        positions="absolute",
        verdict="unknown",
        support="none",
        reason="no small automaton agrees with the function, and no small C-RASP program was found",
        details=(f"search: {result}", *evidence),
        change="a C-RASP program (a yes), or a rule for words of every length that need different "
        "messages (a no)",
    )


def _evidence(asked: WordFunction, learned: Learned) -> tuple[str, ...]:
    """What learning and communication say of a function for which nothing was found."""
    lines = []
    if learned.dfa is not None:
        lines.append(
            f"an automaton of {learned.dfa.size} states agrees with all words that were tried, but "
            f"words of length {learned.needed} determine it, and all were compared only up to "
            f"length {learned.length}: give a larger length"
        )
    halves = longest_length(len(asked.alphabet), 2 * TABLE_LENGTH, COMPARED) // 2
    length = min(TABLE_LENGTH, max(1, halves))
    found = communication(asked, asked.alphabet, max_length=length)
    rows = ", ".join(str(row.rows) for row in found.table)
    lines.append(
        f"communication: {rows} different messages are needed for N = 1 to {length} "
        f"({found.growth}); this is evidence, not a proof"
    )
    return tuple(lines)
