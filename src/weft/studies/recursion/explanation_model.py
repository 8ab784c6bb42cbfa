"""A trained model as a function from inputs to outputs, and laid out so that its parts have names.

Inputs and outputs are token names without marks, blanks and <end>. A laid-out batch holds, for each
slot of the encoder's and of the decoder's text, the part of the input or output that its token
belongs to, and the part of the output that is predicted there:

    seq2seq   the encoder reads the input; the decoder predicts token k of the output at slot k - 1
    lm        the decoder reads input, mark and output; it predicts token k at slot L + k, from 0
    tag       the encoder reads the input and predicts token k at slot k - 1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.studies.recursion.explanation_subjects import END as END_PART
from weft.studies.recursion.explanation_subjects import Subject
from weft.tasks.arrays import Ints
from weft.tasks.batch import Batch
from weft.tasks.formats import END, Pairs
from weft.tasks.task import Task
from weft.theory.recursion.state_machines import Word

if TYPE_CHECKING:
    from torch import Tensor

    from weft.models.factory import Model
    from weft.models.hooks import Hook

ROWS = 512
"""How many inputs a model reads at a time."""
BLANK = "_"
MARKS = ("", "mark")
"""Parts of slots beyond the text, and of marks."""


@dataclass(frozen=True, eq=False)
class Parts:
    """Names of parts, and of each slot the number of its part.

    Attributes:
        names: the names; the first is that of slots beyond the text, the second that of marks.
        source: b l, the part of each token that the encoder reads; None without an encoder-decoder.
        tokens: b l, the part of each token that the decoder, or a tagging encoder, reads.
        predicted: b l, the part of the output that is predicted at each slot; 0 where none is.
    """

    names: tuple[str, ...]
    source: Ints | None
    tokens: Ints
    predicted: Ints

    def number(self, name: str) -> int:
        """The number of a part; -1 if nothing has this name."""
        return self.names.index(name) if name in self.names else -1


@dataclass(frozen=True, eq=False)
class LaidOut:
    """Inputs with outputs, as a model reads them.

    Attributes:
        batch: the rows; targets are the outputs.
        parts: the part of each slot.
        rows: which of the inputs that were given these are, in the order of their lengths.
    """

    batch: Batch
    parts: Parts
    rows: Ints


@dataclass(frozen=True, eq=False)
class AskedModel:
    """A model of a task, to be asked with token names.

    Attributes:
        task: the task.
        model: the model.
        subject: what is known about the function.
        rows: how many inputs the model reads at a time.
    """

    task: Task
    model: Model
    subject: Subject
    rows: int = ROWS

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each token."""
        return {name: number for number, name in enumerate(self.task.vocabulary)}

    def __call__(self, inputs: Sequence[Word]) -> list[Word | None]:
        """The model's outputs, decoded greedily; None for one that does not end.

        An output may be twice as long as the longest right one among inputs of about the same
        length.
        """
        found: list[Word | None] = [()] * len(inputs)
        order = sorted(range(len(inputs)), key=lambda row: len(inputs[row]))
        for start in range(0, len(order), self.rows):
            chosen = order[start : start + self.rows]
            part = [inputs[row] for row in chosen]
            for row, output in zip(chosen, self._decoded(part), strict=True):
                found[row] = output
        return found

    def _decoded(self, inputs: Sequence[Word]) -> list[Word | None]:
        from weft.training.decoding import greedy_outputs

        truths = [self.subject.truth(given) for given in inputs]
        tagged = self.task.format == "tag"
        most = 0 if tagged else 2 * max(map(len, truths), default=1) + 1
        batch = self.lay_out(inputs, truths)
        made = greedy_outputs(self.model, batch, longest=most, rows=self.rows)
        if tagged:
            rows = zip(made, batch.lengths, strict=True)
            return [self._word(row[:length], tagged=True) for row, length in rows]
        return [self._word(row) for row in made]

    def _word(self, classes: Ints, *, tagged: bool = False) -> Word | None:
        """Classes as names, up to <end>; None if they do not end."""
        names = [self.task.answers[each] if each < self.task.outputs else "?" for each in classes]
        if tagged:
            while names and names[-1] == BLANK:
                names.pop()
            return tuple(names)
        end = self.task.answers[END]
        return tuple(names[: names.index(end)]) if end in names else None

    def lay_out(self, inputs: Sequence[Word], outputs: Sequence[Word]) -> Batch:
        """Inputs with outputs as the model's batch."""
        question, question_lengths = self._rows(inputs)
        answer, answer_lengths = self._rows(outputs)
        pairs = Pairs(
            question=question,
            question_lengths=question_lengths,
            answer=answer,
            answer_lengths=answer_lengths,
            axes={},
        )
        if self.task.format == "tag":
            pairs = _blank_at_the_end(pairs, self.numbers[BLANK])
        return self.task.lay_out(pairs)

    def _rows(self, words: Sequence[Word]) -> tuple[Ints, Ints]:
        lengths = np.array([len(word) for word in words], dtype=np.int64)
        rows = np.zeros((len(words), max(1, int(lengths.max(initial=0)))), dtype=np.int64)
        for row, word in enumerate(words):
            rows[row, : len(word)] = [self.numbers.get(token, 0) for token in word]
        return rows, lengths

    def laid_out(self, inputs: Sequence[Word], outputs: Sequence[Word]) -> list[LaidOut]:
        """Inputs with outputs in batches of about the same length, with their parts."""
        order = np.argsort([len(given) for given in inputs], kind="stable")
        found = []
        for start in range(0, len(order), self.rows):
            rows = order[start : start + self.rows]
            given = [inputs[row] for row in rows]
            made = [outputs[row] for row in rows]
            batch = self.lay_out(given, made)
            found.append(LaidOut(batch, self.parts(batch, given, made), rows))
        return found

    def parts(self, batch: Batch, inputs: Sequence[Word], outputs: Sequence[Word]) -> Parts:
        """The part of each slot of a batch."""
        names: dict[str, int] = {name: number for number, name in enumerate(MARKS)}

        def number(name: str) -> int:
            return names.setdefault(name, len(names))

        source = None if batch.source is None else np.zeros_like(batch.source)
        tokens, predicted = np.zeros_like(batch.tokens), np.zeros_like(batch.tokens)
        scored = batch.scored
        for row, (given, made) in enumerate(zip(inputs, outputs, strict=True)):
            read = [number(part) for part in self.subject.input_parts(given)]
            written = [number(part) for part in self.subject.output_parts(given, len(made))]
            tokens[row, : batch.lengths[row]] = 1
            if source is not None:
                source[row, : len(given)] = read
            else:
                tokens[row, : len(given)] = read
            slots = np.flatnonzero(scored[row])
            if self.task.format != "tag":
                tokens[row, slots[0] + 1 : slots[0] + 1 + len(made)] = [
                    number(f"own {part}")
                    for part in self.subject.output_parts(given, len(made))[:-1]
                ]
            length = min(len(slots), len(written))
            predicted[row, slots[:length]] = written[:length]
            predicted[row, slots[length:]] = number(END_PART)
        return Parts(tuple(names), source, tokens, predicted)

    # Running

    def predictions(self, laid: LaidOut, hook: Hook | None = None, **arguments: Any) -> Ints:
        """The class predicted at every slot (b l), given the outputs so far.

        Args:
            laid: the inputs with outputs.
            hook: called with activations, which it may replace.
            arguments: any other argument of the model.
        """
        import torch

        with self.model.evaluating(), torch.no_grad():
            return self.logits(laid, hook, **arguments).argmax(-1).cpu().numpy()

    def logits(self, laid: LaidOut, hook: Hook | None = None, **arguments: Any) -> Tensor:
        """The logits at every slot (b l c)."""
        tensors = self.tensors(laid.batch)
        output = self.model(
            tensors.tokens,
            tensors.lengths,
            source=tensors.source,
            source_lengths=tensors.source_lengths,
            hook=hook,
            **arguments,
        )
        made: Tensor = output.logits
        return made

    def tensors(self, batch: Batch) -> Any:
        """A batch as tensors on the model's device."""
        from weft.training.data import tensors_of

        tensors = tensors_of(replace(batch, axes={}), self.model.config)
        return tensors.to(self.model.embedding.device)


def _blank_at_the_end(pairs: Pairs, blank: int) -> Pairs:
    """A blank behind each question, and blanks behind each answer up to the same length."""
    widths = pairs.question_lengths + 1
    places = np.arange(int(widths.max(initial=1)))

    def filled(rows: Ints, lengths: Ints) -> Ints:
        kept = np.zeros((len(rows), len(places)), dtype=np.int64)
        kept[:, : min(len(places), rows.shape[1])] = rows[:, : len(places)]
        kept = np.where(places >= lengths[:, None], blank, kept)
        return np.where(places < widths[:, None], kept, 0)

    return Pairs(
        question=filled(pairs.question, pairs.question_lengths),
        question_lengths=widths,
        answer=filled(pairs.answer, pairs.answer_lengths),
        answer_lengths=widths,
        axes={},
    )
