"""The catalogue of library programs: names, parameters, and how a program is made by name.

A library program is a function that returns a `CraspProgram`. Its keyword parameters, with
their defaults, are the program's parameters; the first line of its docstring is the program's idea.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from weft.config import keywords
from weft.crasp.program import CraspProgram
from weft.crasp.syntax.builder import Count
from weft.errors import WeftError, did_you_mean

Recipe = Callable[..., CraspProgram]


@dataclass(frozen=True)
class Entry:
    """A library program, or a family of them if it has parameters.

    Attributes:
        name: as in `load(name)`.
        language: the words that it accepts, or the task that it solves, in the usual notation.
        example: a word that it accepts; for a transduction, an input with its separator.
        recipe: makes the program.
        inputs: draws an input of a transduction, with its separator, up to a maximum length;
            takes the program's parameters. None for a language.
    """

    name: str
    language: str
    example: str
    recipe: Recipe
    inputs: Callable[..., list[str]] | None = None

    @property
    def about(self) -> str:
        """The idea and, below it, what else there is to say."""
        return inspect.cleandoc(self.recipe.__doc__ or "")

    @property
    def idea(self) -> str:
        """One line on how it works."""
        return self.about.partition("\n")[0]

    @property
    def parameters(self) -> Mapping[str, int | str]:
        """Its parameters with their defaults."""
        given = inspect.signature(self.recipe).parameters.values()
        return {parameter.name: parameter.default for parameter in given}

    def make(self, **parameters: Any) -> CraspProgram:
        """The program with these parameters; the others have their defaults."""
        defaults = self.parameters
        for key, value in parameters.items():
            if key not in defaults:
                listed = ", ".join(f"{known}={default}" for known, default in defaults.items())
                remedy = did_you_mean(key, list(defaults)).capitalize()
                raise WeftError(
                    f"it has no parameter '{key}'",
                    subject=self.name,
                    remedy=f"{remedy} ({listed})" if defaults else "Leave it out: it has none",
                )
            if type(value) is not type(defaults[key]):
                noun = "a whole number" if isinstance(defaults[key], int) else "text"
                raise WeftError(
                    f"{key} cannot be {value!r}",
                    subject=self.name,
                    remedy=f"Give {noun}, as in {key}={defaults[key]}",
                )
        changed = {key: value for key, value in parameters.items() if value != defaults[key]}
        listed = ", ".join(f"{key}={value}" for key, value in changed.items())
        name = f"{self.name}({listed})" if changed else self.name
        try:
            return replace(self.recipe(**parameters), name=name, about=self.about)
        except WeftError as error:
            raise WeftError(error.what, subject=self.name, remedy=error.remedy) from None

    def draw_input(self, rng: random.Random, length: int, **parameters: Any) -> list[str]:
        """Draw an input of a transduction, with its separator, of at most `length` symbols."""
        assert self.inputs is not None, f"{self.name} is a language"
        return self.inputs(rng, length, **{**self.parameters, **parameters})


ENTRIES: dict[str, Entry] = {}
"""The library, by name, in the order of its pages."""


def library_program(
    name: str, language: str, example: str, inputs: Callable[..., list[str]] | None = None
) -> Callable[[Recipe], Recipe]:
    """Enter the decorated function into the library under a name."""

    def enter(recipe: Recipe) -> Recipe:
        ENTRIES[name] = Entry(name, language, example, recipe, inputs)
        return recipe

    return enter


def check_range(name: str, value: int, smallest: int, largest: int | None = None) -> None:
    """Check that a parameter lies in its range."""
    if value < smallest or (largest is not None and value > largest):
        allowed = f"at least {smallest}" if largest is None else f"{smallest} to {largest}"
        raise WeftError(f"{name} cannot be {value}", remedy=f"Give {allowed}")


def multiple(factor: int, term: Count) -> Count:
    """A count times a positive constant, as a sum."""
    total = term
    for _ in range(factor - 1):
        total = total + term
    return total


def entry(name: str) -> Entry:
    """The library program of this name."""
    if name not in ENTRIES:
        raise WeftError(
            f"the library has no C-RASP program '{name}'",
            remedy=did_you_mean(name, list(ENTRIES)).capitalize(),
        )
    return ENTRIES[name]


def load(name: str, **parameters: int | str) -> CraspProgram:
    """The library program of this name.

    Args:
        name: one of `names()`; parameters may also be in brackets, as in `"bounded-dyck(depth=3)"`.
        parameters: of a family of programs; those left out have their defaults.

    Example:
        >>> from weft.crasp import library, run
        >>> run(library.load("dyck-1"), "(()())").accepted
        True
    """
    plain, bracket, inside = name.strip().partition("(")
    given = keywords(inside.removesuffix(")")) if inside.endswith(")") else None
    if bracket and given is None:
        raise WeftError(
            f"'{name}' does not name a program of the library",
            remedy="Write parameters in brackets, as in bounded-dyck(depth=3)",
        )
    return entry(plain).make(**{**(given or {}), **parameters})


def names() -> list[str]:
    """The names of all library programs."""
    return list(ENTRIES)
