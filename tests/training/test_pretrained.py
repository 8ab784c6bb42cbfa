"""Pretrained models: tiny ones with random weights, fine-tuned and scored; folders refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from command_line import execute, weft
from weft.errors import WeftError
from weft.tasks import task
from weft.training.pretrained import FineTuning, Pretrained, fine_tune, score_pretrained

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.slow

CPU = torch.device("cpu")
SMALL = {"shortest": 2, "length": 6, "longer": 8}
WORDS = ("01", "XO", "X1", "successor", "=", ";")


def folder_of(path: Path, kind: str, words: tuple[str, ...] = WORDS) -> Path:
    """A folder with a tiny random model and a tokeniser of words."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    names = ("<pad>", "</s>", "<unk>", *words)
    plain = Tokenizer(models.WordLevel({name: n for n, name in enumerate(names)}, "<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(path)
    torch.manual_seed(0)
    if kind == "t5":
        config: Any = transformers.T5Config(
            vocab_size=len(names), d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2,
            dropout_rate=0.0, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
        )  # fmt: skip
        model = transformers.T5ForConditionalGeneration(config)
    else:
        config = transformers.GPT2Config(
            vocab_size=len(names), n_positions=64, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0.0,
            embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=1,
        )  # fmt: skip
        model = transformers.GPT2LMHeadModel(config)
    model.save_pretrained(path)
    return path


@pytest.mark.parametrize("kind", ["t5", "gpt2"])
def test_a_tiny_model_learns_and_is_scored(tmp_path: Path, kind: str) -> None:
    numbers = task("recursion", **SMALL)
    pretrained = Pretrained(folder_of(tmp_path / kind, kind), CPU)
    settings = FineTuning(steps=150, batch=32, lr=5e-3, size=20, splits=("train", "longer"))
    losses: list[float] = []
    before = [score.share.right for score in score_pretrained(pretrained, numbers, settings)]
    fine_tune(pretrained, numbers, settings, lambda step, loss, seconds: losses.append(loss))
    assert losses[-1] < losses[0] / 3
    scores = {score.split: score for score in score_pretrained(pretrained, numbers, settings)}
    assert scores["train"].share.right > before[0]
    depths = scores["train"].by("depth")
    assert sum(share.count for share in depths.values()) == scores["train"].share.count


@pytest.mark.parametrize("kind", ["t5", "gpt2"])
def test_generated_answers_are_compared_exactly(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = task("recursion", **SMALL)
    pretrained = Pretrained(folder_of(tmp_path / kind, kind), CPU)
    settings = FineTuning(size=12, splits=("train",))

    def right(questions: list[str], longest: int) -> list[list[str]]:
        return [list(numbers.reference(tuple(one.split()))) for one in questions]

    monkeypatch.setattr(pretrained, "answers", right)
    (score,) = score_pretrained(pretrained, numbers, settings)
    assert score.share.share == 1
    monkeypatch.setattr(pretrained, "answers", lambda asked, n: [w[1:] for w in right(asked, n)])
    (score,) = score_pretrained(pretrained, numbers, settings)
    assert score.share.share == 0


def test_one_command_fine_tunes_and_saves(tmp_path: Path) -> None:
    folder, out = folder_of(tmp_path / "t5", "t5"), tmp_path / "out"
    parameters = [f"{key}={value}" for key, value in SMALL.items()]
    shown = weft(
        "recursion", "finetune", str(folder), *parameters, "--steps", "3", "--batch", "4",
        "--size", "5", "--split", "train", "--out", str(out), "--device", "cpu",
    )  # fmt: skip
    assert "step 3 of 3" in shown
    assert json.loads((out / "recursion.json").read_text())["splits"][0]["n"] == 5
    assert Pretrained(out, CPU).translates


def test_folders_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"no config\.json"):
        Pretrained(tmp_path / "nothing", CPU)
    (tmp_path / "config.json").write_text('{"model_type": "no such model"}')
    with pytest.raises(WeftError, match="cannot be loaded"):
        Pretrained(tmp_path, CPU)
    folder = folder_of(tmp_path / "few", "t5", words=("01", "XO"))
    with pytest.raises(WeftError, match="the tokeniser reads"):
        fine_tune(Pretrained(folder, CPU), task("recursion"), FineTuning(steps=1))
    done = execute(["recursion", "finetune", str(folder), "format=tag", "--device", "cpu"])
    assert done.code == 2
    assert "no text" in done.stderr
