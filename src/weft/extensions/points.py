"""The extension points, and how their names are written."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.config import keywords
from weft.errors import WeftError, check_known

REFERENCE = re.compile(r"(?P<path>[^()]*?)(?::(?P<name>\w+))?(?:\((?P<arguments>.*)\))?")


@dataclass(frozen=True)
class ExtensionPoint:
    """Something that users can write themselves.

    Attributes:
        kind: as in `register(kind, ...)`.
        group: of entry points.
        base: the class to derive from, as `module:Class`.
        shown: how users import the base class.
        built_in: the table of built-in names, as `module:TABLE`; empty if there is none.
        arguments: what the constructor is called with, by position.
        instances: whether an instance may be given in place of a class.
    """

    kind: str
    group: str
    base: str
    shown: str
    built_in: str = ""
    arguments: tuple[str, ...] = ()
    instances: bool = False

    @property
    def noun(self) -> str:
        """What it is, with its article."""
        words = {
            "position": "a positional encoding",
            "attention": "an attention mechanism",
            "executor": "an executor",
        }
        return words.get(self.kind, f"a {self.kind}")

    @property
    def base_class(self) -> type:
        """The class to derive from."""
        base: type = resolve(self.base)
        return base

    def accepts(self, value: Any) -> bool:
        """Whether a value is of this kind, whatever may be wrong with it."""
        if isinstance(value, type):
            return issubclass(value, self.base_class)
        return self.instances and isinstance(value, self.base_class)


POINTS = {
    point.kind: point
    for point in (
        ExtensionPoint(
            "program",
            "weft.programs",
            "weft.language.program:Program",
            "weft.Program",
            built_in="weft.programs.library:LIBRARY",
            instances=True,
        ),
        ExtensionPoint(
            "task",
            "weft.tasks",
            "weft.tasks.task:Task",
            "weft.tasks.Task",
            built_in="weft.tasks.registry:TASKS",
        ),
        ExtensionPoint(
            "position",
            "weft.positions",
            "weft.models.positions:PositionalEncoding",
            "weft.models.positions.PositionalEncoding",
            built_in="weft.models.positions:ENCODINGS",
            arguments=("config",),
        ),
        ExtensionPoint(
            "attention",
            "weft.attentions",
            "weft.models.attentions:AttentionMechanism",
            "weft.models.attentions.AttentionMechanism",
            built_in="weft.models.attentions:MECHANISMS",
            arguments=("config", "number"),
        ),
        ExtensionPoint(
            "callback",
            "weft.callbacks",
            "weft.training.callbacks:Callback",
            "weft.training.Callback",
            instances=True,
        ),
        ExtensionPoint(
            "executor",
            "weft.executors",
            "weft.training.launch.executor:Executor",
            "weft.training.Executor",
            instances=True,
        ),
    )
}


def point_of(kind: str) -> ExtensionPoint:
    """The extension point of this kind."""
    check_known(kind, POINTS, f"there is no extension point '{kind}'")
    return POINTS[kind]


@dataclass(frozen=True)
class NameReference:
    """A name taken apart: `path/file.py:Name(n=3)`, or a plain name with arguments or without.

    Attributes:
        text: all of it.
        path: the file, or the plain name.
        name: what to look for in the file; None if that is left out.
        arguments: for the constructor.
    """

    text: str
    path: str
    name: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def in_file(self) -> bool:
        """Whether it names something in a file."""
        return self.name is not None or self.path.endswith(".py")


def reference(text: str, kind: str = "program") -> NameReference:
    """Take a name apart.

    Example:
        >>> from weft.extensions import reference
        >>> reference("my.py:Sum(digits=3)").arguments
        {'digits': 3}
    """
    matched = REFERENCE.fullmatch(text.strip())
    arguments = keywords(matched["arguments"] or "") if matched else None
    if matched is None or arguments is None:
        raise WeftError(
            f"'{text}' does not name {point_of(kind).noun}",
            remedy="Write a name, or path/file.py:Class, with arguments as in name(n=3)",
        )
    return NameReference(text, matched["path"], matched["name"], arguments)


def resolve(text: str) -> Any:
    """What `module:name` refers to."""
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module), name)
