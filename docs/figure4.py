"""Draws figure4.svg: figure 4 of the ALTA paper, with Weft's numbers beside the paper's.

    make docs

`figure4.json` has the accuracies of trace supervision as measured: at most 20 bits, more, and more
than 20 ones, in percent, for each program. `bench/gpu_traces.py` writes such a file. The paper's
are those of its table 2. A test draws the picture again and compares.
"""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent
FILE, NUMBERS = HERE / "figure4.svg", HERE / "figure4.json"
NAMES = {
    "relative": "Sequential (relative)",
    "absolute": "Sequential (absolute)",
    "count": "Sum + modulo",
}
PAPER = {"relative": (100, 100, 100), "absolute": (100, 52, 51), "count": (100, 78, 50)}
PANELS = ("length over 20", "ones over 20")
BARS = (("compiled", "#9ecae1"), ("trace supervision, the paper", "#fdae6b"),
        ("trace supervision, Weft", "#2171b5"))  # fmt: skip
WIDTH, HEIGHT, TOP, LEFT, BAR, GROUP, PANEL = 720, 250, 50, 44, 22, 100, 340
BASE = 190


def picture() -> str:
    """The text of figure4.svg."""
    ours = json.loads(NUMBERS.read_text(encoding="utf-8"))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for place, (said, colour) in enumerate(BARS):
        x = LEFT + place * 200
        parts.append(f'<rect x="{x}" y="10" width="12" height="12" fill="{colour}"/>')
        parts.append(_text(x + 18, 20, said, "start"))
    for place, title in enumerate(PANELS):
        parts += _panel(LEFT + place * PANEL, title, place + 1, ours)
    return "\n".join([*parts, "</svg>", ""])


def _panel(left: int, title: str, column: int, ours: dict[str, list[float]]) -> list[str]:
    """The bars of one column of table 2."""
    parts = [_text(left + 150, TOP - 8, title, "middle", bold=True)]
    for share in (0, 50, 100):
        y = BASE - _height(share)
        parts.append(f'<line x1="{left}" y1="{y}" x2="{left + 300}" y2="{y}" stroke="#cccccc"/>')
        parts.append(_text(left - 4, y + 4, str(share), "end"))
    for place, (name, said) in enumerate(NAMES.items()):
        x = left + 12 + place * GROUP
        values = (100.0, PAPER[name][column], ours[name][column] if name in ours else None)
        for number, (value, (_, colour)) in enumerate(zip(values, BARS, strict=True)):
            if value is not None:
                parts += _bar(x + number * (BAR + 3), value, colour)
        parts.append(_text(x + 36, BASE + 16, said, "middle"))
    return parts


def _bar(x: int, value: float, colour: str) -> list[str]:
    height = _height(value)
    return [
        f'<rect x="{x}" y="{BASE - height}" width="{BAR}" height="{height}" fill="{colour}"/>',
        _text(x + BAR // 2, BASE - height - 3, f"{value:.0f}", "middle"),
    ]


def _height(share: float) -> int:
    return round(share * (BASE - TOP - 14) / 100)


def _text(x: int, y: int, said: str, anchor: str, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{weight}>{said}</text>'


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
