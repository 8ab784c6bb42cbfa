"""`export`: a folder for Hugging Face users, with a tokeniser and generation settings.

The folder is a model folder of Weft as well: weights and config.json stay as they are.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from shutil import copyfile
from typing import Any

from tokenizers import Regex, Tokenizer, decoders
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split, WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from weft.errors import WeftError
from weft.files import output_folder, replaced
from weft.hf.configuration import WeftConfig, end_token
from weft.hf.modelling import generation_config
from weft.models.files import CONFIG, WEIGHTS, ModelDescription, model_folder, read_description


def export(source: str | Path, folder: str | Path) -> Path:
    """Write a model folder or a finished run as a folder for Transformers; returns the folder.

    Args:
        source: a model folder, or the folder of a finished run.
        folder: where to write it. A model that is there already is replaced.

    Example:
        >>> import tempfile, weft, weft.hf
        >>> from transformers import pipeline
        >>> there = tempfile.mkdtemp()
        >>> weft.save(weft.compile(weft.program("parity")), f"{there}/weft", name="parity")
        >>> folder = weft.hf.export(f"{there}/weft", f"{there}/hf")
        >>> tagger = pipeline("token-classification", str(folder))
        >>> [each["entity"] for each in tagger("s101")]
        ['0', '1', '1', '0']
    """
    description = read_description(source)
    origin, target = model_folder(source), Path(folder)
    if origin.resolve() == target.resolve():
        raise WeftError(f"{target} is the model itself", remedy="Export it to another folder")
    output_folder(target, holds="model", marker=WEIGHTS)
    tokeniser = tokeniser_of(description)
    target.parent.mkdir(parents=True, exist_ok=True)
    with replaced(target) as scratch:
        scratch.mkdir()
        for file in sorted(origin.iterdir()):
            if file.is_file():
                copyfile(file, scratch / file.name)
        config = WeftConfig.from_pretrained(str(origin))
        config.architectures = list(description.architectures) or None
        config.save_pretrained(scratch)
        tokeniser.save_pretrained(scratch)
        if description.config["kind"] != "encoder":
            generation_config(config).save_pretrained(scratch)
    assert (target / CONFIG).exists()
    return target


def tokeniser_of(description: ModelDescription) -> Any:
    """The tokeniser of a model: characters if all symbols are characters, words otherwise.

    The tokens that stand before and after every input are added, as in `<start> 12+34 =`. Padding
    is on the left for models that continue a text, on the right otherwise. If the vocabulary has no
    token for padding, `<pad>` gets the next number, and models take it for any token.
    """
    text, size = description.text, int(description.config["vocabulary"])
    names = [str(name) for name in description.vocabulary or range(size)]
    symbols = [names[number] for number in text.symbols] or names
    single = all(len(symbol) == 1 for symbol in symbols)
    unread = "<unk>"
    tokeniser = Tokenizer(WordLevel({name: n for n, name in enumerate(names)}, unk_token=unread))
    tokeniser.pre_tokenizer = Split(Regex("."), "isolated") if single else WhitespaceSplit()
    if single:
        tokeniser.decoder = decoders.Fuse()
    around = {names[number] for number in (*text.before, *text.after)}
    if around:
        template = [*(names[n] for n in text.before), "$A", *(names[n] for n in text.after)]
        tokeniser.post_processor = TemplateProcessing(
            single=template, special_tokens=[(name, names.index(name)) for name in sorted(around)]
        )
    number = end_token(asdict(description))
    end = None if number is None else names[number]
    padding = names[0] if text.symbols and 0 not in text.symbols else "<pad>"
    continues = description.config["kind"] == "decoder" and (
        end is not None or text.mode == "continue"
    )
    special = sorted({*around, *([end] if end else [])} - set(symbols))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokeniser,
        pad_token=padding,
        eos_token=end if end not in symbols else None,  # as a symbol it stays in decoded texts
        extra_special_tokens=special,
        padding_side="left" if continues else "right",
        model_max_length=text.longest or description.config["max_length"] or 10**9,
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )
