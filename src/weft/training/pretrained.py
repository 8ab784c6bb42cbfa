"""Fine-tune a pretrained language model on a task: a local folder of Hugging Face Transformers.

Questions and answers are text, their tokens separated by blanks, and are read by the tokeniser of
the folder. An encoder-decoder such as T5 or CodeT5 translates one into the other; a decoder such as
GPT-2 continues `question =` with the answer. Scores are exact match of what the model generates
greedily. Nothing is downloaded, and no code in a folder is executed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from weft.config import check_types
from weft.errors import WeftError
from weft.statistics import Share
from weft.tasks import Batch, Task, group_by
from weft.tasks.arrays import Bools, Ints
from weft.tasks.task import TRAIN

IGNORED = -100  # the label of positions without a target, as in Transformers
SLACK = 8
"""How many tokens more than the longest right answer an output may have."""


@dataclass(frozen=True, kw_only=True)
class FineTuning:
    """How a pretrained model is fine-tuned.

    Attributes:
        steps: number of steps.
        batch: examples per step.
        lr: learning rate of AdamW, constant.
        seed: seed of the data and of dropout.
        size: number of test examples per split.
        splits: the splits to test; all of the task if empty.
    """

    steps: int = 2000
    batch: int = 32
    lr: float = 1e-4
    seed: int = 0
    size: int = 500
    splits: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_types(self, "fine-tuning")
        for name in ("steps", "batch", "size"):
            if not 1 <= getattr(self, name) <= 10**9:
                raise WeftError(
                    f"{name} is {getattr(self, name)}",
                    subject="fine-tuning",
                    remedy="Give at least 1",
                )
        if not 0 < self.lr < 1:
            raise WeftError(
                f"lr is {self.lr:g}", subject="fine-tuning", remedy="Give a number from 0 to 1"
            )


@dataclass(frozen=True, kw_only=True)
class SplitScore:
    """Exact match of a fine-tuned model on a split.

    Attributes:
        split: its name.
        axes: b for each axis of the task.
        right: b, which tests are right.
    """

    split: str
    axes: dict[str, Ints]
    right: Bools

    @property
    def share(self) -> Share:
        """The share of right tests."""
        return Share.of(self.right)

    def by(self, axis: str) -> dict[int, Share]:
        """The share of right tests for each value of an axis."""
        return group_by(self.axes[axis], self.right)


class Pretrained:
    """A pretrained model with its tokeniser, from a local folder.

    Args:
        folder: the folder, as `save_pretrained` writes it, with its tokeniser.
        device: where the model goes.
    """

    def __init__(self, folder: Path, device: torch.device) -> None:
        transformers = _transformers()
        if not (folder / "config.json").is_file():
            raise WeftError(
                f"{folder} has no config.json",
                remedy="Give a local folder of a model of Hugging Face Transformers",
            )
        try:
            config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
            self.translates = bool(config.is_encoder_decoder)
            kind = (
                transformers.AutoModelForSeq2SeqLM
                if self.translates
                else transformers.AutoModelForCausalLM
            )
            self.tokeniser: Any = transformers.AutoTokenizer.from_pretrained(
                folder, local_files_only=True
            )
            self.model: Any = kind.from_pretrained(folder, local_files_only=True)
        except WeftError:
            raise
        except Exception as error:
            text = " ".join(str(error).split())
            raise WeftError(
                f"{folder} cannot be loaded: {type(error).__name__}: {text[:200]}",
                remedy="Give the folder of an encoder-decoder or decoder, with its tokeniser",
            ) from error
        self.model = self.model.to(device)
        self.device = device
        if self.tokeniser.pad_token_id is None:
            if self.tokeniser.eos_token_id is None:
                raise WeftError(
                    f"the tokeniser of {folder} has neither padding nor an end of text",
                    remedy="Set one of them in the folder",
                )
            self.tokeniser.pad_token = self.tokeniser.eos_token

    def numbers(self, text: str, *, end: bool) -> list[int]:
        """The token numbers of a text; with `end`, up to an end of text."""
        plain: list[int] = self.tokeniser(text, add_special_tokens=False)["input_ids"]
        last = self.tokeniser.eos_token_id
        return [*plain, last] if end and last is not None else plain

    def check(self, words: Sequence[str]) -> None:
        """Refuse a tokeniser that cannot tell the tokens of a task."""
        for text in (" ".join(words), *words):
            read = self.tokeniser.decode(
                self.numbers(text, end=False), clean_up_tokenization_spaces=False
            )
            if read.split() != text.split():
                raise WeftError(
                    f"the tokeniser reads '{text[:40]}' as '{read[:40]}'",
                    remedy="Use a model whose tokeniser keeps the task's tokens",
                )

    def prompt(self, question: str) -> list[int]:
        """The tokens that the model is given for a question."""
        if self.translates:
            return self.numbers(question, end=True)
        return self.numbers(f"{question} =", end=False)

    def loss(self, texts: Sequence[tuple[str, str]]) -> torch.Tensor:
        """The mean cross-entropy of answers, given their questions."""
        prompts = [self.prompt(question) for question, _ in texts]
        if self.translates:
            answers = [self.numbers(answer, end=True) for _, answer in texts]
            tokens, mask = self._padded(prompts)
            labels, inside = self._padded(answers)
            labels = labels.masked_fill(inside == 0, IGNORED)
        else:  # a blank in front, as a tokeniser of bytes writes the first word
            answers = [self.numbers(f" {answer}", end=True) for _, answer in texts]
            rows = [[*one, *other] for one, other in zip(prompts, answers, strict=True)]
            tokens, mask = self._padded(rows)
            labels = tokens.masked_fill(mask == 0, IGNORED)
            for row, one in enumerate(prompts):
                labels[row, : len(one)] = IGNORED
        loss: torch.Tensor = self.model(input_ids=tokens, attention_mask=mask, labels=labels).loss
        return loss

    @torch.no_grad()
    def answers(self, questions: Sequence[str], longest: int) -> list[list[str]]:
        """What the model generates greedily, as tokens of the task."""
        tokens, mask = self._padded([self.prompt(one) for one in questions], left=True)
        outputs = self.model.generate(
            input_ids=tokens,
            attention_mask=mask,
            max_new_tokens=longest,
            do_sample=False,
            num_beams=1,
            pad_token_id=self.tokeniser.pad_token_id,
        )
        if not self.translates:
            outputs = outputs[:, tokens.shape[1] :]
        texts = self.tokeniser.batch_decode(
            outputs, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return [text.split() for text in texts]

    def _padded(
        self, rows: Sequence[Sequence[int]], *, left: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows as one tensor, and which of its places are tokens."""
        width = max(map(len, rows))
        table = torch.full((len(rows), width), self.tokeniser.pad_token_id, dtype=torch.long)
        mask = torch.zeros_like(table)
        for place, row in enumerate(rows):
            start = width - len(row) if left else 0
            table[place, start : start + len(row)] = torch.tensor(row)
            mask[place, start : start + len(row)] = 1
        return table.to(self.device), mask.to(self.device)


