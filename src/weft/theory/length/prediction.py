"""Predict whether transformers generalise in length on a subject, beside what other theories say.

The prediction is that of Huang et al. (2025): without positional encoding a task generalises if
C-RASP expresses it, and with learned absolute positions if C-RASP with periodic and local
predicates does. docs/predict.md explains the output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from weft.automata import DFA, LANGUAGES
from weft.automata.files import automaton_json
from weft.crasp.program import CraspProgram
from weft.errors import WeftError
from weft.interpreter.reference import run
from weft.language.program import Program
from weft.tasks import TASKS, Task, task
from weft.tasks.formal.formal_language import FormalLanguage
from weft.tasks.sequences import Copy
from weft.theory.length.answers import Answer, Positions, Verdict
from weft.theory.length.classes import LanguageClass
from weft.theory.length.legal import predict_legal_next
from weft.theory.length.regular import LanguagePrediction, predict_language
from weft.theory.subjects import Subject

MEMBERSHIP = "membership"
NEXT_SYMBOLS = "legal next symbols"
LENGTH, SECONDS = 10, 60.0
"""Default bounds for what is known through its answers only: words that are tried, and time."""


@dataclass(frozen=True, kw_only=True)
class OtherTheory:
    """What another theory says of the same question.

    Attributes:
        name: of the theory.
        positions: the positional encoding it speaks of.
        verdict: its answer; `consistent` of a condition that is necessary only.
        reason: why.
    """

    name: str
    positions: Positions
    verdict: Verdict | Literal["consistent"]
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """The verdict for JSON."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One question about a subject, with its two answers.

    Attributes:
        question: what is asked, such as `membership`; empty if there is only one question.
        none: the answer without positional encoding.
        absolute: the answer for learned absolute positions.
    """

    question: str
    none: Answer
    absolute: Answer

    @property
    def answers(self) -> tuple[Answer, Answer]:
        """Both answers."""
        return self.none, self.absolute

    def as_dict(self) -> dict[str, Any]:
        """The reading for JSON."""
        return {
            "question": self.question,
            "none": self.none.as_dict(),
            "absolute": self.absolute.as_dict(),
        }


@dataclass(frozen=True, kw_only=True)
class LengthPrediction:
    """Whether transformers are predicted to generalise in length, without positions and with them.

    Attributes:
        readings: the questions that the subject poses, the main one first; empty if the theory does
            not cover it.
        dfa: the minimal automaton, if the subject is a regular language.
        last_symbol: whether programs may read the last symbol.
        language_class: the smallest of four classes that contains the language.
        others: what other theories say.
        uncovered: why there is no reading.
    """

    readings: tuple[Reading, ...] = ()
    dfa: DFA | None = None
    last_symbol: bool = True
    language_class: LanguageClass | None = None
    others: tuple[OtherTheory, ...] = ()
    uncovered: str = ""

    @property
    def none(self) -> Answer:
        """The answer without positional encoding to the main question."""
        return self._main.none

    @property
    def absolute(self) -> Answer:
        """The answer for learned absolute positions to the main question."""
        return self._main.absolute

    @property
    def _main(self) -> Reading:
        if not self.readings:
            raise WeftError(self.uncovered)
        return self.readings[0]

    @property
    def disagreements(self) -> tuple[str, ...]:
        """Other theories with the opposite verdict, each as a sentence."""
        if not self.readings:
            return ()
        mine = {answer.positions: answer.verdict for answer in self._main.answers}
        return tuple(
            f"{other.name} says {other.verdict} where C-RASP says {mine[other.positions]}"
            for other in self.others
            if {other.verdict, mine[other.positions]} == {"yes", "no"}
        )

    def as_dict(self) -> dict[str, Any]:
        """The prediction for JSON."""
        known = self.language_class
        return {
            "readings": [reading.as_dict() for reading in self.readings],
            "automaton": automaton_json(self.dfa) if self.dfa else None,
            "last_symbol": self.last_symbol,
            "class": None if known is None else {"name": known.name, "reason": known.reason},
            "others": [other.as_dict() for other in self.others],
            "disagreements": list(self.disagreements),
            "uncovered": self.uncovered,
        }


def predict_length(
    subject: Subject,
    *,
    last_symbol: bool = True,
    max_length: int = LENGTH,
    seconds: float = SECONDS,
) -> LengthPrediction:
    """Predict length generalisation of a subject.

    Args:
        subject: what `read_subject` gives.
        last_symbol: of a regular language, whether programs may read the last symbol.
        max_length: of a function or program, words up to this length are tried.
        seconds: of a function or program, how long the search for a program may take.

    Example:
        >>> from weft.theory.subjects import read_subject
        >>> found = predict_length(read_subject("tomita-4"))
        >>> found.none.verdict, found.absolute.verdict
        ('no', 'yes')
    """
    value = subject.value
    match subject.kind:
        case "language":
            return _language(predict_language(value, last_symbol=last_symbol))
        case "C-RASP program":
            return _crasp(value, max_length, seconds)
        case "function":
            return _function(value, subject.alphabet, max_length, seconds)
        case "task":
            return _task(value, last_symbol)
        case "program":
            return _program(value, last_symbol, max_length, seconds)


def _language(found: LanguagePrediction) -> LengthPrediction:
    legal = _legal_next(found)
    main = Reading(question=MEMBERSHIP, none=found.none, absolute=found.absolute)
    return LengthPrediction(
        readings=(main, legal),
        dfa=found.dfa,
        last_symbol=found.last_symbol,
        language_class=found.language_class,
        others=_class_theories(found.language_class),
    )


def _legal_next(found: LanguagePrediction) -> Reading:
    """The answers on legal next symbols, with the questions that have another answer."""
    none, absolute = predict_legal_next(found.dfa, last_symbol=found.last_symbol)
    if (none.verdict, absolute.verdict) == ("no", "yes"):
        none = replace(none, change="learned absolute positions: yes")
    if (none.verdict, found.none.verdict) == ("yes", "no"):
        none = replace(none, change="membership of arbitrary words: no")
    if (absolute.verdict, found.absolute.verdict) == ("yes", "no"):
        absolute = replace(absolute, change="membership of arbitrary words: no")
    return Reading(question=NEXT_SYMBOLS, none=none, absolute=absolute)


def _pair(answers: tuple[Answer, Answer]) -> dict[str, Answer]:
    return {"none": answers[0], "absolute": answers[1]}


def _class_theories(known: LanguageClass) -> tuple[OtherTheory, ...]:
    """Theories that answer by the class of the language; none if the class is not known."""
    if known.name is None:
        return ()
    here = ("R-trivial", "R^omega", "star-free", "regular").index(known.name)
    names = ("fixed precision: R-trivial", "idempotents: R^omega", "hard attention: star-free")
    classes = tuple(
        OtherTheory(
            name=name,
            positions="none",
            verdict="yes" if here <= index else "no",
            reason=f"the language is {known.name}: {known.reason}",
        )
        for index, name in enumerate(names)
    )
    communication = OtherTheory(
        name="communication: O(log n) bits",
        positions="absolute",
        verdict="consistent",
        reason="Alice sends the state of the automaton; this refutes no regular language",
    )
    return (*classes, communication)


def _crasp(program: CraspProgram, max_length: int, seconds: float) -> LengthPrediction:
    """A C-RASP program is its own reason for a yes."""
    positional = bool(program.periodics or program.locals)
    used = [str(each) for each in (*program.periodics, *program.locals)]
    kind = "with periodic and local predicates" if positional else "without positional predicates"
    yes = Answer(
        positions="absolute",
        verdict="yes",
        support="theorem",
        reason=f"the subject is a C-RASP program {kind}",
        change="",
        program=str(program),
    )
    if not positional:
        none = replace(yes, positions="none")
    elif program.next_symbols:
        none = Answer(
            positions="none",
            verdict="unknown",
            support="none",
            reason="the program reads positions, and whether another one does without is not known",
            change=f"a program without the predicates {', '.join(used)}",
        )
    else:
        none = _crasp_without_positions(program, max_length, seconds)
    return LengthPrediction(readings=(Reading(question="", none=none, absolute=yes),))


def _crasp_without_positions(program: CraspProgram, max_length: int, seconds: float) -> Answer:
    from weft.crasp.reference import run as run_crasp
    from weft.theory.length.functions import predict_function

    none, _ = predict_function(
        lambda word: run_crasp(program, tuple(word)).accepted,
        program.alphabet,
        max_length=max_length,
        seconds=seconds,
    )
    return none


def _function(
    function: Any, alphabet: tuple[str, ...], max_length: int, seconds: float
) -> LengthPrediction:
    from weft.theory.length.functions import predict_function

    answers = predict_function(function, alphabet, max_length=max_length, seconds=seconds)
    return LengthPrediction(readings=(Reading(question="", **_pair(answers)),))


ALIASES = {"parity": "parity"}
"""Tasks that ask for membership in a named language, or for its complement, which is the same."""
SAME_QUESTION = {"majority": "binary-majority", "copy": "repeat-copy"}
"""Tasks that ask what another task asks, of other inputs or in another format."""


def _task(made: Task, last_symbol: bool) -> LengthPrediction:
    if isinstance(made, FormalLanguage) and (dfa := _regular(made)) is not None:
        found = _language(predict_language(dfa, last_symbol=last_symbol))
        if made.target == "next":
            return replace(found, readings=found.readings[::-1])
        return found
    library = _of_library(made)
    if library and made.name in ALIASES:
        dfa = LANGUAGES[ALIASES[made.name]].dfa
        return _language(predict_language(dfa, last_symbol=last_symbol))
    from weft.theory.length.transductions import task_readings

    asked = made
    if library and made.name in SAME_QUESTION:
        distinct = isinstance(made, Copy) and made.unique
        asked = task("unique-copy" if distinct else SAME_QUESTION[made.name])
    readings = tuple(
        Reading(question=question, **_pair(answers))
        for question, answers in task_readings(asked).items()
    )
    if readings:
        return LengthPrediction(readings=readings)
    return LengthPrediction(
        uncovered=f"length generalisation of the task {made.name} is not covered by the theory of "
        "Weft; if its answer is true or false, give it as a function of words"
    )


def _of_library(made: Task) -> bool:
    """Whether a task is what the library calls so, and not a user's class of the same name."""
    return made.name in TASKS and type(made) is type(task(made.name))


