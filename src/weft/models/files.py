"""Whether the files of a model fit together, found out before anything large is allocated.

A safetensors file begins with the names, shapes and types of its tensors. `check_weights` compares
these with the tensors that the config asks for, which are made on PyTorch's "meta" device and take
no memory. A config.json that asks for a stream of 10**15 dimensions is refused at once.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from weft.errors import WeftError
from weft.files import reason
from weft.models.build import build
from weft.models.config import TransformerConfig
from weft.models.slots import Layout

AGAIN = "Compile the model again"
DTYPES = {"F64": torch.float64, "F32": torch.float32, "BF16": torch.bfloat16, "BOOL": torch.bool}
Header = dict[str, tuple[tuple[int, ...], torch.dtype | str]]
"""Shape and type of every tensor, by its name."""


def read_header(file: Path, remedy: str = AGAIN) -> Header:
    """The shapes and types of the tensors in a safetensors file; none of them is read."""
    try:
        with safe_open(file, "pt") as weights:
            slices = {name: weights.get_slice(name) for name in weights.keys()}  # noqa: SIM118
            return {
                name: (tuple(one.get_shape()), DTYPES.get(one.get_dtype(), one.get_dtype()))
                for name, one in slices.items()
            }
    except (OSError, SafetensorError) as error:
        raise WeftError(f"{file} cannot be read: {reason(error)}", remedy=remedy) from None


def check_weights(file: Path, config: TransformerConfig, remedy: str = AGAIN) -> None:
    """Refuse a file whose tensors are not those of a config's model.

    Args:
        file: the safetensors file.
        config: what the model should be.
        remedy: what to do if they do not fit.
    """
    header = read_header(file, remedy)
    modules = config.layers + config.encoder_layers + len(config.hidden)
    if modules > len(header):  # too many to make, even of no size
        layers = config.layers + config.encoder_layers
        raise WeftError(
            f"{file} does not fit its config: {len(header)} tensors for {layers:,} layers",
            remedy=remedy,
        )
    with torch.device("meta"):
        wanted = build(config).state_dict()
    for name, tensor in wanted.items():
        found = header.get(name)
        if found != (tuple(tensor.shape), tensor.dtype):
            what = "missing" if found is None else f"{found[0]} {found[1]}"
            raise WeftError(
                f"{file} does not fit its config: {name} is {what}, not {tuple(tensor.shape)} "
                f"{tensor.dtype}",
                remedy=remedy,
            )
    extra = sorted(set(header) - set(wanted))
    if extra:
        raise WeftError(f"{file} does not fit its config: unknown {extra[0]}", remedy=remedy)


def check_layout(layout: Layout, config: TransformerConfig) -> None:
    """Refuse a layout whose variables do not lie in the model's stream."""
    for slot in layout.values():
        if slot.start < 0 or slot.size < 1 or slot.start + slot.size > config.width:
            raise WeftError(
                f"the variable '{slot.name}' has dimensions {slot.start} to "
                f"{slot.start + slot.size - 1} of a stream of {config.width}"
            )
