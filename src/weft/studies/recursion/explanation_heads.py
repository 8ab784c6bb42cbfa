"""What each attention head does: knock-outs, and recursion scores against a null set.

A knock-out changes the attention weights of one head, for all queries, while the model reads its
own outputs, and counts the inputs on which a prediction in a part of the output changes:

    without PART   the weights on the keys of this part are set to 0, the others renormalised; a
                   query with no other weight gets nothing from this head
    uniform        equal weights on all visible keys
    mean           the mean weights of the inputs read together, at the same query and key

A head is causal for a part of the output if the lower end of the 95% interval of this share is
above `CAUSAL` for some knock-out.

The recursion score of a head is the attention that queries within the recursion run pay to its
start, or to the run, minus the attention that other queries pay to it; the mean over inputs. The
null set are the same weights with the parts of other inputs of the same length: a head that
attends by position alone has the same score there. The threshold is the 99% quantile, over
shuffles, of the largest excess of any head over its own null mean. The excess of a recursion head
is above the threshold, with 95% confidence, and it is causal for the run, the token before it, or
the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from weft.statistics import Share
from weft.studies.recursion.explanation_model import AskedModel, LaidOut
from weft.studies.recursion.explanation_resume import resumable
from weft.studies.recursion.explanation_subjects import END
from weft.tasks.arrays import Bools, Ints

if TYPE_CHECKING:
    from torch import Tensor

    from weft.models.hooks import Hook

Floats = NDArray[np.float64]
CAUSAL = 0.05
SHUFFLES = 50
QUANTILE = 0.99
SCORED = 1024
"""Recursion scores are means over at most this many inputs."""
RECURSIVE = ("run", "flip", END)
"""The parts of the output that a recursion head must have an effect on."""


@dataclass(frozen=True)
class Head:
    """An attention head.

    Attributes:
        stack: `encoder` or `decoder` self-attention, or `cross`.
        layer: its layer, from 0, loops counted.
        head: its number in the layer, from 0.
    """

    stack: str
    layer: int
    head: int

    @property
    def name(self) -> str:
        """Its name, with layers and heads counted from 0."""
        return f"{self.stack} {self.layer}.{self.head}"


@dataclass(frozen=True)
class Effect:
    """What a knock-out changes.

    Attributes:
        head: the head.
        change: `without PART`, `uniform` or `mean`.
        flips: by part of the output, the inputs on which a prediction in it changes.
    """

    head: Head
    change: str
    flips: dict[str, Share]

    def causal(self, parts: Sequence[str] | None = None) -> bool:
        """Whether the head is causal for one of some parts, or for any."""
        return any(
            share.count > 0 and share.interval.low > CAUSAL
            for part, share in self.flips.items()
            if parts is None or part in parts
        )

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        flips = {part: share.as_dict() for part, share in self.flips.items()}
        return {"head": self.head.name, "change": self.change, "flips": flips}


def parts_of(effects: Sequence[Effect]) -> list[str]:
    """The parts of the output that effects are on, in a fixed order, the end last."""
    known = dict.fromkeys(part for each in effects for part in each.flips)
    first = [part for part in ("copy", "flip", "run", "down", "up") if part in known]
    return sorted(known, key=lambda part: (part == END, first.index(part) if part in first else 9))


@dataclass(frozen=True)
class Score:
    """The recursion score of a head.

    Attributes:
        head: the head.
        target: what is attended to: `start` or `run`.
        score: the mean over inputs.
        error: half the width of its 95% interval.
        count: the number of inputs.
        null: the mean score on the null set.
        threshold: what the excess over that has to be above.
    """

    head: Head
    target: str
    score: float
    error: float
    count: int
    null: float
    threshold: float

    @property
    def excess(self) -> float:
        """The score minus that on the null set."""
        return self.score - self.null

    @property
    def above(self) -> bool:
        """Whether the excess is above the threshold, with its 95% interval."""
        return self.excess - self.error > self.threshold

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        return {
            "head": self.head.name,
            "target": self.target,
            "score": self.score,
            "low": self.score - self.error,
            "high": self.score + self.error,
            "n": self.count,
            "null": self.null,
            "excess": self.excess,
            "threshold": self.threshold,
            "above": self.above,
        }


# Heads and their weights


def stacks(asked: AskedModel) -> dict[str, str]:
    """The name of the activation of attention weights of each stack, up to the layer."""
    kind = asked.model.config.kind
    if kind == "encoder-decoder":
        return {"encoder": "encoder.blocks.", "decoder": "blocks.", "cross": "blocks."}
    return {kind: "blocks."}


def activation(asked: AskedModel, stack: str, layer: int) -> str:
    """The name of the attention weights of a layer."""
    attention = "cross_attn" if stack == "cross" else "attn"
    return f"{stacks(asked)[stack]}{layer}.{attention}.hook_pattern"


def heads_of(asked: AskedModel) -> list[Head]:
    """All heads of a model; none of one without attention."""
    config = asked.model.config
    if config.architecture != "transformer":
        return []
    found = []
    for stack in stacks(asked):
        layers = config.of_encoder.layers if stack == "encoder" else config.layers
        for layer in range(layers * config.loops):
            found += [Head(stack, layer, head) for head in range(config.heads)]
    return found


def key_parts(laid: LaidOut, stack: str) -> Ints:
    """The part of each key (b m)."""
    source = laid.parts.source
    return laid.parts.tokens if stack == "decoder" or source is None else source


def query_parts(laid: LaidOut, stack: str) -> Ints:
    """The part of each query (b l): of the output that it predicts, in an encoder of its token."""
    if stack == "encoder" and laid.parts.source is not None:
        return laid.parts.source
    return laid.parts.predicted


def weights_of(asked: AskedModel, laid: LaidOut) -> dict[str, Tensor]:
    """The attention weights of all heads (b h l m), by the name of the activation."""
    found: dict[str, Tensor] = {}

    def hook(name: str, tensor: Tensor) -> Tensor:
        if name.endswith("hook_pattern"):
            found[name] = tensor
        return tensor

    asked.predictions(laid, hook)
    return found


# Knock-outs


def changes(asked: AskedModel, laid: LaidOut, head: Head) -> Iterator[tuple[str, Any]]:
    """The knock-outs of a head, each with a function from its weights (b l m) to new ones."""
    import torch

    parts = torch.from_numpy(key_parts(laid, head.stack))
    for number, name in enumerate(laid.parts.names):
        chosen = parts == number
        if number and bool(chosen.any()):
            yield f"without {name}", _without(chosen)
    visible = (parts > 0)[:, None, :]
    if head.stack == "decoder":
        places = torch.arange(parts.shape[1])
        visible = visible & (places[None, :, None] >= places[None, None, :])
    shares = visible / visible.sum(-1, keepdim=True).clamp(min=1)
    yield "uniform", lambda weights: shares.to(weights).expand_as(weights)
    yield "mean", _mean(visible)


def _without(chosen: Tensor) -> Callable[[Tensor], Tensor]:
    def changed(weights: Tensor) -> Tensor:
        kept = weights.masked_fill(chosen[:, None, :].to(weights.device), 0.0)
        return kept / kept.sum(-1, keepdim=True).clamp(min=1e-9)

    return changed


def _mean(visible: Tensor) -> Callable[[Tensor], Tensor]:
    def changed(weights: Tensor) -> Tensor:
        seen = visible.to(weights).expand_as(weights)
        mean = (weights * seen).sum(0) / seen.sum(0).clamp(min=1)
        kept = mean * seen
        return kept / kept.sum(-1, keepdim=True).clamp(min=1e-9)

    return changed


def _hook(name: str, head: int, change: Callable[[Tensor], Tensor]) -> Hook:
    def hook(called: str, tensor: Tensor) -> Tensor:
        if called != name:
            return tensor
        changed = tensor.clone()
        changed[:, head] = change(tensor[:, head])
        return changed

    return hook


def knock_outs(asked: AskedModel, batches: Sequence[LaidOut]) -> list[Effect]:
    """The effects of all knock-outs of all heads."""
    counts: dict[tuple[Head, str], dict[str, list[int]]] = {}
    for laid in batches:
        passes = resumable(asked, laid)
        for head in heads_of(asked):
            name = activation(asked, head.stack, head.layer)
            for change, function in changes(asked, laid, head):
                changed = _hook(name, head.head, function)
                after = passes.predictions(head.stack, head.layer, changed)
                found = counts.setdefault((head, change), {})
                for part, (hits, total) in _flips(laid, passes.predicted != after).items():
                    both = found.setdefault(part, [0, 0])
                    both[0] += hits
                    both[1] += total
    return [
        Effect(head, change, {part: Share(*both) for part, both in found.items()})
        for (head, change), found in counts.items()
    ]


def _flips(laid: LaidOut, differs: Bools) -> dict[str, tuple[int, int]]:
    """Of each part of the output, on how many inputs a prediction differs, and how many have it."""
    found = {}
    for number in np.unique(laid.parts.predicted[laid.parts.predicted > 0]).tolist():
        there = laid.parts.predicted == number
        rows = there.any(axis=1)
        hits = (differs & there).any(axis=1)
        found[laid.parts.names[number]] = int(hits.sum()), int(rows.sum())
    return found


# Recursion scores


def recursion_scores(
    asked: AskedModel, batches: Sequence[LaidOut], *, seed: int = 0
) -> list[Score]:
    """The recursion scores of all heads, start first; none if the subject has no recursion run."""
    recursion = asked.subject.recursion
    heads = heads_of(asked)
    if recursion is None or not heads or not batches:
        return []
    rng = np.random.default_rng(seed)
    scores: list[Score] = []
    sampled = _sampled(batches)
    weights = [(laid, weights_of(asked, laid)) for laid in sampled]
    orders = [[_shuffled(rng, laid) for laid in sampled] for _ in range(SHUFFLES)]
    for target in (recursion[1], recursion[0]):
        real = {head: _per_input(asked, weights, head, target, None) for head in heads}
        null = {
            head: np.array(
                [_mean_of(_per_input(asked, weights, head, target, order)) for order in orders]
            )
            for head in heads
        }
        means = {head: float(values.mean()) for head, values in null.items()}
        largest = np.max([values - means[head] for head, values in null.items()], axis=0)
        threshold = float(np.quantile(largest, QUANTILE))
        for head in heads:
            values = real[head]
            count = len(values)
            error = 1.96 * float(values.std(ddof=1)) / count**0.5 if count > 1 else float("nan")
            scores.append(
                Score(head, target, _mean_of(values), error, count, means[head], threshold)
            )
    return scores


def _sampled(batches: Sequence[LaidOut]) -> list[LaidOut]:
    """About `SCORED` of the inputs, evenly spread."""
    from weft.studies.recursion.explanation_model import Parts

    total = sum(len(laid.batch) for laid in batches)
    step = max(1, -(-total // SCORED))
    found = []
    for laid in batches:
        rows = np.arange(0, len(laid.batch), step)
        parts = laid.parts
        kept = Parts(
            parts.names,
            None if parts.source is None else parts.source[rows],
            parts.tokens[rows],
            parts.predicted[rows],
        )
        found.append(LaidOut(laid.batch.take(rows), kept, laid.rows[rows]))
    return found


def _shuffled(rng: np.random.Generator, laid: LaidOut) -> Ints:
    """For each input another one of the same length, with an output of the same length."""
    batch = laid.batch
    lengths = np.stack([batch.lengths, batch.lengths if batch.source_lengths is None
                        else batch.source_lengths])  # fmt: skip
    order = np.arange(len(batch))
    for group in np.unique(lengths, axis=1).T:
        rows = np.flatnonzero((lengths == group[:, None]).all(axis=0))
        order[rows] = rng.permutation(rows)
    return order


def _per_input(
    asked: AskedModel,
    weights: Sequence[tuple[LaidOut, dict[str, Tensor]]],
    head: Head,
    target: str,
    orders: Sequence[Ints] | None,
) -> Floats:
    """The score of each input that has both kinds of queries, and the target."""
    found = []
    name = activation(asked, head.stack, head.layer)
    for number, (laid, by_name) in enumerate(weights):
        keys, queries = key_parts(laid, head.stack), query_parts(laid, head.stack)
        if orders is not None:
            keys, queries = keys[orders[number]], queries[orders[number]]
        names = _names_of(target, head.stack)
        wanted = np.isin(keys, [laid.parts.number(each) for each in names])
        mass = np.einsum("blm,bm->bl", by_name[name][:, head.head].cpu().numpy(), wanted)
        inside = queries == laid.parts.number("run")
        outside = (queries > 1) & ~inside
        kept = inside.any(1) & outside.any(1) & wanted.any(1)
        difference = _mean_where(mass, inside)[kept] - _mean_where(mass, outside)[kept]
        found.append(difference)
    return np.concatenate(found) if found else np.zeros(0)


def _names_of(target: str, stack: str) -> tuple[str, ...]:
    """The parts that are the target: in a decoder, those of its own output as well."""
    own = {"start": "own flip", "run": "own run"}.get(target, "")
    return (target, own) if stack == "decoder" else (target,)


def _mean_where(values: Floats, chosen: Bools) -> Floats:
    return np.asarray((values * chosen).sum(1) / np.maximum(1, chosen.sum(1)))


def _mean_of(values: Floats) -> float:
    return float(values.mean()) if len(values) else 0.0


def recursion_heads(scores: Sequence[Score], effects: Sequence[Effect]) -> list[Head]:
    """The heads with a score above the threshold and an effect on the recursion."""
    causal = {effect.head for effect in effects if effect.causal(RECURSIVE)}
    return list(
        dict.fromkeys(score.head for score in scores if score.above and score.head in causal)
    )