def fine_tune(
    pretrained: Pretrained,
    task: Task,
    settings: FineTuning,
    report: Callable[[int, float, float], None] = lambda step, loss, seconds: None,
) -> None:
    """Train a pretrained model on a task, in place.

    Args:
        pretrained: the model.
        task: the task; its format makes no difference, but `tag` is refused.
        settings: how it is trained.
        report: called after every step with its number, the loss and the seconds so far.
    """
    if task.format not in ("seq2seq", "lm"):
        raise WeftError(
            f"answers of the format {task.format} are no text",
            subject=f"task {task.name}",
            remedy="Use format=seq2seq",
        )
    pretrained.check(task.symbols)
    torch.manual_seed(settings.seed)
    model = pretrained.model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.lr)
    start = time.perf_counter()
    for step in range(1, settings.steps + 1):
        texts = list(_texts(task, task.batch(TRAIN, settings.seed, step, settings.batch)))
        loss = pretrained.loss(texts)
        if not bool(loss.isfinite()):
            raise WeftError(
                f"the loss is {float(loss)} at step {step}", remedy="Give a smaller learning rate"
            )
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        report(step, float(loss.detach()), time.perf_counter() - start)
    model.eval()


def score_pretrained(
    pretrained: Pretrained, task: Task, settings: FineTuning
) -> Iterator[SplitScore]:
    """Exact match of a model on every split of a task."""
    pretrained.model.eval()
    for split in settings.splits or task.tested:
        tests = task.test_set(split, settings.size)
        texts = list(_texts(task, tests))
        longest = SLACK + max(len(pretrained.numbers(answer, end=True)) for _, answer in texts)
        right = []
        for first in range(0, len(texts), settings.batch):
            part = texts[first : first + settings.batch]
            written = pretrained.answers([question for question, _ in part], longest)
            right += [
                words == answer.split() for words, (_, answer) in zip(written, part, strict=True)
            ]
        yield SplitScore(split=split, axes=dict(tests.axes), right=np.array(right, dtype=np.bool_))


def _texts(task: Task, batch: Batch) -> Iterator[tuple[str, str]]:
    """Questions and answers as text."""
    for question, answer in task.examples(batch):
        yield " ".join(question), " ".join(answer)


def _transformers() -> Any:
    try:
        import transformers
    except ImportError:
        raise WeftError(
            "pretrained models need the package transformers",
            remedy="pip install 'weftwork[hf]'",
        ) from None
    return transformers
