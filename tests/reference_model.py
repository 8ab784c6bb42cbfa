"""A Transformer by its formulas, one number at a time: what the models are compared with.

NumPy in float64, loops over queries i and keys j, one sequence without padding. It shares nothing
with the models but the names of their weights. Products of matrices that PaTH needs are multiplied
out, thresholds of entmax are found by bisection, logarithms of gates are summed anew for each pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from weft.models import Transformer

Array = NDArray[np.float64]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def gelu(x: float) -> float:
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


ACTIVATIONS = {
    "clipped": lambda x: min(max(x, 0.0), 1.0),
    "relu": lambda x: max(x, 0.0),
    "gelu": gelu,
}


def softmax_row(scores: Sequence[float]) -> list[float]:
    most = max(scores)
    powers = [math.exp(score - most) for score in scores]
    return [power / sum(powers) for power in powers]


def entmax_row(scores: Sequence[float], alpha: float) -> list[float]:
    """The threshold halves its interval until it cannot."""
    scaled = [(alpha - 1) * score for score in scores]
    low, high = max(scaled) - 1, max(scaled)
    for _ in range(100):
        middle = (low + high) / 2
        total = sum(max(score - middle, 0) ** (1 / (alpha - 1)) for score in scaled)
        low, high = (middle, high) if total >= 1 else (low, middle)
    return [max(score - low, 0) ** (1 / (alpha - 1)) for score in scaled]


def alibi_slopes(heads: int) -> list[float]:
    """As published: for 2^n heads, and for others by those of the powers next to it."""
    if heads & (heads - 1) == 0:
        return [2 ** (-8 * h / heads) for h in range(1, heads + 1)]
    power = 1 << (heads.bit_length() - 1)
    return alibi_slopes(power) + alibi_slopes(2 * power)[0::2][: heads - power]


def slopes(heads: int, position: str, schedule: str, share: float = 0.5) -> list[float]:
    if position == "alibi":
        return alibi_slopes(heads)
    half = next(count for count in range(heads + 1) if count >= share * heads)
    if schedule == "steep":
        found = sorted(alibi_slopes(heads))[::-1][:half]
    elif schedule == "harmonic":
        found = [1 / h for h in range(1, half + 1)]
    else:
        found = alibi_slopes(half)
    return found + [0.0] * (heads - half)


def t5_bucket(relative: int, causal: bool) -> int:
    """The published formula, in whole numbers: log(a) / log(b) * n >= m where a^n >= b^m."""
    buckets, extra, distance = 32, 0, relative
    if not causal:
        buckets, extra = 16, 16 * (relative < 0)
        distance = abs(relative)
    near = buckets // 2
    if distance < near:
        return extra + distance
    found = near
    while found < buckets - 1 and distance**near >= near**near * (128 // near) ** (
        found + 1 - near
    ):
        found += 1
    return extra + found


def digit_places(tokens: Sequence[int], digits: Sequence[int]) -> list[int]:
    places: list[int] = []
    for token in tokens:
        places.append((places[-1] if places else 0) + 1 if token in digits else 0)
    return places


class Reference:
    """The same weights as a model's, and the formulas."""

    def __init__(self, model: Transformer) -> None:
        self.config = model.config
        self.weights: dict[str, Array] = {
            name: weight.detach().double().numpy().copy()
            for name, weight in model.named_parameters()
        }

    def logits(
        self,
        tokens: Sequence[int],
        *,
        positions: Sequence[int] | None = None,
        digits: Sequence[int] = (),
        offset: int = 0,
        source: Sequence[int] | None = None,
    ) -> Array:
        """The logits of one sequence (l outputs)."""
        config, weights = self.config, self.weights
        places = list(positions or range(len(tokens)))
        stream = self.embed(tokens, places, digits, offset)
        read = None if source is None else self._encoded(source, digits)
        first = stream
        for loop in range(config.loops):
            before = stream
            if loop and config.inject:
                stream = stream + first
            for number in range(config.layers):
                name = f"layers.{number}"
                stream = self.layer(name, number, stream, places, config.kind != "encoder", read)
            if config.halt is not None and config.halting == "position":
                for i in range(len(tokens)):
                    if before[i, config.halt] > 0.5:
                        stream[i] = before[i]
        if config.norm == "pre":
            stream = self._norm("norm", stream)
        return stream @ weights["embedding" if config.tied else "unembedding"].T

    def _encoded(self, source: Sequence[int], digits: Sequence[int]) -> Array:
        places = list(range(len(source)))
        told = self._told_as_encoder() if self.config.encoder_position else self
        stream = start = told.embed(source, places, digits, 0)
        for loop in range(self.config.loops):
            if loop and self.config.inject:
                stream = stream + start
            for number in range(self.config.encoder_layers):
                stream = told.layer(f"encoder.{number}", number, stream, places, False, None)
        return self._norm("encoder_norm", stream) if self.config.norm == "pre" else stream

    def _told_as_encoder(self) -> Reference:
        """The same with the encoder's positions for the model's."""
        found = copy(self)
        found.config = self.config.of_encoder
        found.weights = self.weights | {
            name.removeprefix("encoder_"): weight
            for name, weight in self.weights.items()
            if name.startswith("encoder_position.")
        }
        return found

    def embed(
        self, tokens: Sequence[int], places: Sequence[int], digits: Sequence[int], offset: int
    ) -> Array:
        config, weights = self.config, self.weights
        stream = np.array([weights["embedding"][token] for token in tokens])
        if "learned" in config.encodings:
            for t, place in enumerate(places):
                stream[t] += weights["position.parts.learned.table"][place]
        if "sinusoidal" in config.encodings:
            for t, place in enumerate(places):
                for d in range(config.width):
                    angle = place / 10000 ** (2 * (d // 2) / config.width)
                    wave = math.cos(angle) if d % 2 else math.sin(angle)
                    stream[t, d] += weights["position.parts.sinusoidal.scale"] * wave
        if "abacus" in config.encodings:
            for t, place in enumerate(digit_places(tokens, digits)):
                row = place + offset if place else 0
                stream[t] += weights["position.parts.abacus.table"][row]
        return stream

    def layer(
        self,
        name: str,
        number: int,
        stream: Array,
        places: Sequence[int],
        causal: bool,
        read: Array | None,
    ) -> Array:
        stream = self._added(
            name, 0, stream, "A", lambda told: self._heads(name, number, told, places, causal)
        )
        if read is not None:
            stream = self._added(name, 2, stream, "", lambda told: self._cross(name, told, read))
        return self._added(name, 1, stream, "C", lambda told: self._feed_forward(name, told))

    def _added(self, name, part, stream, canon, function) -> Array:  # type: ignore[no-untyped-def]
        norm = f"{name}.norms.{part}"
        told = self._norm(norm, stream) if self.config.norm == "pre" else stream
        if canon and canon in self.config.canon:
            told = self._canon(told, f"{name}.canons.{canon}.taps")
        stream = stream + function(told)
        return self._norm(norm, stream) if self.config.norm == "post" else stream

    def _norm(self, name: str, stream: Array) -> Array:
        gain = self.weights[f"{name}.gain"]
        return np.array([x / math.sqrt(np.mean(x * x) + 1e-6) * gain for x in stream])

    def _canon(self, stream: Array, name: str) -> Array:
        taps, mixed = self.weights[name], stream.copy()
        for t in range(len(stream)):
            for k in range(min(4, t + 1)):
                mixed[t] += taps[k] * stream[t - k]
        return mixed

    def _feed_forward(self, name: str, stream: Array) -> Array:
        config = self.config
        last = len(config.hidden)
        for place in range(last + 1):
            stream = stream @ self.weights[f"{name}.feed_forward.weights.{place}"].T
            if config.biases:
                stream = stream + self.weights[f"{name}.feed_forward.biases.{place}"]
            if place == last:
                return stream
            if place == 0 and "D" in config.canon:
                stream = self._canon(stream, f"{name}.feed_forward.canon.taps")
            if config.activation == "swiglu":
                half = stream.shape[1] // 2
                swish = np.vectorize(lambda x: x * sigmoid(x))(stream[:, :half])
                stream = swish * stream[:, half:]
            else:
                stream = np.vectorize(ACTIVATIONS[config.activation])(stream)
        return stream

    # Attention

    def _cross(self, name: str, stream: Array, read: Array) -> Array:
        config, weights, found = self.config, self.weights, np.zeros_like(stream)
        for h in range(config.heads):
            query = stream @ weights[f"{name}.cross.query"][h]
            key = read @ weights[f"{name}.cross.key"][h]
            value = read @ weights[f"{name}.cross.value"][h]
            for i in range(len(stream)):
                row = softmax_row([query[i] @ k / math.sqrt(config.key_width) for k in key])
                found[i] += (
                    sum(w * v for w, v in zip(row, value, strict=True))
                    @ (weights[f"{name}.cross.output"][h])
                )
        return found

    def _heads(
        self, name: str, number: int, stream: Array, places: Sequence[int], causal: bool
    ) -> Array:
        config, found = self.config, np.zeros_like(stream)
        for h, (query, key, value) in enumerate(self._projected(name, stream)):
            told = not (config.attention == "swan" and number % config.global_every == 0)
            if "rotary" in config.encodings and told:
                query, key = self._turned(query, places), self._turned(key, places)
            weights = self.pattern(name, number, h, query, key, stream, places, causal)
            output = self.weights[f"{name}.attention.output"][h]
            for i in range(len(stream)):
                for j in range(len(stream)):
                    found[i] += weights[i, j] * value[j] @ output
        return found

    def _projected(self, name: str, stream: Array) -> list[tuple[Array, Array, Array]]:
        config, columns = self.config, []
        for h in range(config.heads):
            for part in ("query", "key", "value"):
                columns.append(stream @ self.weights[f"{name}.attention.{part}"][h])
        whole = np.concatenate(columns, 1)
        if "B" in config.canon:
            whole = self._canon(whole, f"{name}.attention.canon.taps")
        cuts = np.cumsum([column.shape[1] for column in columns])[:-1]
        parts = np.split(whole, cuts, 1)
        return [tuple(parts[3 * h : 3 * h + 3]) for h in range(config.heads)]  # type: ignore[misc]

    def _turned(self, vectors: Array, places: Sequence[int]) -> Array:
        size, turned = vectors.shape[1], vectors.copy()
        for t, place in enumerate(places):
            for m in range(size // 2):
                angle = place * 10000 ** (-2 * m / size)
                one, two = vectors[t, m], vectors[t, m + size // 2]
                turned[t, m] = one * math.cos(angle) - two * math.sin(angle)
                turned[t, m + size // 2] = two * math.cos(angle) + one * math.sin(angle)
        return turned

    def pattern(
        self,
        name: str,
        number: int,
        h: int,
        query: Array,
        key: Array,
        stream: Array,
        places: Sequence[int],
        causal: bool,
    ) -> Array:
        """The weights of one head (l l)."""
        config, count = self.config, len(stream)
        kind, found = config.attention, np.zeros((count, count))
        told = not (kind == "swan" and number % config.global_every == 0)
        for i in range(count):
            seen = [j for j in range(count) if j <= i or not causal]
            if kind == "swan" and told:
                seen = [j for j in seen if abs(i - j) < config.window]
            scores = []
            for j in seen:
                score = query[i] @ self._between(name, h, i, j, stream) @ key[j]
                score /= math.sqrt(config.key_width) if config.scaled else 1
                if kind == "log-scaled":
                    score *= self.weights[f"{name}.attention.mixing.growth"][h] * math.log(
                        len(seen)
                    )
                if kind == "forgetting":
                    score += self._forgotten(name, h, i, j, stream)
                scores.append(score + (self.bias(h, places[i], places[j], causal) if told else 0))
            if kind == "stick-breaking":
                for j in range(i):
                    rest = math.prod(1 - sigmoid(scores[between]) for between in range(j + 1, i))
                    found[i, j] = sigmoid(scores[j]) * rest
            else:
                row = entmax_row(scores, config.alpha) if kind == "entmax" else softmax_row(scores)
                found[i, seen] = row
        return found

    def _forgotten(self, name: str, h: int, i: int, j: int, stream: Array) -> float:
        gate = self.weights[f"{name}.attention.mixing.gate"][h]
        bias = self.weights[f"{name}.attention.mixing.gate_bias"][h]
        return sum(math.log(sigmoid(gate @ stream[t] + bias)) for t in range(j + 1, i + 1))

    def _between(self, name: str, h: int, i: int, j: int, stream: Array) -> Array:
        """H_i H_{i-1} ... H_{j+1} of PaTH, as they act on the key; of all others nothing."""
        size = self.config.key_width
        product = np.eye(size)
        if self.config.attention != "path":
            return product
        mixing = f"{name}.attention.mixing."
        strength = self.weights[mixing + "strength"][h]
        for t in range(j + 1, i + 1):
            axis = self._axis(mixing, h, t, stream)
            beta = 2 * sigmoid(strength @ stream[t] + self.weights[mixing + "strength_bias"][h])
            product = (np.eye(size) - beta * np.outer(axis, axis)) @ product
        return product

    def _axis(self, mixing: str, h: int, t: int, stream: Array) -> Array:
        size = self.config.key_width
        mixed = np.zeros(size)
        for k in range(min(3, t + 1)):
            wide = self.weights[mixing + "up"] @ (self.weights[mixing + "down"] @ stream[t - k])
            taps = self.weights[mixing + "taps"][k]
            mixed += (taps * wide)[h * size : (h + 1) * size]
        axis = np.array([x * sigmoid(x) for x in mixed])
        return axis / math.sqrt(axis @ axis)

    def bias(self, h: int, here: int, there: int, causal: bool) -> float:
        """What positions add to a score."""
        config, weights = self.config, self.weights
        distance = here - there
        for name in config.encodings:
            if name in ("alibi", "nape"):
                sloped = slopes(config.heads, name, config.slopes, config.slope_share)
                return -sloped[h] * abs(distance)
            if name == "t5":
                both = config.kind == "encoder-decoder" and not causal
                table = weights[f"position.parts.t5.{'encoder_' if both else ''}weight"]
                return float(table[h, t5_bucket(distance, causal)])
            if name == "distance":
                both = config.kind == "encoder-decoder" and not causal
                table = weights[f"position.parts.distance.{'encoder_' if both else ''}weight"]
                entry = min(abs(distance), (config.positions or 0) - 1)
                return float(table[h, entry + (config.positions or 0) * (distance < 0)])
            if name == "fire":
                return self._fire(h, here, abs(distance))
        return 0.0

    def _fire(self, h: int, here: int, distance: int) -> float:
        names = ("c", "threshold", "first", "first_bias", "second", "second_bias")
        part = {name: self.weights[f"position.parts.fire.{name}"] for name in names}
        c, least = abs(float(part["c"])), abs(512 * float(part["threshold"]))
        share = math.log(c * distance + 1) / (math.log(c * max(here, least) + 1) + 1e-6)
        found = float(part["second_bias"][h])
        for unit in range(len(part["first"])):
            hidden = max(share * part["first"][unit] + part["first_bias"][unit], 0)
            found += part["second"][h, unit] * hidden
        return found
