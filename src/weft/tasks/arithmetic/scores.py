"""Outputs of a model on arithmetic questions, against the truth and the truncated function.

Under absolute positions, a model trained on n digits is predicted to compute the operation on the
last n digits of every operand (Xu et al., 2025). Both comparisons are made side by side, on the
same outputs. Every output counts: one that does not end, or is no number, is wrong, and stays in
the denominator. The published figures leave out outputs that do not end.

An output is what the model generates behind the mark, or `outputs_of` its predictions. Predictions
from teacher forcing are its own outputs up to the first mistake only: for the agreement with the
truncated function, decode token by token, or evaluate on `Arithmetic.truncated` of the tests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weft.errors import WeftError
from weft.statistics import Share
from weft.tasks.arithmetic.arithmetic import Arithmetic
from weft.tasks.arithmetic.notation import Numbers
from weft.tasks.arrays import Bools, Ints, within
from weft.tasks.batch import Batch
from weft.tasks.formats import END
from weft.tasks.scoring import group_by


@dataclass(frozen=True, kw_only=True)
class LengthScores:
    """The scores of questions whose longest operand has one length.

    Attributes:
        exact: outputs that are the answer, token by token.
        truncated: outputs that are the answer of the truncated function, token by token.
        well_formed: outputs that are a number, ended by <end>.
        digitwise: right digits among all that count (`OutputScores.counted`).
    """

    exact: Share
    truncated: Share
    well_formed: Share
    digitwise: Share


@dataclass(frozen=True, kw_only=True)
class OutputScores:
    """Outputs compared with the truth and with the truncated function, one per question.

    Attributes:
        digits: b, the number of digits of the longest operand.
        exact: b, whether the output is the answer, token by token, <end> included.
        truncated: b, the same for the answer of the truncated function.
        value: b, whether the output's result is right as a number: with a scratchpad, whatever is
            written before it; leading zeros make no difference.
        well_formed: b, whether the output is a number, ended by <end>.
        right: b l, whether the digit at each place, units first, is that of the true result's
            absolute value; never if the output is not well formed.
        counted: b l, the places up to the last non-zero digit of the truth or the output, and the
            units.
    """

    digits: Ints
    exact: Bools
    truncated: Bools
    value: Bools
    well_formed: Bools
    right: Bools
    counted: Bools

    def by_digits(self) -> dict[int, LengthScores]:
        """The scores for each length of the longest operand, in ascending order."""
        result = {}
        for length in np.unique(self.digits).tolist():
            rows = self.digits == length
            result[length] = LengthScores(
                exact=Share.of(self.exact[rows]),
                truncated=Share.of(self.truncated[rows]),
                well_formed=Share.of(self.well_formed[rows]),
                digitwise=Share.of(self.right[rows][self.counted[rows]]),
            )
        return result

    def by_place(self) -> dict[int, Share]:
        """The share of right digits at each place of the result, 1 for units."""
        place = np.broadcast_to(np.arange(1, self.right.shape[1] + 1), self.right.shape)
        return group_by(place[self.counted], self.right[self.counted])


def score_outputs(task: Arithmetic, batch: Batch, outputs: Ints, digits: int = 0) -> OutputScores:
    """Compare outputs (b l), the tokens generated behind the mark, with truth and truncation.

    Args:
        task: the task.
        batch: the questions, with their answers.
        outputs: one row of tokens per question; what is behind <end> is ignored.
        digits: how many digits of every operand the truncated function keeps; by default, as many
            as the training domain has.

    Example:
        >>> from weft.tasks.arithmetic import Addition, answers_of, score_outputs
        >>> sums = Addition(domain="D3", longer=6)
        >>> tests = sums.examples_of([(57, 8), (1057, 8)])
        >>> outputs = answers_of(sums.truncated(tests))  # of a model that sees 3 digits
        >>> scores = score_outputs(sums, tests, outputs)
        >>> scores.exact, scores.truncated
        (array([ True, False]), array([ True,  True]))
        >>> print(scores.by_digits()[4].digitwise)
        75.0% [30.1–95.4] of 4
    """
    if outputs.ndim != 2 or len(outputs) != len(batch):
        raise WeftError(
            f"the outputs have the shape {outputs.shape}, and there are {len(batch)} questions",
            subject=f"task {task.name}",
            remedy="Give one row of generated tokens for each question",
        )
    answers = answers_of(batch)
    truth, numbers = task.results(answers), task.results(outputs)
    width = max(truth.digits.shape[1], numbers.digits.shape[1])
    true_digits, output_digits = _widened(truth.digits, width), _widened(numbers.digits, width)
    same = true_digits == output_digits
    well_formed = numbers.well_formed
    return OutputScores(
        digits=batch.axes["digits"],
        exact=_equal(outputs, answers),
        truncated=_equal(outputs, answers_of(task.truncated(batch, digits))),
        value=same.all(axis=1) & _same_sign(truth, numbers) & well_formed,
        well_formed=well_formed,
        right=same & well_formed[:, None],
        counted=_up_to_last((true_digits > 0) | (output_digits > 0)),
    )


def answers_of(batch: Batch) -> Ints:
    """The answers (b l) with their <end>, from the first token; 0 behind them."""
    return _from_prompt(batch, np.where(batch.scored, batch.targets, 0))


def outputs_of(batch: Batch, chosen: Ints) -> Ints:
    """The tokens (b l) chosen from the mark on, from predictions at every position (b l).

    These are the model's outputs if it decoded token by token (`weft.training.evaluation.decoded`).
    """
    return _from_prompt(batch, chosen)


def _from_prompt(batch: Batch, values: Ints) -> Ints:
    """Each row from its first scored position on; the end of a row is filled with 0."""
    first, width = batch.prompt - 1, values.shape[1]
    lengths = width - first
    rows = np.zeros((len(values), int(lengths.max(initial=1))), dtype=np.int64)
    rows[within(lengths, rows.shape[1])] = values[np.arange(width) >= first[:, None]]
    return rows


def _equal(outputs: Ints, answers: Ints) -> Bools:
    """Which outputs equal the answers up to <end>."""
    behind = np.cumsum(outputs == END, axis=1) - (outputs == END) > 0
    width = max(outputs.shape[1], answers.shape[1])
    output = _widened(np.where(behind, 0, outputs), width)
    return np.asarray((output == _widened(answers, width)).all(axis=1))


def _widened(values: Ints, width: int) -> Ints:
    return np.pad(values, ((0, 0), (0, width - values.shape[1])))


def _same_sign(truth: Numbers, numbers: Numbers) -> Bools:
    """Which numbers have the sign of the truth; 0 has either."""
    zero = ~truth.digits.any(axis=1)
    return np.asarray((truth.negative == numbers.negative) | zero)


def _up_to_last(some: Bools) -> Bools:
    """The first place, and all places up to the last one that is marked (b l)."""
    behind = np.maximum.accumulate(some[:, ::-1], axis=1)[:, ::-1]
    behind[:, :1] = True
    return np.asarray(behind)
