"""The answers for the tasks of Weft that are not regular languages.

A yes is a C-RASP program, compared with the task's own answers on all inputs up to a length and on
random long ones. A no is one of the arguments of `arguments`, never the absence of a program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase
from typing import Literal

from weft.crasp import library
from weft.errors import WeftError
from weft.tasks import Task
from weft.tasks.algorithmic import (
    BinaryAddition,
    BinaryMajority,
    BitParity,
    InterleavedMajority,
    LetterMajority,
    RepeatCopy,
    Sorting,
    UniqueCopy,
)
from weft.tasks.formal import COUNTERS, FormalLanguage
from weft.theory.length.answers import Answer
from weft.theory.length.certificates import decision_certificate
from weft.theory.length.regular import predict_language
from weft.theory.length.transductions.arguments import (
    next_symbol_family,
    parity_automaton,
    unseparated_leads,
)
from weft.theory.length.transductions.comparison import (
    LONGEST,
    RANDOM,
    check_program,
    compare,
    drawn_inputs,
    drawn_questions,
    inputs_by_length,
    prefixes,
)
from weft.theory.length.transductions.distinct import copy_fixed, copy_growing, sorting
from weft.theory.length.transductions.pairs import SHOWN, UNCHANGED, Pair, both, yes
from weft.theory.length.transductions.programs import MEMBERSHIP_PROGRAMS, NEXT_PROGRAMS
from weft.theory.length.transductions.questions import Prompt, word_prompt

Alphabet = Literal["growing", "fixed"]
"""Whether a task on distinct symbols has one alphabet, or one for each length."""


def predict_task(task: Task, *, alphabet: Alphabet = "growing") -> Pair | None:
    """Predict length generalisation on an algorithmic task or a counter language.

    Args:
        task: one of `weft.tasks.algorithmic`, or `formal-language` with a counter language.
        alphabet: for unique-copy and sorting. With a growing alphabet, longer inputs have more
            different symbols, as in the experiments; with a fixed one, lengths are bounded by it.

    Returns:
        The answers without positions and with learned absolute ones. None for other tasks; regular
        languages are decided by `weft.theory.length.regular`.

    Example:
        >>> from weft.tasks import task
        >>> [answer.verdict for answer in predict_task(task("interleaved-majority"))]
        ['no', 'yes']
    """
    readings = task_readings(task)
    return readings.get(f"{alphabet} alphabet", readings.get(""))


def task_readings(task: Task) -> dict[str, Pair]:
    """The answers to every reading of a task, by name; empty if it is not one of ours.

    The name is empty if there is only one reading. Tasks on distinct symbols have two: `growing
    alphabet`, which is what published tables mean, and `fixed alphabet`.
    """
    match task:
        case BinaryMajority():
            return {"": both(_majority_bit(task))}
        case LetterMajority():
            return {"": both(_most_frequent(task))}
        case InterleavedMajority():
            return {"": _interleaved(task)}
        case BitParity():
            return {"": _parity(task)}
        case RepeatCopy() | BinaryAddition():
            return {"": both(_long_message(task))}
        case Sorting():
            return {"growing alphabet": sorting(task, True), "fixed alphabet": sorting(task)}
        case UniqueCopy():
            return {"growing alphabet": copy_growing(task), "fixed alphabet": copy_fixed(task)}
        case FormalLanguage() if task.language in COUNTERS:
            return {"": both(_counters(task))}
    return {}


def _majority_bit(task: BinaryMajority) -> Answer:
    names = {"0": "0", "1": "1"}
    found = compare(
        library.load("majority-bit"),
        inputs_by_length(task, "01", names),
        drawn_inputs(task, names),
        task.name,
    )
    return yes(
        "none",
        found,
        "one count of 0s and one of 1s, compared at the mark, decide the answer",
        change=UNCHANGED,
    )


def _most_frequent(task: LetterMajority) -> Answer:
    letters = task.symbols
    names = dict(zip(letters, ascii_lowercase, strict=False))
    few = letters[:SHOWN]
    program = library.load("most-frequent", letters=len(few))
    longer: list[Prompt] = []
    details = _names_of(few, names)
    if len(letters) == len(few):
        longer = drawn_inputs(task, names)
    elif len(letters) <= len(ascii_lowercase):
        check_program(
            library.load("most-frequent", letters=len(letters)),
            drawn_inputs(task, names),
            task.name,
        )
        details += (
            f"shown for {len(few)} letters; the program for all {len(letters)} compares every two "
            f"counts and agrees with {RANDOM} random inputs",
        )
    else:
        details += (f"shown for {len(few)} letters; for more it compares every two counts",)
    found = compare(program, inputs_by_length(task, few, names), longer, task.name)
    return yes(
        "none",
        found,
        "one count for each letter, compared with every other at the mark, decides the answer",
        details=details,
        change=UNCHANGED,
    )


def _names_of(symbols: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """A line that says what the program calls the symbols, if it calls them differently."""
    if all(names[a] == a for a in symbols):
        return ()
    renamed = ", ".join(f"{names[a]} is {a}" for a in symbols)
    return (f"in the program, {renamed}",)


def _interleaved(task: InterleavedMajority) -> Pair:
    names = {"0": "0", "1": "1"}
    if task.strings == 1:
        program = library.load("majority-bit")
        found = compare(
            program, inputs_by_length(task, "01", names), drawn_inputs(task, names), task.name
        )
        return both(yes("none", found, "with one string this is the majority of the input"))
    dfa, decision, (behind, ahead) = unseparated_leads(task)
    none = Answer(
        positions="none",
        verdict="no",
        support="theorem",
        reason=f"counts of symbols cannot tell which of the {task.strings} strings a bit is in, "
        "and the answer needs to know it",
        details=(
            f"the automaton of the lead of the first string ({3 * task.strings} states) has no "
            "weighting: no combination of counts is 0 on all of its cycles",
            f"so no program tells all inputs that end in the state of {behind} from those that end "
            f"in the state of {ahead}; the task answers them by "
            f"{' and '.join(task.reference(('<start>', *word))[0] for word in (behind, ahead))} "
            "first",
        ),
        change="positions: their remainder modulo the number of strings says which string a bit "
        "is in",
        certificate=decision_certificate(dfa, decision),
    )
    program = library.load("interleaved-majority", strings=task.strings)
    found = compare(
        program,
        inputs_by_length(task, "01", names, 4 * task.strings),
        drawn_inputs(task, names),
        task.name,
    )
    absolute = yes(
        "absolute",
        found,
        f"the position modulo {task.strings} says which string a bit is in, so each string has "
        "its own two counts",
        change="without positions there is no program",
    )
    return none, absolute


def _counters(task: FormalLanguage) -> Answer:
    if task.target == "membership":
        program = library.load(MEMBERSHIP_PROGRAMS[task.language])
        what = "whether a prefix is a word"
    else:
        program = NEXT_PROGRAMS[task.language]()
        what = "what may come next"
    task = replace(task, length=LONGEST // 3, longer=LONGEST * 2 // 3, longest=LONGEST)
    questions = drawn_questions(task)
    start = int(bool(questions) and questions[0][:1] == ("<start>",))
    longer = [word_prompt(task, question[start:]) for question in questions]
    found = compare(program, prefixes(task), longer, task.name)
    return yes(
        "none",
        found,
        f"counts of symbols, compared at every position, decide {what} in {task.language}",
        change=UNCHANGED,
    )


# A no for both encodings


def _parity(task: BitParity) -> Pair:
    found = predict_language(parity_automaton(task), last_symbol=False)
    pair = []
    for answer in (found.none, found.absolute):
        if answer.verdict != "no":
            raise WeftError("the automaton of parity passed the decider", subject=task.name)
        pair.append(
            replace(
                answer,
                support="theorem",
                reason=f"the answer is the parity of the 1s: {answer.reason}",
                details=(
                    "at the mark, a program of the task knows which inputs have an odd number of "
                    "1s, so it would give one of that language",
                    *answer.details,
                ),
                change="a bound on the number of 1s: then counts compared with constants decide it",
            )
        )
    return pair[0], pair[1]


def _long_message(task: RepeatCopy | BinaryAddition) -> Answer:
    family = next_symbol_family(task)
    verified = family.verify()
    one, two = family.rows(3)[1:3]
    column = family.column(one, two)
    nexts = [str(family.function(row + column)) for row in (one, two)]
    copying = isinstance(task, RepeatCopy)
    return Answer(
        positions="none",
        verdict="no",
        support="theorem",
        reason=f"the answer needs all N symbols of {'the input' if copying else 'a summand'}, but "
        "what a program passes on about them is O(log N) bits",
        details=(
            f"{family.growth} inputs of length N need different messages: {family.argument}",
            f"for N = 3: {one}{column} goes on with {nexts[0]}, {two}{column} with {nexts[1]}",
            f"checked with the task's own answers on all pairs to N = {verified}",
            "a program with k counts passes on at most k log2(N + 1) + b bits (weft.theory.length."
            "protocol)",
        ),
        change="distinct symbols, as in unique-copy: then each symbol says which one is next"
        if copying
        else "a bound on the length of both summands",
    )
