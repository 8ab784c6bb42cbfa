"""Draws mechanisms/*.svg: what each mechanism attends to, in a small model with fixed weights.

    make docs

Every picture is computed by `weft.models`. Queries and keys have the same projection, so a letter
attends to letters like itself; what else is seen is the mechanism. A test draws them again and
compares. Weights come from Python's own generator, which gives the same numbers everywhere.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from weft.models import Transformer, TransformerConfig
from weft.studies.plotting import add_attention_legend, draw_attention, style, svg_of

FOLDER = Path(__file__).parent / "mechanisms"
WORDS = "abracadabra.abracadabra."
RUN = "a" * 24
SUMS = "12+345=357.60+7=67.9+8=1"
ONES = "11+111=111.11+1=11.1+1=1"
LETTERS = "".join(sorted(set(WORDS + SUMS)))
DIGITS = "0123456789"
WIDTH, HEADS, SEED = 64, 4, 1


@dataclass(frozen=True)
class Panel:
    """One map of weights.

    Attributes:
        caption: what it shows.
        text: the input.
        changes: what the model is made of.
        layer: whose weights.
        head: whose weights.
        sharp: what queries are multiplied by.
        training: whether positions are drawn.
    """

    caption: str
    text: str = WORDS
    changes: dict[str, Any] = field(default_factory=dict)
    layer: int = 0
    head: int = 0
    sharp: float = 1.0
    training: bool = False


@dataclass(frozen=True)
class Picture:
    """A mechanism's maps side by side."""

    title: str
    left: Panel
    right: Panel


def by_position(title: str, sharp: float = 1.0, head: int = 0, **changes: Any) -> Picture:
    """A run of one letter, where nothing but positions differs, and words."""
    alone = Panel("one letter: positions alone", RUN, changes, head=head, sharp=sharp)
    return Picture(title, alone, Panel("words", WORDS, changes, head=head, sharp=sharp))


def by_head(title: str, left: tuple[str, int], right: tuple[str, int], **changes: Any) -> Picture:
    """Two heads that differ."""
    return Picture(title, *(Panel(said, WORDS, changes, head=head) for said, head in (left, right)))


def beside_softmax(title: str, caption: str, sharp: float = 1.0, **changes: Any) -> Picture:
    """The same queries and keys in softmax attention."""
    plain = Panel("softmax, for comparison", WORDS, sharp=sharp)
    return Picture(title, plain, Panel(caption, WORDS, changes, sharp=sharp))


DRAWN = {"position": "randomised+alibi", "positions": 48}
PLACED = {"position": "abacus", "positions": 8}
WINDOWED = {"attention": "swan", "position": "rotary"}

PICTURES = {
    "none": by_position("no positions: letters like itself, near or far", 1.5, position="none"),
    "learned": by_position(
        "learned positions, before training", 2.0, position="learned", positions=32
    ),
    "sinusoidal": by_position("sinusoidal: waves of the distance", 3.5, position="sinusoidal"),
    "abacus": Picture(
        "abacus: digits at the same place of their numbers",
        Panel("digits all alike: places alone", ONES, PLACED, sharp=2.0),
        Panel("sums", SUMS, PLACED, sharp=2.0),
    ),
    "randomised": Picture(
        "randomised positions, told to ALiBi",
        Panel("one letter, evaluation: spread evenly", RUN, DRAWN),
        Panel("one letter, training: drawn", RUN, DRAWN, training=True),
    ),
    "rotary": by_position("rotary: turned by the position", 2.5, position="rotary"),
    "alibi": by_head(
        "ALiBi: a penalty on distance",
        ("head 1: slope 1/4", 0), ("head 3: slope 1/64", 2),
        position="alibi",
    ),
    "nape": by_head(
        "NaPE: local heads and global heads",
        ("head 1, local: slope 1/4", 0), ("head 3, global: no slope", 2),
        position="nape",
    ),
    "t5": by_position("T5: a learned number for every distance", position="t5"),
    "distance": by_position(
        "distance: a learned bias per exact distance", position="distance", positions=24
    ),
    "fire": by_position("FIRE: a function of the share of the way back", head=1, position="fire"),
    "softmax": Picture(
        "softmax", Panel("decoder"), Panel("encoder", changes={"kind": "encoder"})
    ),
    "forgetting": by_head(
        "forgetting attention: gates that depend on the token",
        ("head 1 forgets at full stops", 0), ("head 2 forgets at c and d", 1),
        attention="forgetting",
    ),
    "path": beside_softmax("PaTH: what lies between transforms keys", "PaTH", attention="path"),
    "stick-breaking": by_position(
        "stick-breaking: the nearest take first", 2.0, attention="stick-breaking"
    ),
    "entmax": beside_softmax(
        "alpha-entmax: most weights are exactly zero", "alpha = 1.5", attention="entmax"
    ),
    "swan": Picture(
        "SWAN: global layers and local ones",
        Panel("layer 1, global, without positions", changes=WINDOWED),
        Panel("layer 2, window 6, with rotary", changes=WINDOWED, layer=1),
    ),
    "log-scaled": beside_softmax(
        "log-scaled softmax: sharper where there are more keys", "log-scaled", 0.7,
        attention="log-scaled",
    ),
}  # fmt: skip


