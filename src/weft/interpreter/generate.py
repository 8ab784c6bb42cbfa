"""Causal programs as language models: predict a token, append it, run again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft.errors import WeftError
from weft.interpreter.inputs import read_input
from weft.interpreter.reference import run
from weft.language.program import Program, as_program


def generate(
    program: Program | type[Program],
    prompt: str | Iterable[Any],
    *,
    max_tokens: int = 100,
    layers: int | None = None,
    max_layers: int | None = None,
) -> list[Any]:
    """The tokens that a causal program appends to a prompt.

    The output at the last position is the number of the next token. It is appended and the program
    runs again on the longer sequence, until it outputs its `stop` token (which is not returned) or
    `max_tokens` tokens are generated.

    Example:
        >>> import weft
        >>> class Alternate(weft.Program):
        ...     "After a comes b, after b comes a, up to the third position."
        ...     tokens, causal, stop, layers = ["a", "b", "."], True, ".", 1
        ...     token = weft.var(3, token="ab.".index)
        ...     late = weft.var(2, position=lambda i: i >= 2)
        ...     output = following = weft.var(3)
        ...     def step(z):
        ...         z.following = 2 if z.late else 1 - z.token
        >>> weft.generate(Alternate, "a")
        ['b', 'a']
    """
    program = as_program(program)
    _check(program)
    tokens = list(read_input(program, prompt))
    if not tokens:
        raise WeftError(
            "there is nothing to continue", subject=program.name, remedy="Give at least one token"
        )
    generated: list[Any] = []
    while len(generated) < max_tokens:
        output = run(program, [*tokens, *generated], layers=layers, max_layers=max_layers).outputs[
            -1
        ]
        token = program.vocabulary.name(int(output))
        if token == program.stop and program.stop is not None:
            break
        generated.append(token)
    return generated


def _check(program: Program) -> None:
    if not program.causal:
        raise WeftError(
            "it is not causal, so later tokens would change what earlier ones computed",
            subject=program.name,
            remedy="Set causal = True in the program",
        )
    size, output = program.vocabulary.size, program.definition.output
    if size is None or len(program.variables[output]) > size:
        raise WeftError(
            f"its output '{output}' has {len(program.variables[output])} values, which are not all "
            "tokens",
            subject=program.name,
            remedy="Declare `tokens`, and an output with at most one value per token",
        )
    if program.stop is not None and program.stop not in program.vocabulary.numbers:
        raise WeftError(
            f"its stop token {program.stop!r} is not among its tokens", subject=program.name
        )
