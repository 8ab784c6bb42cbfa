"""Running weights from the command line: of a program just compiled, or of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from weft.compiler.build import compile_program
from weft.compiler.run import run_model
from weft.compiler.store import load, read_description
from weft.errors import WeftError
from weft.interpreter.inputs import read_input
from weft.interpreter.reference import layer_limit
from weft.language.program import Program, token_numbers
from weft.language.ranges import UNDEFINED
from weft.language.source import source_hash
from weft.language.stream import Stream
from weft.language.user_code import decode_stream
from weft.models.transformer import Transformer
from weft.programs import program as find_program


def run_compiled(program: Program, given: str, level: int, layers: int | None) -> dict[str, Any]:
    """Compile a program and run its weights on one input."""
    tokens = list(read_input(program, given))
    longest = None if program.definition.positions is not None else max(64, len(tokens))
    model = compile_program(program, level=level, max_length=longest).model
    return _run(model, program, tokens, layers)


def run_folder(folder: Path, given: str, layers: int | None) -> dict[str, Any]:
    """Run the model of a folder; its program helps to read the input if it can be found."""
    model = load(folder)
    program = _program_of(folder)
    if program is not None:
        return _run(model, program, list(read_input(program, given)), layers)
    assert model.vocabulary is not None  # a loaded model has one
    tokens = model.vocabulary.parse(given)
    numbers = model.vocabulary.all_numbers(tokens)
    done = run_model(model, [numbers], layers=layers)
    return _answer(done.outputs[0], done.outputs[0], done.layers[0], tokens)


def _program_of(folder: Path) -> Program | None:
    """The program that a model was compiled from, if it is still the same."""
    about = read_description(folder)["program"]
    try:
        program = find_program(about["found_as"])
    except WeftError:
        return None
    return program if source_hash(program) == about["source_hash"] else None


def _run(
    model: Transformer, program: Program, tokens: list[Any], layers: int | None
) -> dict[str, Any]:
    limit, must_halt = layer_limit(program, layers, None)
    done = run_model(model, [token_numbers(program, tokens)], layers=limit)
    if must_halt and not done.halted[0]:
        raise WeftError(
            f"the model has not halted after {limit:,} layers",
            subject=program.name,
            remedy="Give --layers to run that many and stop",
        )
    read = model.read(done.stream[0, : len(tokens)])
    columns = {
        name: tuple(UNDEFINED if value is None else value for value in values)
        for name, values in read.items()
    }
    result = _decoded(program, Stream(columns))
    return _answer(done.outputs[0], result, done.layers[0], tokens)


def _decoded(program: Program, stream: Stream) -> Any:
    try:
        return decode_stream(program, stream)
    except WeftError as error:
        if not isinstance(error.__cause__, KeyError):
            raise
        raise WeftError(
            f"its decode reads {error.__cause__}, which the weights leave out: the output does not "
            "depend on it",
            subject=program.name,
            remedy="Decode from the output, or compile it with -O 0",
        ) from None


def _answer(
    outputs: tuple[int, ...], result: Any, layers: int, tokens: list[Any]
) -> dict[str, Any]:
    return {
        "input": [str(token) for token in tokens],
        "outputs": outputs,
        "result": result,
        "layers": layers,
    }
