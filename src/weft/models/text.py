"""Text in, text out: how the input of a model is written as tokens, and its answer read.

`model.answer` asks a `TextFormat`. `TokenFormat` is the one that every model folder holds: it
goes by the names of tokens and needs no other code. `weft.compiler.execution` has another, which
goes by a program's own `encode` and `decode`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import torch

from weft.errors import WeftError
from weft.language.vocabulary import Vocabulary
from weft.models.generation import generate

if TYPE_CHECKING:
    from jaxtyping import Float

    from weft.models.factory import Model

MAX_LENGTH = 1_000_000
"""The longest input or answer that a model folder may claim."""

Mode = Literal["every", "last", "allowed", "continue", "translate"]


@dataclass(frozen=True)
class TextRun:
    """A model's run on one text.

    Attributes:
        tokens: the input as the model reads it, by the names of its tokens.
        outputs: the classes that it gave: at every position, or one after another.
        result: the answer.
        layers: the number of layers that ran.
    """

    tokens: tuple[Any, ...]
    outputs: tuple[Any, ...]
    result: Any
    layers: int


class TextFormat(Protocol):
    """Reads and writes text for a model."""

    def run(self, model: Model, text: str, *, layers: int | None = None) -> TextRun:
        """Run a model on a text.

        Args:
            model: the model.
            text: its input.
            layers: run this many layers, unless the model halts before.
        """


def check_length(tokens: int, longest: int | None) -> None:
    """Refuse an input that is longer than a model is made for."""
    if longest is not None and tokens > longest:
        raise WeftError(
            f"the input has {tokens} tokens, the model is made for at most {longest}",
            remedy="Give a shorter input",
        )


@dataclass(frozen=True, kw_only=True)
class TokenFormat:
    """Text by the names of tokens: characters if all names are characters, words otherwise.

    Attributes:
        mode: where the answer is: under `every` token of the input, or under its `last` one; as
            all classes that score higher than `end` under the last one (`allowed`); as what the
            model `continue`s it with; or as what its decoder writes (`translate`).
        classes: the names of the classes that the model chooses from.
        spaced: whether spaces separate the names in an answer.
        symbols: the tokens that inputs may have; all if empty.
        before: tokens in front of every input.
        after: tokens behind it.
        start: the token from which a decoder starts to write.
        end: the class that ends an answer; with `allowed`, the answer if no class is allowed.
        longest: the largest number of tokens that an input may have; None for any.
        longest_answer: an answer is truncated after this many classes.
    """

    mode: Mode
    classes: tuple[str, ...]
    spaced: bool = True
    symbols: tuple[int, ...] = ()
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    start: int = 0
    end: int | None = None
    longest: int | None = None
    longest_answer: int = 0

    def check(self, vocabulary: int, outputs: int) -> None:
        """Refuse numbers of tokens and classes that a model does not have."""
        numbers = (*self.symbols, *self.before, *self.after, self.start)
        if any(not 0 <= number < vocabulary for number in numbers):
            raise WeftError(f"'text' names tokens beyond the {vocabulary} of the model")
        if len(self.classes) > outputs or not -1 < (self.end or 0) < outputs:
            raise WeftError(f"'text' names classes beyond the {outputs} of the model")
        if self.mode == "allowed" and self.end is None:
            raise WeftError("'text' has the mode 'allowed' and no class 'end' to compare with")
        if not 0 <= self.longest_answer <= MAX_LENGTH:
            raise WeftError(f"'longest_answer' is {self.longest_answer}")
        if self.longest is not None and not 0 <= self.longest <= MAX_LENGTH:
            raise WeftError(f"'longest' is {self.longest}")

    @torch.no_grad()
    def run(self, model: Model, text: str, *, layers: int | None = None) -> TextRun:
        """Run a model on a text."""
        vocabulary = model.vocabulary
        if vocabulary is None:
            raise WeftError("the model has no vocabulary", remedy="Give it token numbers")
        numbers = [*self.before, *self._read(vocabulary, text), *self.after]
        if not numbers:
            raise WeftError("the input has no tokens", remedy="Give at least one")
        tokens = torch.tensor([numbers], dtype=torch.long, device=model.embedding.device)
        ran = model.config.layers * model.config.loops
        if self.mode == "continue":
            continued = generate(model, tokens, self.longest_answer, stop=self.end)
            chosen = continued[0, len(numbers) :].tolist()
        elif self.mode == "translate":
            chosen = self._translated(model, tokens)
        else:
            output = model(tokens, **({} if layers is None else {"layers": layers}))
            chosen, ran = self._chosen(output.logits[0]), int(output.layers)
        if self.end is not None and self.end in chosen and self.mode != "allowed":
            chosen = chosen[: chosen.index(self.end)]
        outputs = tuple(self._class(number) for number in chosen)
        names = tuple(vocabulary.name(number) for number in numbers)
        return TextRun(names, outputs, (" " if self.spaced else "").join(outputs), ran)

    def _chosen(self, logits: Float[torch.Tensor, "length outputs"]) -> list[int]:
        """The classes of the answer, from the scores at every position."""
        if self.mode == "allowed" and self.end is not None:
            allowed = logits[-1] > logits[-1, self.end]
            return allowed.nonzero().flatten().tolist() or [self.end]
        best: list[int] = logits.argmax(-1).tolist()
        return best[-1:] if self.mode == "last" else best

    def _read(self, vocabulary: Vocabulary, text: str) -> list[int]:
        """The numbers of the tokens in a text."""
        readable = vocabulary
        if self.symbols and vocabulary.names is not None:
            names = tuple(vocabulary.names[number] for number in self.symbols)
            readable = Vocabulary(names=names, size=len(names))
        numbers = vocabulary.all_numbers(readable.parse(text))
        check_length(len(numbers), self.longest)
        return numbers

    def _translated(self, model: Model, source: torch.Tensor) -> list[int]:
        """What a decoder writes for a source, greedily."""
        written = [self.start]
        for _ in range(self.longest_answer):
            tokens = torch.tensor([written], device=source.device)
            written.append(int(model(tokens, source=source).logits[0, -1].argmax()))
            if written[-1] == self.end:
                break
        return written[1:]

    def _class(self, number: int) -> str:
        return self.classes[number] if number < len(self.classes) else f"<class {number}>"
