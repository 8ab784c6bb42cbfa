"""`weft.predict`: what the theories of Weft say about a subject, side by side.

length      length generalisation of a language, function, program or task (C-RASP)
arithmetic  accuracy by number of digits, of arithmetic tasks
minimal     whether some training inputs determine a program on others (minimal programs)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.theory.subjects import Subject, read_subject

if TYPE_CHECKING:
    from weft.theory.arithmetic import ArithmeticPrediction
    from weft.theory.length.prediction import LengthPrediction
    from weft.theory.minimal.prediction import MinimalPrediction


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What the theories say about a subject; None for those that do not apply.

    Attributes:
        subject: what the prediction is about.
        length: length generalisation by C-RASP, without positions and with them.
        arithmetic: accuracy by number of digits.
        minimal: the minimal program of some training inputs on test inputs.
    """

    subject: Subject
    length: LengthPrediction | None = None
    arithmetic: ArithmeticPrediction | None = None
    minimal: MinimalPrediction | None = None

    def as_dict(self) -> dict[str, Any]:
        """The prediction for JSON."""
        return {
            "subject": self.subject.name,
            "kind": self.subject.kind,
            "description": self.subject.description,
            "alphabet": list(self.subject.alphabet),
            "length": self.length and self.length.as_dict(),
            "arithmetic": self.arithmetic and self.arithmetic.as_dict(),
            "minimal": self.minimal and self.minimal.as_json(),
        }


def predict(
    subject: object,
    train: str | Sequence[str] | None = None,
    *tests: str | Sequence[str],
    alphabet: str | Sequence[str] | int = "",
    last_symbol: bool = True,
    encoding: str = "absolute",
    max_length: int = 10,
    seconds: float = 60.0,
    **parameters: Any,
) -> Prediction:
    """Predict whether transformers learn a subject so that it generalises.

    Args:
        subject: a regular expression, a named language, an automaton (file), a C-RASP program, a
            function of words, a task or a program of Weft.
        train: training inputs of a program: a task's split, `length<=20`, or the inputs. With it,
            `.minimal` says whether they determine the program on the tests; nothing else is asked.
        tests: test inputs in the same form.
        alphabet: the letters, for an expression or a function; a number is a parameter of a task.
        last_symbol: of a regular language, whether programs without positions may read the last
            symbol; local predicates read it in any case.
        encoding: of an arithmetic task, the positional encoding.
        max_length: of a function or program, words up to this length are tried.
        seconds: of a function or program, how long the search for a program may take.
        parameters: of a task, as in `digits=4`; with `train`, options of `predict_minimal`.

    Example:
        >>> import weft
        >>> answers = weft.predict("(aa)*").length
        >>> answers.none.verdict, answers.absolute.verdict
        ('no', 'yes')
        >>> weft.predict("parity", "parity(length=3):train", "length<=9").minimal.solved
        True
    """
    if isinstance(alphabet, int):
        alphabet, parameters = "", {**parameters, "alphabet": alphabet}
    return predict_subject(
        subject, parameters, train, tests, alphabet=alphabet, last_symbol=last_symbol,
        encoding=encoding, max_length=max_length, seconds=seconds,
    )  # fmt: skip


def predict_subject(
    subject: object,
    parameters: dict[str, Any],
    train: str | Sequence[str] | None = None,
    tests: Sequence[str | Sequence[str]] = (),
    *,
    alphabet: str | Sequence[str] = "",
    last_symbol: bool = True,
    encoding: str = "absolute",
    max_length: int = 10,
    seconds: float = 60.0,
) -> Prediction:
    """`predict` with parameters of any name, such as the `alphabet` of `sorting`."""
    if train is not None:
        return _minimal(subject, train, tests, parameters)
    if tests:
        raise WeftError("there are tests but no training inputs", remedy="Give both, or neither")
    chosen = read_subject(subject, alphabet, parameters)
    from weft.tasks.arithmetic import Arithmetic

    if isinstance(chosen.value, Arithmetic):
        from weft.theory.arithmetic import predict_arithmetic

        return Prediction(
            subject=chosen, arithmetic=predict_arithmetic(chosen.value, encoding=encoding)
        )
    if encoding != "absolute":
        raise WeftError(
            f"{chosen.name} is not an arithmetic task, so there is no prediction by encoding",
            remedy="Leave the encoding out: both no positions and absolute ones are predicted",
        )
    from weft.theory.length.prediction import predict_length

    found = predict_length(chosen, last_symbol=last_symbol, max_length=max_length, seconds=seconds)
    return Prediction(subject=chosen, length=found)


def _minimal(
    subject: object,
    train: str | Sequence[str],
    tests: Sequence[str | Sequence[str]],
    options: dict[str, Any],
) -> Prediction:
    from weft.theory.minimal.minimise import MinimalOptions
    from weft.theory.minimal.prediction import predict_minimal

    known = ("examples", "test_examples", *MinimalOptions.__annotations__)
    for option in options:
        if option not in known:
            raise WeftError(
                f"there is no option '{option}' of a minimal program",
                remedy="Use " + ", ".join(known) + "; parameters of a task belong in the split, as "
                "in addition(digits=3):train",
            )
    name = subject.removeprefix("program:") if isinstance(subject, str) else subject
    found = predict_minimal(name, train, *tests, **options)  # type: ignore[arg-type]
    shown = Subject(
        name=found.name, kind="program", description=f"program {found.name}", value=subject
    )
    return Prediction(subject=shown, minimal=found)
