"""What the Transformer and its baselines share: embeddings, text in and out, and hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, cast

import torch
from torch import Tensor, nn

from weft.errors import WeftError
from weft.language.vocabulary import Vocabulary
from weft.models.config import Architecture, TransformerConfig
from weft.models.hooks import caching_hook, replacing_hook
from weft.models.slots import Layout, read_stream

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from weft.models.factory import Model
    from weft.models.text import TextFormat
    from weft.models.transformer import Output


class SequenceModel(nn.Module):
    """A model whose `forward` takes tokens, lengths and a `hook`, and returns an `Output`.

    Args:
        config: the architecture.
        layout: for a compiled model, which dimensions of the stream hold which variable.
        vocabulary: the names of its tokens, for a model that reads text.
        text: how the model reads and writes text (`answer`).
    """

    architecture: ClassVar[Architecture]
    norm: nn.Module | None

    def __init__(
        self,
        config: TransformerConfig,
        layout: Layout | None = None,
        vocabulary: Vocabulary | None = None,
        text: TextFormat | None = None,
    ) -> None:
        super().__init__()
        if config.architecture != self.architecture:
            raise WeftError(
                f"architecture is '{config.architecture}', and the model is of "
                f"'{self.architecture}'",
                subject="TransformerConfig",
                remedy="Use weft.models.build_model(config), which builds either",
            )
        self.config = config
        self.stream_layout = layout
        self.vocabulary = vocabulary
        self.text = text
        self.embedding = nn.Parameter(torch.zeros(config.vocabulary, config.width))
        if not config.tied:
            self.unembedding = nn.Parameter(torch.zeros(config.outputs, config.width))

    @property
    def output_projection(self) -> nn.Parameter:
        """The matrix that maps the stream to logits; the embedding if the two are tied."""
        return self.embedding if self.config.tied else self.unembedding

    def _logits(self, stream: Tensor) -> Tensor:
        if self.norm is not None:
            stream = self.norm(stream)
        return nn.functional.linear(stream, self.output_projection)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Put the model into evaluation mode in this block."""
        training = self.training
        self.eval()
        try:
            yield
        finally:
            self.train(training)

    @property
    def layout(self) -> Layout:
        """The slots of the stream; only a compiled model has them."""
        if self.stream_layout is None:
            raise WeftError(
                "this model's stream has no layout", remedy="Only compiled models have one"
            )
        return self.stream_layout

    def read(self, stream: Float[Tensor, "*batch width"]) -> dict[str, list[Any]]:
        """The variables of a compiled model's stream as nested lists; None if undefined."""
        return read_stream(stream, self.layout)

    def answer(self, text: str) -> str:
        """The model's answer to a text, as text; for models that were loaded from a folder.

        Example:
            >>> import tempfile, weft
            >>> folder = tempfile.mkdtemp() + "/addition"
            >>> weft.save(weft.compile(weft.program("addition")), folder, name="addition")
            >>> weft.load(folder).answer("12+34")
            '46'
        """
        if self.text is None:
            raise WeftError(
                "this model does not read text", remedy="Load it from a model folder with weft.load"
            )
        return str(self.text.run(cast("Model", self), text).result)

    def run_with_cache(
        self,
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"] | None = None,
        *,
        names: Callable[[str], bool] | Sequence[str] | None = None,
        **arguments: Any,
    ) -> tuple[Output, dict[str, Tensor]]:
        """Run a batch and return its output and its activations by name.

        Args:
            tokens: the inputs.
            lengths: their lengths.
            names: the activations to keep, as names or a predicate; all by default.
            arguments: any other argument of `forward`.

        Example:
            >>> import torch
            >>> from weft.models import Transformer, preset
            >>> model = Transformer(preset("nano", vocabulary=16))
            >>> _, cache = model.run_with_cache(torch.tensor([[3, 1, 2]]))
            >>> cache["blocks.0.attn.hook_pattern"].shape
            torch.Size([1, 3, 3, 3])
        """
        cache: dict[str, Tensor] = {}
        wanted = names if callable(names) else (lambda name: names is None or name in names)
        out = self(tokens, lengths, hook=caching_hook(cache, wanted), **arguments)
        return out, cache

    def run_with_hooks(
        self,
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"] | None = None,
        *,
        hooks: Mapping[str, Callable[[Tensor], Tensor]],
        **arguments: Any,
    ) -> Output:
        """Run a batch, replacing each named activation by what its hook returns for it."""
        called: set[str] = set()
        out: Output = self(tokens, lengths, hook=replacing_hook(hooks, called), **arguments)
        for name in hooks:
            if name not in called:
                raise WeftError(
                    f"this model has no activation '{name}'",
                    remedy="run_with_cache returns all names",
                )
        return out
