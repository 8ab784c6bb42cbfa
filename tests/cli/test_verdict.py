"""`weft verdict`: programs of the library and a user's own, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import weft

MINE = '''
import weft

class Mine(weft.Program):
    """The greatest digit up to here."""

    tokens = ["s", 0, 1, 2, 3]
    most = weft.var(4, token=lambda t: 0 if t == "s" else t)
    first = weft.var(2, token=lambda t: t == "s")
    left = weft.relative(most, -1)
    output = most
    layers = 20

    def step(z):
        if not z.first and z.left > z.most:
            z.most = z.left

    def sample(self, rng, length):
        return ["s", *(rng.randrange(4) for _ in range(length - 1))]
'''


def test_a_users_own_program_is_trained_and_judged(tmp_path: Path) -> None:
    """Named by its file: from answers and from traces; the page is named after it."""
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    name = f"{path}:Mine"
    common = ("--runs", str(tmp_path / "runs"), "--device", "cpu")
    quick = ("steps=3", "evaluation.size=8", "--quiet", *common)
    weft("train", name, *quick)
    weft("train", name, *quick, "--traces", name, "--small")
    judged = ("verdict", name, "--examples", "50", "--tests", "8", *common)
    stages = json.loads(weft(*judged, "--out", str(tmp_path / "out"), "--json"))["stages"]
    assert [stage["name"] for stage in stages] == [
        "compiled", "predicted", "from traces", "from answers",
    ]  # fmt: skip
    assert {split: one["share"] for split, one in stages[0]["shares"].items()} == {
        "train": 1.0,
        "longer": 1.0,
    }
    assert stages[2]["agreement"][0]["program"] == name
    assert all(stage["run"] for stage in stages[2:])
    [page] = (tmp_path / "out").glob("*mine-py-Mine-verdict.md")
    assert page.read_text().startswith(f"# {name}: expressible, predicted, learned")
    text = weft(*judged)
    assert text.splitlines()[0].split()[:4] == ["program", "or", "model", "train"]
    assert f"from traces, {name}: hidden 512 x 512" in text
    assert "no recipe 'much'" in weft(*judged, "--learn", "much", code=2)


@pytest.mark.slow
def test_the_command_trains_what_is_missing(tmp_path: Path) -> None:
    given = ("verdict", "parity", "--set", "length=6", "--set", "longer=8", "--examples", "200",
             "--tests", "30", "--runs", str(tmp_path / "runs"), "--device", "cpu")  # fmt: skip
    stages = json.loads(weft(*given, "--learn", "small", "--json"))["stages"]
    traced = next(stage for stage in stages if stage["name"] == "from traces")
    assert traced["shares"]["longer"]["share"] == 1.0
    assert traced["agreement"][0]["shares"]["longer"]["share"] == 1.0
