"""Prompts for language models about a recursive function, and exact grading of their answers.

Two questions are asked of language models (arXiv 2401.12947): to find the rule in demonstrations,
and to follow a definition step by step. A prompt here has any number of demonstrations, with or
without the definition, and asks for the value or for the whole reduction. Prompts and answers are
lines of JSON; nothing is sent anywhere.

    {"id": 0, "prompt": "...", "expected": ["XO X1 01"], "depth": 1, "size": 3, ...}
    {"id": 0, "answer": "XO X1 01"}

An answer is right if its lines are the expected ones, token by token. Empty lines do not count. Of
an answer that should be one line, the last line counts, without `output:` in front.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from weft.config import check_types
from weft.errors import WeftError
from weft.files import read_text, replaced
from weft.recursion import Function, InputSampler, Notation, definition, encode_term, iterate
from weft.recursion.inductive import is_alphabet, symbol_table
from weft.statistics import Share
from weft.tasks.recursion.settings import Order, Style
from weft.tasks.recursion.terms import types_within

Ask = Literal["value", "trace"]
ATTEMPTS = 2000
"""How many random inputs are drawn for inputs of one depth, if they cannot be counted."""
LARGEST = 512
"""The largest size and depth."""
MOST = 10_000
"""The largest number of questions per depth, of demonstrations and of rounds."""
MARKS = ("output:", "=>", "=")


@dataclass(frozen=True, kw_only=True)
class PromptSettings:
    """What prompts are about.

    Attributes:
        definition: the function, by name or as `path/file.py:name`.
        ask: for the `value`, or for the whole reduction as a `trace`.
        demonstrations: how many worked examples a prompt has.
        demonstration_depths: the smallest and largest recursion depth of these.
        depths: the smallest and largest recursion depth of questions.
        sizes: the smallest and largest size of all inputs.
        per_depth: how many questions there are of each depth.
        with_definition: whether the prompt states the types and the equations.
        order: `constructor` or `natural`, as in the task.
        notation: as in the task.
        seed: decides everything that is random.
    """

    definition: str = "successor"
    ask: Ask = "value"
    demonstrations: int = 8
    demonstration_depths: tuple[int, int] = (0, 3)
    depths: tuple[int, int] = (0, 6)
    sizes: tuple[int, int] = (4, 10)
    per_depth: int = 10
    with_definition: bool = False
    order: Order = "constructor"
    notation: Style = "prefix"
    seed: int = 0

    def __post_init__(self) -> None:
        check_types(self, "prompts")
        for name in ("demonstration_depths", "depths", "sizes"):
            low, high = getattr(self, name)
            if not 0 <= low <= high <= LARGEST:
                raise WeftError(
                    f"{name} is {low} to {high}",
                    subject="prompts",
                    remedy=f"Give a smallest and a largest number, from 0 to {LARGEST}",
                )
        for name, least in (("demonstrations", 0), ("per_depth", 1)):
            if not least <= getattr(self, name) <= MOST:
                raise WeftError(
                    f"{name} is {getattr(self, name)}",
                    subject="prompts",
                    remedy=f"Give {least} to {MOST:,}",
                )
        if not self.demonstrations and not self.with_definition:
            raise WeftError(
                "a prompt has neither demonstrations nor the definition",
                subject="prompts",
                remedy="Give one of them",
            )


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A question for a language model.

    Attributes:
        id: its number.
        prompt: the text.
        expected: the lines of the right answer.
        depth: the recursion depth of the question.
        size: the size of its input.
        demonstrations: how many the prompt has.
        with_definition: whether it states the definition.
        ask: what it asks for.
        definition: the function.
    """

    id: int
    prompt: str
    expected: tuple[str, ...]
    depth: int
    size: int
    demonstrations: int
    with_definition: bool
    ask: Ask
    definition: str


def prompts(settings: PromptSettings) -> Iterator[Prompt]:
    """The prompts of some settings; the same settings give the same ones.

    Demonstrations never show the input of the question.

    Example:
        >>> from weft.tasks.recursion.prompts import PromptSettings, prompts
        >>> first = next(prompts(PromptSettings(demonstrations=2, depths=(1, 1), seed=1)))
        >>> print(first.prompt.splitlines()[0])
        Infer the function from the examples and apply it to the last input.
    """
    function = definition(settings.definition)
    notation = Notation(settings.notation, settings.order)
    rng = np.random.default_rng(settings.seed)
    number = 0
    low, high = settings.depths
    for depth in range(low, high + 1):
        for inputs in _inputs(function, rng, (depth, depth), settings.sizes, settings.per_depth):
            shown = _demonstrations(function, rng, settings, inputs)
            yield Prompt(
                id=number,
                prompt=_text(function, notation, settings, shown, inputs),
                expected=tuple(_lines(function, notation, settings.ask, inputs)),
                depth=depth,
                size=int(function.axes["size"](*inputs)),
                demonstrations=len(shown),
                with_definition=settings.with_definition,
                ask=settings.ask,
                definition=settings.definition,
            )
            number += 1


