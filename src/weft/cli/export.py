"""`weft export`: a model for the tools of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import model_path
from weft.errors import check_known

TARGETS = ("hf",)


def export_command(
    folder: Annotated[
        str, typer.Argument(metavar="DIR|RUN", help="A model folder or a finished training run.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write.")],
    to: Annotated[
        str, typer.Option("--to", help="hf: a folder for Hugging Face's Transformers.")
    ] = "hf",
) -> None:
    """Export a model for other tools.

    A folder for Transformers has the model with a tokeniser and generation settings. After `import
    weft.hf`, AutoModel, AutoTokenizer and pipeline open it. It needs the package transformers: pip
    install 'weftwork[hf]'.

    Examples:

      weft export parity parity-hf --to hf

      weft export runs/4f0c2d my-model
    """
    check_known(to, TARGETS, f"there is no export to '{to}'")
    from weft.hf import export

    path = model_path(folder)
    print(f"written to {export(folder if path is None else path, out)}")