def figures() -> dict[str, Figure]:
    """Every figure, by the name of its mechanism."""
    return {name: figure_of(picture) for name, picture in PICTURES.items()}


# The model


def weights_of(panel: Panel) -> list[list[float | None]]:
    """The weight of every key for every query; None where it is not seen."""
    model = made(panel)
    tokens = torch.tensor([[LETTERS.index(letter) for letter in panel.text]])
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(SEED)
        cache = model.train(panel.training).run_with_cache(tokens)[1]
    found = cache[f"blocks.{panel.layer}.attn.hook_pattern"][0, panel.head]
    mixing = model.layers[panel.layer].attention.mixing
    window = mixing.window or len(panel.text)
    last = len(panel.text) - 1 if panel.changes.get("kind") == "encoder" else 0

    def seen(i: int, j: int) -> bool:
        return (j <= i or j <= last) and i - j < window and not (mixing.strict and i == j)

    return [
        [weight if seen(i, j) else None for j, weight in enumerate(row)]
        for i, row in enumerate(found.tolist())
    ]


def made(panel: Panel) -> Transformer:
    """A small model with random weights and queries that look for keys like themselves."""
    values: dict[str, Any] = {
        "vocabulary": len(LETTERS), "outputs": 1, "width": WIDTH, "heads": HEADS, "hidden": (1,),
        "kind": "decoder", "norm": "pre", "layers": 2, "window": 6, "global_every": 2,
        "digits": tuple(LETTERS.index(digit) for digit in DIGITS), "dtype": "float64",
        **panel.changes,
    }  # fmt: skip
    model = Transformer(TransformerConfig(**values))
    for name, weight in model.named_parameters():
        weight.data.copy_(first_values(name, weight))
    for layer in model.layers:
        layer.attention.query.data.copy_(panel.sharp * layer.attention.key.data)
        if model.config.attention == "forgetting":
            set_gates(model, layer)
    return model


SPREAD = {"embedding": 1.0, "table": 1.0, "weight": 1.2, "first": 1.0, "second": 1.0}
"""How widely weights are drawn, by the end of their name; 0.1 where it is not here."""
FIXED = {"gain": 1.0, "scale": 1.0, "growth": 1.0, "c": 0.5, "threshold": 8 / 512}
"""What is not drawn."""
GATES = {0: ".", 1: "cd"}
"""At which letters a head forgets."""


def first_values(name: str, weight: Tensor) -> Tensor:
    """The same for the same name, whatever else is in the model."""
    end = name.rpartition(".")[2]
    if end in FIXED:
        return torch.full_like(weight, FIXED[end])
    generator = random.Random(f"{SEED} {name}")
    values = [generator.gauss(0, SPREAD.get(end, 0.1)) for _ in range(weight.numel())]
    return torch.tensor(values, dtype=weight.dtype).view(weight.shape)


def set_gates(model: Transformer, layer: Any) -> None:
    """Heads forget at some letters and keep what they saw at all others."""
    letters = layer.norms[0](model.embedding)
    mixing = layer.attention.mixing
    mixing.gate_bias.data.fill_(4.0)
    for head, chosen in GATES.items():
        wanted = torch.tensor([[-8.0 if letter in chosen else 0.0] for letter in LETTERS])
        mixing.gate.data[head] = torch.linalg.lstsq(letters, wanted.to(letters)).solution[:, 0]


# The drawing


def figure_of(picture: Picture) -> Figure:
    """The two maps of a mechanism side by side."""
    with style():
        figure = Figure(figsize=(6.4, 4.2))
        figure.subplots_adjust(left=0.075, right=0.985, bottom=0.14, top=0.80, wspace=0.17)
        for axes, panel in zip(figure.subplots(1, 2), (picture.left, picture.right), strict=True):
            draw_attention(axes, weights_of(panel), list(panel.text))
            axes.set_title(panel.caption)
        figure.suptitle(picture.title, fontsize=11, fontweight="bold", y=0.98)
        add_attention_legend(figure)
    return figure


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, figure in figures().items():
        (FOLDER / f"{name}.svg").write_text(svg_of(figure), encoding="utf-8")
    print(f"{FOLDER.name}: {len(PICTURES)} figures")