def _inputs(
    function: Function,
    rng: np.random.Generator,
    depths: tuple[int, int],
    sizes: tuple[int, int],
    count: int,
) -> list[tuple[Any, ...]]:
    """Random inputs of these recursion depths."""
    sampler = InputSampler(function)
    try:
        return sampler.sample(rng, count, size=sizes, depth=depths)
    except WeftError as error:
        if "size" in error.what:  # there are none
            raise
    found: list[tuple[Any, ...]] = []
    for _ in range(ATTEMPTS):
        found += [
            one
            for one in sampler.sample(rng, 16, size=sizes)
            if depths[0] <= function.depth(*one) <= depths[1]
        ]
        if len(found) >= count:
            return found[:count]
    raise WeftError(
        f"{len(found)} of {count} inputs of size {sizes[0]} to {sizes[1]} are {depths[0]} to "
        f"{depths[1]} deep",
        subject=function.name,
        remedy="Give other depths or sizes",
    )


def _demonstrations(
    function: Function,
    rng: np.random.Generator,
    settings: PromptSettings,
    question: tuple[Any, ...],
) -> list[tuple[Any, ...]]:
    """Inputs of worked examples, none of them the question."""
    wanted = settings.demonstrations
    found: list[tuple[Any, ...]] = []
    for _ in range(ATTEMPTS):
        if len(found) == wanted:
            return found
        more = _inputs(
            function, rng, settings.demonstration_depths, settings.sizes, wanted - len(found)
        )
        found += [one for one in more if one != question]
    raise WeftError(
        "the only input of the demonstrations is the question",
        subject="prompts",
        remedy="Give more sizes or depths",
    )


def _text(
    function: Function,
    notation: Notation,
    settings: PromptSettings,
    shown: Sequence[tuple[Any, ...]],
    inputs: tuple[Any, ...],
) -> str:
    asked_for = (
        "Write the value on one line, and nothing else."
        if settings.ask == "value"
        else "Write the term after every step on a line of its own, down to the value, and nothing "
        "else. A step applies one equation to the outermost call."
    )
    lines = []
    if settings.with_definition:
        lines += ["Evaluate the last input by this definition.", "", *_definition(function), ""]
    else:
        lines += ["Infer the function from the examples and apply it to the last input."]
    first = "first" if settings.order == "constructor" else "last"
    lines += [f"Terms are written with the outermost constructor {first}. {asked_for}", ""]
    for one in shown:
        lines += [f"input: {_input(function, notation, settings, one)}", "output:"]
        lines += [*_lines(function, notation, settings.ask, one), ""]
    lines += [f"input: {_input(function, notation, settings, inputs)}", "output:"]
    return "\n".join(lines)


def _definition(function: Function) -> Iterator[str]:
    """The types and equations of a function and of all that it calls."""
    for kind in types_within([kind for each in function.functions for _, kind in each.parameters]):
        if is_alphabet(kind):
            yield f"{kind.__name__}: {' '.join(symbol_table(kind))}"
            continue
        forms = [
            " ".join([one.token, *(inner.__name__ for _, inner in one.arguments)])
            for one in kind.constructors
        ]
        yield f"{kind.__name__}: {', or '.join(forms)}"
    for each in function.functions:
        for equation in each.equations:
            yield str(equation)


def _input(
    function: Function, notation: Notation, settings: PromptSettings, inputs: tuple[Any, ...]
) -> str:
    call = settings.with_definition or settings.ask == "trace" or function.arity > 1
    term = function.call(*inputs) if call else inputs[0]
    return " ".join(encode_term(term, notation))


def _lines(
    function: Function, notation: Notation, ask: Ask, inputs: tuple[Any, ...]
) -> Iterator[str]:
    """The lines of the right answer."""
    if ask == "value":
        yield " ".join(encode_term(function.evaluate(*inputs), notation))
        return
    only = [one for one in function.functions if not one.joins] if notation.style == "flat" else ()
    for number, each in enumerate(iterate(function.call(*inputs), only=only)):
        if number == MOST:
            raise WeftError(
                f"a reduction has more than {MOST:,} rounds", remedy="Give smaller sizes"
            )
        yield " ".join(encode_term(each.after, notation))


