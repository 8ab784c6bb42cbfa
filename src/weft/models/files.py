"""The model folder: one form on disk for all models, whether compiled, constructed or trained.

    config.json         a `ModelDescription`: architecture, vocabulary, text format, stream layout
    model.safetensors   the weights
    card.md             a page about the model, for people

A compiled model adds `certificate.json`, which `weft.compiler` writes and reads. A folder is
written as a whole or not at all, and nothing in it is ever unpickled or executed.

What a folder claims is checked before anything large is allocated. A safetensors file begins with
the names, shapes and types of its tensors; `check_weights` compares these with the tensors that the
config asks for, which are created on PyTorch's "meta" device and take no memory. A config.json that
asks for a stream of 10**15 dimensions is refused at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from weft.config import from_plain, require
from weft.errors import WeftError
from weft.files import named, output_folder, read_json, read_text, readable, replaced, write_json
from weft.language.vocabulary import Vocabulary
from weft.models.config import TransformerConfig, config_from_dict
from weft.models.factory import Model, build_model
from weft.models.lstm import LSTM
from weft.models.slots import Layout, layout_from_list, round_stream
from weft.models.text import MAX_LENGTH, TextFormat, TokenFormat
from weft.models.transformer import Transformer
from weft.version import VERSION

FORMAT = 3
HF_KEYS = ("model_type", "architectures")
"""The keys of config.json by which Hugging Face's Transformers finds the class of the model."""
HF_CLASSES = {
    "encoder": "WeftForTokenClassification",
    "decoder": "WeftForCausalLM",
    "encoder-decoder": "WeftForSeq2SeqLM",
}
"""The class in `weft.hf` for a kind of model."""
CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "card.md"
RUN_MODEL = "model"
"""The folder of a training run that holds its model."""
AGAIN = "Write the model again"
GIVE = "Give a folder that `weft compile` wrote, or a finished training run"
NOT_VERIFIED = "Nothing yet; see `weft prove` and `weft check`."
DTYPES = {"F64": torch.float64, "F32": torch.float32, "BF16": torch.bfloat16, "BOOL": torch.bool}
Header = dict[str, tuple[tuple[int, ...], torch.dtype | str]]
"""Shape and type of every tensor, by its name."""
Token = str | int | float | bool | tuple[str | int | float | bool, ...]


@dataclass(frozen=True, kw_only=True)
class ModelDescription:
    """The contents of a model folder's `config.json`.

    Attributes:
        format: the version of this form.
        weft: the version of Weft that wrote it.
        kind: where the weights come from.
        name: the program or the task that the model is for.
        config: the fields of its `TransformerConfig`.
        vocabulary: the names of its tokens; None if tokens are numbers.
        text: how it reads and writes text.
        layout: the slots of its stream; None if variables have no dimensions of their own.
        heads: for every attention head, the program's heads that it computes.
        rounds: whether every variable is set to its nearest value after each layer.
        program: of the program behind it: its name, where to find it, a hash of its source, and
            what the compiler notes (`weft.compiler.model_files`).
        training: of the run that trained it: task, parameters, hash, step, accuracy.
        verified: what was proved of it.
        model_type: for Hugging Face's Transformers, which open the folder after `import weft.hf`.
        architectures: the class of the model there.
    """

    format: int
    weft: str
    kind: Literal["compiled", "constructed", "trained"]
    name: str
    config: dict[str, Any]
    vocabulary: tuple[Token, ...] | None
    text: TokenFormat
    layout: tuple[dict[str, Any], ...] | None = None
    heads: tuple[tuple[str, ...], ...] = ()
    rounds: bool = False
    program: dict[str, Any] | None = None
    training: dict[str, Any] | None = None
    verified: str | None = None
    model_type: str = "weft"
    architectures: tuple[str, ...] = ()


