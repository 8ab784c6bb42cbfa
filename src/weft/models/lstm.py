"""LSTM: the recurrent baseline (Hochreiter and Schmidhuber 1997).

    i, f, o = sigmoid(W x_t + U h_{t-1} + b + b')    with W, U, b, b' for each of i, f, o and g
    g       = tanh(W x_t + U h_{t-1} + b + b')
    c_t = f c_{t-1} + i g    h_t = o tanh(c_t)

x_t is the token's embedding in the first layer, and h_t of the layer below in the others; logits
are a projection of the last layer's h_t. A `decoder` runs from left to right. An `encoder` runs in
both directions with width / 2 units each, and each layer reads both. There is no residual stream,
and no attention, positional encoding, norm or feed-forward: configs that set them are refused.

An LSTM can replace the Transformer wherever one is trained, evaluated, saved or generates. Dropout
acts between layers, not between time steps (Zaremba et al. 2014). If a row holds several documents,
each starts from a state of zeros.

Weights start uniform up to 1 / sqrt(units), as in PyTorch, the biases of forget gates at 1
(Jozefowicz et al. 2015), embeddings normal with standard deviation 1; recipes of initialisation are
for Transformers. Time steps are sequential, on a GPU too, where cuDNN runs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from weft.errors import WeftError
from weft.language.vocabulary import Vocabulary
from weft.models.cache import KVCache
from weft.models.config import TransformerConfig
from weft.models.context import document_starts
from weft.models.dropout import dropout
from weft.models.hooks import Hook
from weft.models.init import Initialisation, normal, uniform
from weft.models.sequence_model import SequenceModel
from weft.models.transformer import DTYPES, Output

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from weft.models.text import TextFormat

State = tuple[Tensor, Tensor]
"""h and c of a layer, each of shape 1 b units."""


class LSTMLayer(nn.Module):
    """One layer, in one direction or both."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        units = config.width if config.causal else config.width // 2
        with torch.random.fork_rng(devices=[]):  # nn.LSTM draws weights when it is constructed
            self.right = nn.LSTM(config.width, units, batch_first=True)
            self.left = None if config.causal else nn.LSTM(config.width, units, batch_first=True)

    def forward(
        self,
        stream: Float[Tensor, "batch length width"],
        mirror: Int[Tensor, "batch length"] | None = None,
        state: State | None = None,
    ) -> tuple[Float[Tensor, "batch length width"], State]:
        """Return the hidden states of all steps, and the last state from left to right.

        Args:
            stream: the inputs.
            mirror: for each token, the place of the one that replaces it in the reversed sequence;
                for a layer with two directions.
            state: the state to start from; zeros by default.
        """
        hidden, last = self.right(stream, state)
        if self.left is not None and mirror is not None:
            backward = _gather(self.left(_gather(stream, mirror))[0], mirror)
            hidden = torch.cat([hidden, backward], -1)
        return hidden, last

    def init_weights(self, init: Initialisation) -> None:
        """Draw matrices; set biases to 0, those of forget gates to 1."""
        for part in (self.right, self.left):
            if part is None:
                continue
            units = part.hidden_size
            for name, weight in part.named_parameters():
                if weight.dim() > 1:
                    uniform(weight, units**-0.5)
                else:
                    nn.init.zeros_(weight)
                if name == "bias_ih_l0":
                    nn.init.ones_(weight[units : 2 * units])  # the gates are i, f, g, o


