"""An LSTM is trained, saved, resumed and evaluated as a Transformer is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from training_runs import folder_of, small

import weft
from weft.errors import WeftError
from weft.models import LSTM, generate
from weft.tasks import task
from weft.training import RunStore, TrainingConfig, override, train

PARITY = TrainingConfig(
    task="parity",
    parameters={"length": 8, "longer": 20},
    model={"architecture": "lstm", "width": 32, "layers": 1},
    steps=200,
    batch=64,
)


def test_an_lstm_learns_parity_and_generalises_to_longer_strings(tmp_path: Path) -> None:
    """As recurrent networks do, and Transformers do not."""
    config = override(PARITY, ["optimiser.lr=1e-2", "evaluation.every=0", "evaluation.size=128"])
    result = train(config, runs=tmp_path, device="cpu")
    assert result.accuracy["train"] == 1.0
    assert result.accuracy["longer"] > 0.95
    units = 16  # in each of two directions
    tokens = len(task("parity").vocabulary) + task("parity").outputs
    assert result.parameters == 2 * 4 * units * (32 + units + 2) + tokens * 32
    (run,) = RunStore(tmp_path).runs()
    model = run.model()
    assert isinstance(model, LSTM)
    assert not model.training
    found = run.predictions("longer")
    batch = torch.from_numpy(np.ascontiguousarray(found.batch.tokens[:20]))
    logits = model(batch, torch.from_numpy(found.batch.lengths[:20])).logits
    asked = found.batch.targets[:20] >= 0
    chosen = logits.argmax(-1).numpy()
    assert (chosen[asked] == found.chosen[:20][asked]).all()
    loaded = weft.load(run.folder)
    assert isinstance(loaded, LSTM)
    assert "| architecture | LSTM |" in (run.folder / "model" / "card.md").read_text()
    assert [loaded.answer(bits) for bits in ("1", "1011", "110011")] == ["1", "1", "0"]


def test_an_lstm_continues_a_text_with_what_it_learned(tmp_path: Path) -> None:
    config = small("task=copy", "model.architecture=lstm", "steps=3", "evaluation.every=0",
                   parameters={"format": "lm"}, model={"width": 16, "layers": 2})  # fmt: skip
    train(config, runs=tmp_path, device="cpu")
    model = RunStore(tmp_path).runs()[0].model()
    prompt = torch.from_numpy(task("copy", format="lm").batch("train", 0, 1, 2).tokens[:, :3])
    whole = generate(model, prompt, 4, cache=False)
    assert torch.equal(generate(model, prompt, 4), whole)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["model.heads=2"], "an LSTM has no heads, and it is 2. Leave heads out"),
        (["model.position=rotary"], "an LSTM has no position, and it is 'rotary'"),
        (["initial=gpt2"], "initial is for a Transformer"),
        (["torch_compile=true"], "torch_compile is for a Transformer"),
        (["pack=64", "pack_rows=4", "cuda_graphs=true"], "packed documents have different lengths"),
        (["supervision.by=streams"], "no layers to supervise by streams"),
        (["supervision.by=traces"], "'model.architecture' is determined by the program"),
        (["model.kind=encoder-decoder"], "an LSTM reads one sequence"),
    ],
)
def test_what_does_not_apply_is_refused_before_there_is_a_folder(
    changes: list[str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(WeftError) as refused:
        train(override(PARITY, [*changes, "supervision.program=parity"]), runs=tmp_path)
    assert said in str(refused.value)
    assert not folder_of(tmp_path, PARITY).exists()
