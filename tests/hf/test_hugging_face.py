"""Models behind the Auto classes of Transformers equal Weft's own, padded on either side."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoModelForTokenClassification,
    AutoTokenizer,
    pipeline,
)

import weft
import weft.hf
from command_line import execute
from weft.errors import WeftError
from weft.hf.modelling import bounds, rotated
from weft.models import generate
from weft.training import TrainingConfig, train

TAGGERS = ["parity", "addition", "dyck", "sort-unique", "parity-sum", "histogram"]
SHORT: dict[str, Any] = {"steps": 4, "batch": 8}
TRAINED: dict[str, dict[str, Any]] = {
    "nope": {"task": "copy", "model": {"position": "none"}},
    "nape": {"task": "copy", "model": {"position": "nape"}},
    "alibi": {"task": "copy", "model": {"position": "alibi"}},
    "t5": {"task": "copy", "model": {"position": "t5"}},
    "rotary": {"task": "copy", "model": {"position": "rotary"}},
    "learned": {"task": "copy", "model": {"position": "learned", "positions": 128}},
    "lstm": {"task": "copy", "model": {"architecture": "lstm"}},
    "tagger": {"task": "parity", "model": {"position": "t5"}},
    "numbers": {"task": "addition", "model": {"position": "abacus", "positions": 32}},
    "seq2seq": {"task": "reverse", "parameters": {"format": "seq2seq"}, "model": {}},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def compiled(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.exists():
        weft.save(weft.compile(weft.program(name)), path, name=name)
    return path


def trained(folder: Path, name: str) -> Path:
    path = folder / "runs" / f"{name}.txt"
    if not path.exists():
        values = TRAINED[name]
        small = {} if "architecture" in values["model"] else {"heads": 2, "hidden": [32]}
        config = TrainingConfig(
            task=values["task"],
            parameters=values.get("parameters", {}),
            # In float64 two logits are never so close that the order of sums decides.
            model={"width": 16, "layers": 2, "dtype": "float64", **small, **values["model"]},
            **SHORT,
        )
        train(config, runs=folder / "runs", device="cpu")
        path.write_text(str(folder / "runs" / config.hash))
    return Path(path.read_text())


def rows(rng: np.random.Generator, size: int, vocabulary: int) -> list[list[int]]:
    return [rng.integers(0, vocabulary, rng.integers(1, 9)).tolist() for _ in range(size)]


def batch(rows: list[list[int]], side: str, filler: int) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(map(len, rows))
    tokens, mask = torch.full((len(rows), width), filler), torch.zeros(len(rows), width).long()
    for number, row in enumerate(rows):
        place = slice(width - len(row), width) if side == "left" else slice(0, len(row))
        tokens[number, place], mask[number, place] = torch.tensor(row), 1
    return tokens, mask


def valid_rows(name: str) -> list[list[int]]:
    """Inputs of a program, since invalid ones may not halt."""
    program = weft.program(name)
    rng = random.Random(0)
    return [
        [program.vocabulary.number(token) for token in program.sample(rng, length)]
        for length in (3, 5, 8, 4)
    ]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", TAGGERS)
def test_compiled_models_as_token_classifiers(folders: Path, name: str, side: str) -> None:
    folder = compiled(folders, name)
    model = AutoModelForTokenClassification.from_pretrained(folder)
    own, some = weft.load(folder), valid_rows(name)
    tokens, mask = batch(some, side, own.config.vocabulary)  # the tokeniser's <pad>
    logits = model(tokens, attention_mask=mask).logits
    for row, numbers in enumerate(some):
        expected = own(torch.tensor([numbers])).logits[0]
        assert torch.equal(logits[row][mask[row].bool()].argmax(-1), expected.argmax(-1))
        assert torch.allclose(logits[row][mask[row].bool()], expected, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in TRAINED if name not in ("tagger", "seq2seq")])
def test_generate_gives_what_weft_generates(folders: Path, name: str) -> None:
    folder = trained(folders, name)
    model, own = AutoModelForCausalLM.from_pretrained(folder / "model"), weft.load(folder)
    end, rng = own.text.end, np.random.default_rng(0)
    some = rows(rng, 6, own.config.vocabulary)
    tokens, mask = batch(some, "left", 0)
    made = model.generate(tokens, attention_mask=mask, max_new_tokens=7)
    for row, numbers in enumerate(some):
        expected = generate(own, torch.tensor([numbers]), 7, stop=end)[0, len(numbers) :].tolist()
        result = made[row, tokens.shape[1] :].tolist()
        assert result[: len(expected)] == expected
        assert set(result[len(expected) :]) <= {end}


def test_the_induction_head_stops_at_its_bar(folders: Path) -> None:
    folder = compiled(folders, "induction-head")
    exported = weft.hf.export(folder, folders / "induction-hf")
    text = pipeline("text-generation", str(exported))("|badge|b", max_new_tokens=40)
    assert text == [{"generated_text": "|badge|badge|"}]
    tokeniser = AutoTokenizer.from_pretrained(exported)
    model = AutoModelForCausalLM.from_pretrained(exported)
    asked = tokeniser(["|badge|", "|fab|", "|h|"], padding=True, return_tensors="pt")
    made = tokeniser.batch_decode(model.generate(**asked), skip_special_tokens=True)
    assert [each.rstrip("|") for each in made] == ["|badge|badge", "|fab|fab", "|h|h"]


def test_encoder_decoders_translate(folders: Path) -> None:
    folder = trained(folders, "seq2seq")
    model, own = AutoModelForSeq2SeqLM.from_pretrained(folder / "model"), weft.load(folder)
    names = [own.vocabulary.names[number] for number in own.text.symbols]
    texts = ["".join(names[:4]), "".join(names[2:4]), "".join(names[3:9])]
    some = [[own.vocabulary.number(letter) for letter in text] for text in texts]
    tokens, mask = batch(some, "left", 0)
    made = model.generate(tokens, attention_mask=mask, max_new_tokens=own.text.longest_answer)
    for row, text in enumerate(texts):
        result = made[row, 1:].tolist()
        result = result[: result.index(own.text.end)] if own.text.end in result else result
        assert "".join(own.text.classes[each] for each in result) == own.answer(text)


@pytest.mark.parametrize("name", ["nape", "t5", "abacus", "tagger", "seq2seq"])
def test_a_saved_model_loads_in_both(folders: Path, tmp_path: Path, name: str) -> None:
    name = "numbers" if name == "abacus" else name
    folder = trained(folders, name) / "model"
    model = AutoModel.from_pretrained(folder)
    model.save_pretrained(tmp_path / "again")
    own, again = weft.load(folder), weft.load(tmp_path / "again")
    assert again.config == own.config
    assert again.text == own.text
    for key, value in own.state_dict().items():
        assert torch.equal(value, again.state_dict()[key])
    once_more = AutoModel.from_pretrained(tmp_path / "again")
    for key, value in model.state_dict().items():
        assert torch.equal(value, once_more.state_dict()[key])
    buffers = dict(own.named_buffers())
    assert all(torch.equal(value, buffers[key]) for key, value in once_more.model.named_buffers())


def test_a_saved_compiled_model_is_still_proved(folders: Path, tmp_path: Path) -> None:
    folder = compiled(folders, "parity")
    model = AutoModelForTokenClassification.from_pretrained(folder, dtype="auto")
    model.save_pretrained(tmp_path / "parity")
    done = execute(["prove", str(tmp_path / "parity")])
    assert done.code == 0, done.stderr
    assert done.stdout.startswith("proved")


def test_labels_give_a_loss_with_gradients(folders: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(trained(folders, "nape") / "model")
    tokens = torch.tensor([[1, 5, 6, 3, 5, 6, 2]])
    loss = model(tokens, labels=tokens).loss
    logits = model(tokens).logits[0, :-1]
    assert torch.allclose(loss, torch.nn.functional.cross_entropy(logits, tokens[0, 1:]))
    model.train()
    model(tokens, labels=tokens).loss.backward()
    assert model.model.embedding.grad is not None


@pytest.mark.parametrize("name", ["nape", "numbers", "tagger", "seq2seq"])
def test_the_tokeniser_reads_as_weft_does(folders: Path, name: str) -> None:
    folder = trained(folders, name)
    exported = weft.hf.export(folder, folders / f"{name}-hf")
    own, tokeniser = weft.load(folder), AutoTokenizer.from_pretrained(exported)
    task = weft.task(TRAINED[name]["task"], **TRAINED[name].get("parameters", {}))
    for question, _ in task.examples(task.test_set("train", 20)):
        text = ("" if all(len(each) == 1 for each in task.symbols) else " ").join(
            each for each in question if each in task.symbols
        )
        expected = [*own.text.before, *own.text._read(own.vocabulary, text), *own.text.after]
        assert tokeniser(text)["input_ids"] == expected


def test_holes_in_a_mask_are_refused() -> None:
    with pytest.raises(WeftError, match="holes"):
        bounds(torch.tensor([[1, 0, 1]]))
    start, lengths = bounds(torch.tensor([[0, 1, 1], [1, 1, 0], [0, 0, 0]]))
    assert start.tolist() == [1, 0, 0]
    assert lengths.tolist() == [2, 2, 0]
    turned = rotated(torch.tensor([[9, 1, 2], [1, 2, 9]]), torch.tensor([1, 0]))
    assert turned.tolist() == [[1, 2, 9], [1, 2, 9]]


def test_a_class_of_another_kind_is_refused(folders: Path) -> None:
    with pytest.raises(WeftError, match="takes models of kind decoder"):
        AutoModelForCausalLM.from_pretrained(compiled(folders, "parity"))


def test_a_config_describes_its_model(folders: Path) -> None:
    folder = compiled(folders, "parity")
    config = AutoConfig.from_pretrained(folder)
    assert config.architecture == weft.load(folder).config
    written = json.loads(config.to_json_string())
    assert {"model_type": "weft", "name": "Parity"}.items() <= written.items()
    with pytest.raises(WeftError, match="describes no model"):
        _ = weft.hf.WeftConfig().folder


def test_the_command_exports(folders: Path, tmp_path: Path) -> None:
    folder = compiled(folders, "dyck")
    done = execute(["export", str(folder), str(tmp_path / "out"), "--to", "hf"])
    assert (done.code, done.stderr) == (0, "")
    assert "written to" in done.stdout
    assert {"tokenizer.json", "config.json", "model.safetensors", "card.md"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }
    done = execute(["export", str(folder), str(folder)])
    assert done.code == 2
    assert len(done.stderr.splitlines()) == 1