class LSTM(SequenceModel):
    """A stack of LSTM layers between an embedding and an output projection.

    Example:
        >>> import torch
        >>> from weft.models import LSTM, preset
        >>> model = LSTM(preset("nano", vocabulary=16, architecture="lstm", width=64))
        >>> model(torch.tensor([[0, 1, 2]])).logits.shape
        torch.Size([1, 3, 16])
    """

    architecture = "lstm"
    norm = None
    between_layers = None

    @torch.inference_mode(False)  # as in Transformer
    def __init__(
        self,
        config: TransformerConfig,
        *,
        vocabulary: Vocabulary | None = None,
        text: TextFormat | None = None,
    ) -> None:
        super().__init__(config, vocabulary=vocabulary, text=text)
        self.layers = nn.ModuleList(LSTMLayer(config) for _ in range(config.layers))
        self.to(DTYPES[config.dtype])

    def init_weights(self, init: Initialisation) -> None:
        """Draw the embedding and the output projection."""
        narrow = self.config.width**-0.5
        normal(self.embedding, narrow if self.config.tied else 1.0)
        if not self.config.tied:
            normal(self.unembedding, narrow)

    def forward(
        self,
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"] | None = None,
        *,
        documents: Int[Tensor, "batch length"] | None = None,
        layers: int | None = None,
        plain: bool = False,
        backend: str = "auto",
        hook: Hook | None = None,
        **others: Any,
    ) -> Output:
        """Run a batch of tokens, padded to one length.

        Args:
            tokens: the inputs; tokens beyond a sequence's length are ignored.
            lengths: the length of each sequence; by default all are full.
            documents: the document of each token, if rows hold several. They run side by side,
                padded to the longest.
            layers: run at most this many layers.
            plain: has no effect, like `backend`: there is one way to compute an LSTM.
            backend: has no effect.
            hook: called with `hook_embed` and each layer's `blocks.0.hook_resid_post`.
            others: what only a Transformer takes, such as `source`; refused unless it is None.
        """
        for name, value in others.items():
            if value is not None:
                remedy = (
                    "Use run_with_cache" if name == "watch" else "It reads one sequence per row"
                )
                raise WeftError(f"an LSTM was given {name}", remedy=remedy)
        stream = self._embed(tokens)
        if hook is not None:
            stream = hook("hook_embed", stream)
        chosen = self.layers[:layers]
        apart = None
        if documents is not None and tokens.numel():
            apart = _Documents(documents, tokens.shape[1] if lengths is None else lengths)
        mirror = None
        if not self.config.causal:
            mirror = _mirror(tokens, lengths) if apart is None else apart.mirror()
        for number, layer in enumerate(chosen):
            if tokens.numel():  # nn.LSTM refuses inputs without tokens
                given = stream if apart is None else apart.split(stream)
                hidden = layer(given, mirror)[0]
                hidden = hidden if apart is None else apart.joined(hidden)
                stream = dropout(hidden, self.config.dropout, self.training)
            if hook is not None:
                stream = hook(f"blocks.{number}.hook_resid_post", stream)
        ran = torch.full((len(tokens),), len(chosen), device=tokens.device)
        return Output(self._logits(stream), stream, ran, torch.zeros_like(ran, dtype=torch.bool))

    def decode(
        self, tokens: Int[Tensor, "batch length"], new: int, kv_cache: KVCache
    ) -> Float[Tensor, "batch new outputs"]:
        """The logits of the last `new` tokens, given the states after all tokens before them."""
        stream = self._embed(tokens[:, -new:])
        for layer, cache in zip(self.layers, kv_cache, strict=True):
            stream, cache["state"] = layer(stream, state=cache.get("state"))
        return self._logits(stream)

    def compile_layers(self) -> LSTM:
        """Refuse: torch.compile does not trace nn.LSTM, which cuDNN already runs as one kernel."""
        raise WeftError(
            "an LSTM is not compiled by torch.compile",
            subject="TrainingConfig",
            remedy="Leave out torch_compile",
        )

    def _embed(self, tokens: Tensor) -> Tensor:
        stream = nn.functional.embedding(tokens, self.embedding)
        return dropout(stream, self.config.dropout, self.training)


class _Documents:
    """Documents of packed rows as sequences of their own, and back."""

    def __init__(self, documents: Tensor, lengths: Tensor | int) -> None:
        starts = document_starts(documents)
        places = torch.arange(documents.shape[1], device=documents.device).expand_as(documents)
        padding = places >= (lengths if isinstance(lengths, int) else lengths[:, None])
        first_of_padding = padding & ~nn.functional.pad(padding[:, :-1], (1, 0))
        begins = (places == starts) | first_of_padding  # padding is a document of its own
        starts = torch.where(begins, places, 0).cummax(-1).values
        self.numbers = begins.flatten().cumsum(0).view_as(begins) - 1  # b l
        self.places = places - starts
        self.counts = self.numbers.flatten().bincount()

    def split(self, stream: Tensor) -> Tensor:
        """The documents (n m d), padded with zeros."""
        shape = (len(self.counts), int(self.places.max()) + 1, stream.shape[-1])
        apart = stream.new_zeros(shape)
        return apart.index_put((self.numbers, self.places), stream)

    def joined(self, apart: Tensor) -> Tensor:
        """The rows (b l d)."""
        return apart[self.numbers, self.places]

    def mirror(self) -> Tensor:
        """As `_mirror`, for the documents."""
        shape = (len(self.counts), int(self.places.max()) + 1)
        return _mirror(torch.zeros(shape, device=self.counts.device), self.counts)


def _mirror(tokens: Tensor, lengths: Tensor | None) -> Tensor:
    """For each token, the place of the one that replaces it in the reversed sequence (b l)."""
    places = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
    if lengths is None:
        return places.flip(-1)
    last = lengths[:, None] - 1
    return torch.where(places <= last, last - places, places)


def _gather(stream: Tensor, places: Tensor) -> Tensor:
    return stream.gather(1, places[..., None].expand(-1, -1, stream.shape[-1]))