def _regular(made: FormalLanguage) -> DFA | None:
    """The automaton of a formal language; None for a counter language."""
    if made.machine.depth is not None:
        return None
    machine = made.machine
    return DFA(
        machine.alphabet,
        tuple(tuple(int(then) for then in row) for row in machine.next),
        machine.start,
        frozenset(int(state) for state in machine.accepting.nonzero()[0]),
    )


def _program(
    program: Program, last_symbol: bool, max_length: int, seconds: float
) -> LengthPrediction:
    """A Weft program that answers with a truth value, taken as a function of words."""
    from weft.theory.length.functions import predict_function

    letters = _letters(program)

    def answer(word: str) -> bool:
        result = run(program, word).result
        if isinstance(result, bool) or result in (0, 1):
            return bool(result)
        raise WeftError(f"its answer is {result!r}, not a truth value")

    try:
        answers = predict_function(answer, letters, max_length=max_length, seconds=seconds)
    except WeftError as error:
        return LengthPrediction(
            uncovered=f"the program cannot be taken as a language over {' '.join(letters)}: "
            f"{error.what}"
        )
    return LengthPrediction(readings=(Reading(question="", **_pair(answers)),))


def _letters(program: Program) -> tuple[str, ...]:
    """The tokens that may be written alone as an input of a program."""
    letters = []
    for name in program.vocabulary.names or ():
        text = str(name)
        if len(text) == 1:
            try:
                run(program, text)
            except WeftError:
                continue
            letters.append(text)
    if not letters:
        raise WeftError(
            "the program has no inputs that are words of single letters",
            remedy="Predict one of its tasks instead",
        )
    return tuple(letters)
