"""`weft models`: mechanisms and presets, with parameter counts."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import Json, count_option, new_console, paragraphs, print_json
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.models.catalogue import Mechanism, Parameters
    from weft.models.config import TransformerConfig

PRESET = "mini"
COMPANION = "rotary"
"""The positional encoding that randomised positions use by default."""

Choices = dict[str, str]
"""Chosen mechanisms: position, attention or canon, by setting."""

HEADINGS = {
    "positions": "positions, joined by + as in abacus+fire",
    "attentions": "attentions",
    "blocks": "blocks",
}


def models_command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A mechanism or a preset.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", help=f"The preset to count parameters of ({PRESET}).")
    ] = None,
    position: Annotated[
        str | None, typer.Option("--position", help="Count with this positional encoding.")
    ] = None,
    attention: Annotated[
        str | None, typer.Option("--attention", help="Count with this attention.")
    ] = None,
    canon: Annotated[
        str | None,
        typer.Option("--canon", help="Count with Canon layers at these places, as in AC."),
    ] = None,
    vocabulary: Annotated[
        int, count_option("--vocabulary", "Size of the vocabulary to count parameters with.")
    ] = 128,
    json: Json = False,
) -> None:
    """List mechanisms and presets, or show one.

    A mechanism is shown with its formula and parameters.

    Examples:

      weft models

      weft models nape

      weft models path --preset 154m --canon AC

      weft models mini --position abacus+fire --vocabulary 16
    """
    from weft.models.catalogue import mechanism
    from weft.models.presets import PRESETS

    given = {"position": position, "attention": attention, "canon": canon}
    choices = {key: value for key, value in given.items() if value is not None}
    if name is None and preset is None:
        _list(choices, vocabulary, json)
    elif name is None or name in PRESETS:
        if name is not None and preset not in (None, name):
            raise WeftError(f"'{name}' and '{preset}' are both presets", remedy="Name one of them")
        _show_preset(name or str(preset), choices, vocabulary, json)
    else:
        _show_mechanism(
            mechanism(name, tuple(PRESETS)), preset or PRESET, choices, vocabulary, json
        )


def _list(choices: Choices, vocabulary: int, json: bool) -> None:
    from weft.extensions import available
    from weft.models.catalogue import Mechanism, mechanisms
    from weft.models.presets import PRESETS, preset

    groups: dict[str, list[Mechanism]] = {}
    for entry in mechanisms():
        groups.setdefault(entry.group, []).append(entry)
    for kind in ("position", "attention"):
        for name, origin in available(kind).items():
            group = f"{kind}s"
            groups[group].append(Mechanism(name, group, origin, origin, {kind: name}))
    configs = {name: preset(name, vocabulary=vocabulary, **choices) for name in PRESETS}
    if json:
        listed = {group: [_entry(entry) for entry in some] for group, some in groups.items()}
        sizes = [{"name": name, **_sizes(config)} for name, config in configs.items()]
        print_json({**listed, "presets": sizes})
        return
    console = new_console()
    for group, some in groups.items():
        console.print(HEADINGS[group], style="bold")
        for entry in some:
            said = f"{entry.summary:<50}{entry.setting}" if group == "blocks" else entry.summary
            console.print(f"  {entry.name:<17}{said}", soft_wrap=True)
        console.print()
    columns = "".join(f"{word:>13}" for word in ("parameters", "in layers"))
    console.print(f"presets            layers  heads  width  hidden{columns}", style="bold")
    for name, config in configs.items():
        console.print(f"  {name:<17}{_row(config)}", soft_wrap=True)
    console.print(f"counted with {_with(choices, vocabulary)}", soft_wrap=True)


def _row(config: TransformerConfig) -> str:
    parameters = _parameters(config)
    shape = f"{config.layers:>6}{config.heads:>7}{config.width:>7}{config.hidden[0]:>8}"
    return f"{shape}{parameters.total:>13,}{parameters.layers:>13,}"


def _show_preset(name: str, choices: Choices, vocabulary: int, json: bool) -> None:
    from weft.models.presets import preset

    config = preset(name, vocabulary=vocabulary, **choices)
    if json:
        print_json({"name": name, **_sizes(config), "config": config.as_dict()})
        return
    console = new_console()
    console.print(name, style="bold")
    for word, value in _shape(config).items():
        console.print(f"{word:<14}{value}")
    console.print()
    _print_parameters(_parameters(config))


def _show_mechanism(
    entry: Mechanism, size: str, choices: Choices, vocabulary: int, json: bool
) -> None:
    from weft.models.presets import preset

    config = preset(size, vocabulary=vocabulary, **_chosen(entry, choices))
    without = preset(size, vocabulary=vocabulary, **choices)
    if json:
        more = {"preset": size, **_sizes(config), "without_it": _parameters(without).total}
        print_json({**_entry(entry), "text": entry.text, **more, "config": config.as_dict()})
        return
    console = new_console()
    for part in paragraphs(entry.text).split("\n\n"):
        console.print(f"{part}\n", soft_wrap=part[:1].isspace())
    console.print(f"preset({size!r}, {_written(_chosen(entry, choices))})", soft_wrap=True)
    parameters = _parameters(config)
    _print_parameters(parameters, _compared(parameters.total, _parameters(without).total))


def _chosen(entry: Mechanism, choices: Choices) -> dict[str, Any]:
    """The settings that select a mechanism, beside those that were chosen."""
    chosen: dict[str, Any] = {**choices, **entry.changes}
    for key, value in entry.changes.items():
        other = choices.get(key, "")
        if key == "position" and value != "none":
            names = [value, *(name for name in other.split("+") if name not in ("", "none", value))]
            chosen[key] = "+".join(names if names != ["randomised"] else [*names, COMPANION])
        elif key == "canon":
            chosen[key] = "".join(sorted({value, *other}))
        elif other not in ("", value):
            what = f"{entry.name} and {other} are both {key}s"
            raise WeftError(what, remedy="Choose one of them")
    return chosen


def _compared(count: int, without: int) -> str:
    if count == without:
        return "as many as without it"
    more = "more" if count > without else "fewer"
    return f"{abs(count - without):,} {more} than without it"


def _print_parameters(parameters: Parameters, note: str = "") -> None:
    console = new_console()
    console.print(
        f"parameters    {parameters.total:>12,}{'   ' * bool(note)}{note}", soft_wrap=True
    )
    for part, count in asdict(parameters).items():
        if count:
            console.print(f"  {part.replace('_', '-'):<12}{count:>12,}")


def _shape(config: TransformerConfig) -> dict[str, Any]:
    """The settings of a config that are shown."""
    shape: dict[str, Any] = {
        "layers": config.layers,
        "heads": config.heads,
        "width": config.width,
        "hidden": config.hidden[0],
        "vocabulary": config.vocabulary,
        "kind": config.kind,
        "position": config.position,
        "attention": config.attention,
        "norm": config.norm,
        "activation": config.activation,
    }
    return {**shape, "canon": config.canon} if config.canon else shape


def _with(choices: Choices, vocabulary: int) -> str:
    return ", ".join([f"{vocabulary:,} tokens", *(f"{k} {v}" for k, v in choices.items())])


def _written(changes: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in changes.items())


def _entry(entry: Mechanism) -> dict[str, Any]:
    return {
        "name": entry.name,
        "group": entry.group,
        "summary": entry.summary,
        "setting": entry.changes,
    }


def _sizes(config: TransformerConfig) -> dict[str, Any]:
    parameters = _parameters(config)
    return {
        "layers": config.layers,
        "heads": config.heads,
        "width": config.width,
        "hidden": list(config.hidden),
        "parameters": {"total": parameters.total, **asdict(parameters)},
    }


def _parameters(config: TransformerConfig) -> Parameters:
    from weft.models.catalogue import parameters_of

    return parameters_of(config)