# Files


def write_prompts(settings: PromptSettings, path: Path) -> int:
    """Write prompts as lines of JSON, and return how many."""
    lines = [json.dumps(vars(each)) + "\n" for each in prompts(settings)]
    with replaced(path) as scratch:
        scratch.write_text("".join(lines), encoding="utf-8")
    return len(lines)


def read_prompts(path: Path) -> list[Prompt]:
    """The prompts of a file that `write_prompts` wrote."""
    found = []
    for number, values in _json_lines(path):
        try:
            found.append(Prompt(**{**values, "expected": tuple(values["expected"])}))
        except (TypeError, KeyError):
            raise WeftError(
                f"{path}, line {number}: this is not a prompt",
                remedy="Give a file that `weft recursion prompts` wrote",
            ) from None
    return found


def read_answers(path: Path) -> dict[int, str]:
    """The answers of a file: by id, the text; a line each, as {"id": 0, "answer": "..."}."""
    found: dict[int, str] = {}
    for number, values in _json_lines(path):
        if not isinstance(values.get("id"), int) or not isinstance(values.get("answer"), str):
            raise WeftError(
                f"{path}, line {number}: this is not an answer",
                remedy='Write {"id": 0, "answer": "..."}',
            )
        if values["id"] in found:
            raise WeftError(
                f"{path}, line {number}: the prompt {values['id']} has an answer already",
                remedy="Give one answer per prompt",
            )
        found[values["id"]] = values["answer"]
    return found


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(read_text(path, "Give lines of JSON").splitlines(), 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            raise WeftError(
                f"{path}, line {number}: this is not a JSON object", remedy="Correct the line"
            )
        yield number, values


# Grading


@dataclass(frozen=True, kw_only=True)
class Grades:
    """Which prompts were answered right.

    Attributes:
        prompts: the prompts that have an answer.
        right: whether each answer is right.
        first_error: of each trace, the number of the first wrong line, from 1; 0 if it is right.
        missing: how many prompts have no answer.
    """

    prompts: tuple[Prompt, ...]
    right: tuple[bool, ...]
    first_error: tuple[int, ...]
    missing: int

    @property
    def share(self) -> Share:
        """The share of right answers."""
        return Share(sum(self.right), len(self.right))

    def by_depth(self) -> dict[int, Share]:
        """The share of right answers for each recursion depth."""
        groups: dict[int, list[bool]] = {}
        for each, right in zip(self.prompts, self.right, strict=True):
            groups.setdefault(each.depth, []).append(right)
        return {depth: Share(sum(some), len(some)) for depth, some in sorted(groups.items())}

    @property
    def errors(self) -> dict[int, int]:
        """How many answers are wrong first at each line."""
        return dict(sorted(Counter(line for line in self.first_error if line).items()))


def grade(asked: Sequence[Prompt], answers: Mapping[int, str]) -> Grades:
    """Compare answers with what is expected, exactly.

    Args:
        asked: the prompts.
        answers: by the id of the prompt, the text.
    """
    known = {each.id for each in asked}
    for number in answers:
        if number not in known:
            raise WeftError(
                f"there is no prompt {number}", remedy="Grade answers with their own prompts"
            )
    kept = tuple(each for each in asked if each.id in answers)
    if not kept:
        raise WeftError("no prompt has an answer", remedy="Give answers by the id of the prompt")
    errors = tuple(_first_error(each, answers[each.id]) for each in kept)
    return Grades(
        prompts=kept,
        right=tuple(error == 0 for error in errors),
        first_error=errors,
        missing=len(asked) - len(kept),
    )


def _first_error(asked: Prompt, answer: str) -> int:
    """The number of the first wrong line, from 1; 0 if the answer is right."""
    lines = [words for line in answer.splitlines() if (words := _words(line))]
    expected = [words for line in asked.expected if (words := line.split())]
    if asked.ask == "value":
        lines = lines[-1:]
    for number, (line, right) in enumerate(zip(lines, expected, strict=False), 1):
        if line != right:
            return number
    return 0 if len(lines) == len(expected) else min(len(lines), len(expected)) + 1


def _words(line: str) -> list[str]:
    """The tokens of a line, without a mark in front."""
    text = line.strip()
    for mark in MARKS:
        text = text.removeprefix(mark).strip()
    return text.split()