def save_model(
    model: Model,
    folder: str | Path,
    *,
    kind: Literal["compiled", "constructed", "trained"],
    name: str,
    text: TokenFormat,
    vocabulary: Vocabulary | None = None,
    program: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
    about: str = "",
    facts: Mapping[str, str] | None = None,
    sections: Mapping[str, Sequence[str]] | None = None,
    files: Mapping[str, str] | None = None,
) -> None:
    """Write a model to a folder, which is replaced if it holds a model already.

    Args:
        model: the model.
        folder: where to write it.
        kind: where the weights come from.
        name: the program or the task that it is for.
        text: how it reads and writes text.
        vocabulary: the names of its tokens; the model's own if left out.
        program: see `ModelDescription`.
        training: the same.
        about: a paragraph for the card.
        facts: further rows for the card's table.
        sections: further lists for the card, by their headings.
        files: further files of text, by their names.
    """
    target = Path(folder)
    output_folder(target, holds="model", marker=WEIGHTS)
    words = vocabulary or model.vocabulary or Vocabulary(size=model.config.vocabulary)
    rounding = _rounding(model)
    layout = model.stream_layout or rounding
    description = ModelDescription(
        format=FORMAT,
        weft=VERSION,
        kind=kind,
        name=name,
        config=model.config.as_dict(),
        vocabulary=words.names,  # type: ignore[arg-type]
        text=text,
        layout=None if layout is None else tuple(layout.as_list()),
        heads=() if layout is None else layout.heads,
        rounds=rounding is not None,
        program=program,
        training=training,
        architectures=(HF_CLASSES[model.config.kind],),
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    with replaced(target) as scratch:
        scratch.mkdir()
        tensors = {key: value.detach().cpu() for key, value in model.state_dict().items()}
        save_file({key: value.contiguous() for key, value in tensors.items()}, scratch / WEIGHTS)
        _write_description(scratch, description)
        page = _card(model, description, about, facts or {}, sections or {})
        for file, contents in {CARD: page, **(files or {})}.items():
            (scratch / file).write_text(contents, encoding="utf-8")


def _rounding(model: Model) -> Layout | None:
    """The layout by which a model rounds its stream between layers; None if it does not."""
    between = model.between_layers
    if between is None:
        return None
    if isinstance(between, partial) and between.func is round_stream:
        layout: Layout = between.keywords["layout"]
        return layout
    raise WeftError(
        "the model applies a function between its layers, which a model folder cannot hold",
        remedy="Leave out between_layers, or round by partial(round_stream, layout=...)",
    )


def _write_description(folder: Path, description: ModelDescription) -> None:
    write_json(folder / CONFIG, asdict(description))


def model_folder(folder: str | Path) -> Path:
    """The model folder at a path: the folder itself, or that of the training run that it holds."""
    path = Path(folder)
    if not path.is_dir():
        what = f"{path} is a file" if path.exists() else f"there is no folder {path}"
        raise WeftError(what, remedy=GIVE)
    if (path / WEIGHTS).exists() or not (path / "environment.json").exists():
        return path
    if not (path / RUN_MODEL).is_dir():
        raise WeftError(
            f"{path} is a training run without a model",
            remedy="Finish it: the same `weft train` command resumes the run",
        )
    return path / RUN_MODEL


def read_description(folder: str | Path) -> ModelDescription:
    """What the `config.json` of a model folder says, checked for its types."""
    file = model_folder(folder) / CONFIG
    if not file.exists():
        raise WeftError(f"{file.parent} holds no model: {CONFIG} is missing", remedy=GIVE)
    values = read_json(file, AGAIN)
    if not isinstance(values, dict) or values.get("format") not in (2, FORMAT):
        raise WeftError(f"{file} is not a model of this version of Weft", remedy=AGAIN)
    if values["format"] == 2:
        values = _from_format_2(values, file)
    if "transformers_version" in values:  # Transformers wrote the file, with keys of its own
        known = {entry.name for entry in fields(ModelDescription)}
        values = {key: value for key, value in values.items() if key in known}
    return from_plain(ModelDescription, values, str(file), AGAIN)


def load_model(folder: str | Path, text: TextFormat | None = None) -> Model:
    """The model in a folder, frozen; needs neither its program nor its task.

    Args:
        folder: a model folder, or a finished training run.
        text: how the model reads and writes text; as the folder says if left out.
    """
    path = model_folder(folder)
    description = read_description(path)
    with named(path / CONFIG, AGAIN):
        config, layout = _checked(description)
    check_weights(path / WEIGHTS, config)
    model = _built(description, config, layout, text)
    model.load_state_dict(load_file(path / WEIGHTS))
    return model.requires_grad_(False).eval()


def model_from_description(description: ModelDescription) -> Model:
    """The model that a description describes, without its weights."""
    return _built(description, *_checked(description))


def _checked(description: ModelDescription) -> tuple[TransformerConfig, Layout | None]:
    """The config and the layout in a description, which must fit together."""
    config = config_from_dict(description.config)
    layout, names = _layout(description, config), description.vocabulary
    if names is not None and len(set(names)) != config.vocabulary:
        raise WeftError(f"{len(names)} tokens are listed, and {config.vocabulary} embedded")
    if (config.max_length or 0) > MAX_LENGTH:
        raise WeftError(f"max_length is {config.max_length:,}")
    if description.rounds and layout is None:
        raise WeftError("it rounds variables, and has no layout of them")
    description.text.check(config.vocabulary, config.outputs)
    return config, layout


def _built(
    description: ModelDescription,
    config: TransformerConfig,
    layout: Layout | None,
    text: TextFormat | None = None,
) -> Model:
    vocabulary = Vocabulary(names=description.vocabulary, size=config.vocabulary)
    text = text or description.text
    if config.architecture == "lstm":
        return LSTM(config, vocabulary=vocabulary, text=text)
    rounding = None
    if description.rounds and layout is not None:
        rounding = partial(round_stream, layout=layout)
    return Transformer(config, layout, vocabulary=vocabulary, text=text, between_layers=rounding)


def _layout(description: ModelDescription, config: TransformerConfig) -> Layout | None:
    if description.layout is None:
        return None
    heads = description.heads
    if heads and len(heads) != config.heads:
        raise WeftError(f"{len(heads)} heads are named, and the model has {config.heads}")
    layout = layout_from_list(description.layout)
    check_layout(layout, config)
    return Layout(tuple(layout.values()), heads)


def _from_format_2(values: dict[str, Any], file: Path) -> dict[str, Any]:
    """The description of a compiled model that was written in format 2."""
    wanted = {"program": dict[str, Any], "config": dict[str, Any]}
    require(values, wanted, str(file), AGAIN)
    about, config = values["program"], values["config"]
    require(about, {"name": str}, f"{file}: 'program'", AGAIN)
    require(config, {"outputs": int}, f"{file}: 'config'", AGAIN)
    kept = ("level", "for_inputs", "passes")
    classes = tuple(map(str, range(min(config["outputs"], 1 << 20))))
    return {
        "format": FORMAT,
        "weft": values.get("weft", ""),
        "kind": "compiled",
        "name": about["name"],
        "config": config,
        "vocabulary": about.get("tokens"),
        "text": asdict(TokenFormat(mode="every", classes=classes)),
        "layout": values.get("layout"),
        "program": {
            **{key: value for key, value in about.items() if key != "tokens"},
            **{key: values[key] for key in kept if key in values},
        },
        "verified": values.get("verified"),
    }


# Cards


def _card(
    model: Model,
    description: ModelDescription,
    about: str,
    facts: Mapping[str, str],
    sections: Mapping[str, Sequence[str]],
) -> str:
    """A page about a model, in Markdown."""
    config = model.config
    parameters = sum(parameter.numel() for parameter in model.parameters())
    hidden = " + ".join(f"{width:,}" for width in config.hidden)
    shape = {
        "heads per layer": f"{config.heads}",
        "hidden units per layer": f"{sum(config.hidden):,} ({hidden})",
        "residual stream": f"{config.width} dimensions",
    }
    if config.architecture == "lstm":
        shape = {"architecture": "LSTM", "units per layer": f"{config.width}"}
    table = {
        **facts,
        "kind": config.kind,
        "layers": f"{config.layers}" + (f", up to {config.loops} loops" * (config.loops > 1)),
        **shape,
        "parameters": f"{parameters:,}",
        "number format": config.dtype,
        "longest input": f"{config.max_length or description.text.longest or 'any'}",
    }
    lines = [f"# {description.name}, {description.kind}", ""]
    lines += [about, ""] if about else []
    lines += ["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in table.items()), ""]
    if model.stream_layout is not None:
        lines += ["## Stream", "", "| variable | dimensions | kind |", "|---|---|---|"]
        for slot in model.stream_layout.values():
            held = f"{slot.kind}, head" if slot.is_head else slot.kind
            lines.append(f"| {slot.name} | {slot.start}..{slot.start + slot.size - 1} | {held} |")
        lines.append("")
    if description.heads:
        lines += ["## Heads", "", "| attention head | head of the program |", "|---|---|"]
        for number, names in enumerate(description.heads):
            lines.append(f"| {number} | {', '.join(names) or 'clears slots of heads'} |")
        lines.append("")
    for heading, items in sections.items():
        lines += [f"## {heading}", "", *(f"- {item}" for item in items), ""]
    verified = NOT_VERIFIED if description.kind == "compiled" else "Nothing."
    return "\n".join([*lines, "## Verified", "", verified, ""])


def record_verified(folder: Path, what: str) -> None:
    """Write on the card, and in the description, what was shown of a model."""
    path = model_folder(folder)
    description = replace(read_description(path), verified=what)
    card = path / CARD
    for file in (card, path / CONFIG):
        if file.is_dir():
            raise WeftError(f"{file} is a folder, not a file", remedy=AGAIN)
    page = f"# {description.name}, {description.kind}\n\n"
    if card.exists():
        page = read_text(card, damaged=True).partition("## Verified")[0]
    with replaced(card) as scratch:
        scratch.write_text(f"{page}## Verified\n\n{what}\n", encoding="utf-8")
    _write_description(path, description)


# Checks


def read_header(file: Path) -> Header:
    """The shapes and types of the tensors in a safetensors file; none of them is read."""
    with readable(file, AGAIN, SafetensorError), safe_open(file, "pt") as weights:
        slices = {name: weights.get_slice(name) for name in weights.keys()}  # noqa: SIM118
        return {
            name: (tuple(part.get_shape()), DTYPES.get(part.get_dtype(), part.get_dtype()))
            for name, part in slices.items()
        }


def check_weights(file: Path, config: TransformerConfig) -> None:
    """Refuse a safetensors file whose tensors are not those of a config's model."""
    header = read_header(file)
    modules = config.layers + config.encoder_layers + len(config.hidden)
    if modules > len(header):  # too many to make, even of no size
        layers = config.layers + config.encoder_layers
        raise WeftError(
            f"{file} does not fit its config: {len(header)} tensors for {layers:,} layers",
            remedy=AGAIN,
        )
    with torch.device("meta"):
        wanted = build_model(config).state_dict()
    for name, tensor in wanted.items():
        result = header.get(name)
        if result != (tuple(tensor.shape), tensor.dtype):
            what = "missing" if result is None else f"{result[0]} {result[1]}"
            raise WeftError(
                f"{file} does not fit its config: {name} is {what}, not {tuple(tensor.shape)} "
                f"{tensor.dtype}",
                remedy=AGAIN,
            )
    extra = sorted(set(header) - set(wanted))
    if extra:
        raise WeftError(f"{file} does not fit its config: unknown {extra[0]}", remedy=AGAIN)


def check_layout(layout: Layout, config: TransformerConfig) -> None:
    """Refuse a layout whose variables do not lie in the model's stream."""
    for slot in layout.values():
        if slot.start < 0 or slot.size < 1 or slot.start + slot.size > config.width:
            raise WeftError(
                f"the variable '{slot.name}' has dimensions {slot.start} to "
                f"{slot.start + slot.size - 1} of a stream of {config.width}"
            )
