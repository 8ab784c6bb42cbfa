"""From a program to a Transformer: the passes in order.

program -> problem (slicing, reach) -> circuit (lower, or level0) -> matrices -> Transformer (emit)
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.compiler import level0
from weft.compiler.certificate import Certificate
from weft.compiler.heads import compile_heads, head_names
from weft.compiler.lower import Lowering
from weft.compiler.one_hot import Expansion
from weft.compiler.problem import Problem, start
from weft.compiler.reach import find_reachable, initial_values, observe
from weft.compiler.slicing import merge_heads, remove_dead
from weft.errors import WeftError
from weft.interpreter.failures import no_layers
from weft.interpreter.inputs import read_input
from weft.language.frontend import deep_recursion
from weft.language.program import Program, as_program, token_numbers
from weft.language.ranges import Number
from weft.models.config import Activation
from weft.models.slots import Layout, encode, make_layout
from weft.models.transformer import Transformer
from weft.weights.circuit import Circuit
from weft.weights.emit import EmbeddingTables, emit
from weft.weights.layers import FeedForwardMatrices, LayerMatrices, as_relu
from weft.weights.matrices import lay_out
from weft.weights.precision import Format, format_of

DEFAULT_LENGTH = 64
"""The maximum length for programs that need one, if none is given."""


@dataclass(frozen=True)
class Compiled:
    """A compiled model, and how it was compiled.

    Attributes:
        program: what was compiled.
        model: the Transformer that computes it.
        level: 0 or 2.
        rules: the number of rules of the step, with one value per constraint at level 0.
        max_length: the longest input it is made for; None for any.
        certificate: what the compiler relied on, for the verifier to check.
        notes: what each pass did.
        seconds: the time that compiling took.
    """

    program: Program
    model: Transformer
    level: int
    rules: int
    max_length: int | None
    certificate: Certificate
    notes: tuple[tuple[str, str], ...]
    seconds: float

    @property
    def for_inputs(self) -> int | None:
        """The number of inputs that it is made for; None if it is made for all."""
        inputs = self.certificate.inputs
        return None if inputs is None else len(inputs)

    @property
    def hidden_units(self) -> int:
        """Hidden units of the feed-forward, all hidden layers together."""
        return sum(self.model.config.hidden)

    @property
    def parameters(self) -> int:
        """The number of parameters of the model."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def sizes(self) -> dict[str, Any]:
        """The sizes of the model, for scripts."""
        config = self.model.config
        return {
            "rules": self.rules,
            "hidden_units": self.hidden_units,
            "hidden": list(config.hidden),
            "d_model": config.width,
            "heads": config.heads,
            "parameters": self.parameters,
            "max_length": self.max_length,
            "seconds": round(self.seconds, 3),
        }


def compile_program(
    program: Program | type[Program],
    *,
    level: int = 2,
    max_length: int | None = None,
    activation: Activation = "clipped",
    dtype: str = "float32",
    inputs: Sequence[Any] | None = None,
    shared: bool = True,
) -> Compiled:
    """Compile a program into the weights of a Transformer.

    Args:
        program: a program, or its class.
        level: 2 for a small model, 0 for the paper's construction with one unit per rule.
        max_length: the longest input; only programs that name positions or average need one.
        activation: `clipped`, or `relu` with two units for each clipped one.
        dtype: `float32`, `float64` or `bfloat16`.
        inputs: if given, only these will occur: the model may do anything on others.
        shared: whether all layers share one set of weights, in a loop. If not, every layer has a
            copy; the program must have a fixed number of layers.

    Example:
        >>> import torch, weft
        >>> compiled = weft.compile(weft.program("parity"))
        >>> compiled.hidden_units
        3
        >>> tokens = torch.tensor([[2, 1, 0, 1]])  # s 1 0 1
        >>> compiled.model(tokens).logits.argmax(-1).tolist()
        [[0, 1, 1, 0]]
    """
    began = time.perf_counter()
    program = as_program(program)
    if level not in (0, 2):
        raise WeftError(f"there is no level {level}", remedy="Choose -O 0 or -O 2")
    if level == 0 and inputs is not None:
        raise WeftError("level 0 is the same for all inputs", remedy="Leave out -O 0, or --for")
    if not shared and program.definition.halt is not None:
        raise WeftError(
            "it runs until it halts, and a model with separate layers has a fixed number of them",
            subject=program.name,
            remedy="Compile it with shared layers, or declare `layers` in place of `halt`",
        )
    format_ = format_of(dtype)
    longest = _longest(program, max_length)
    problem = _prepare(program, level, longest, inputs)
    cleared = [name for name in problem.heads if _is_cleared_by_head(problem, name, level)]
    variables = [problem.program.variables[name] for name in problem.variables]
    layout = make_layout(variables, problem.aliases)
    with deep_recursion():
        problem, matrices, rules = _feed_forward(problem, layout, level, longest, format_)
    if activation == "relu":
        matrices = as_relu(matrices)
    attention = compile_heads(problem, layout, format_, cleared)
    layout = Layout(tuple(layout.values()), head_names(problem, attention.heads))
    layer = LayerMatrices(attention, matrices)
    limit = longest if _needs_length(program) else None
    model = _emit(problem, layout, layer, activation, dtype, limit, shared)
    seconds = time.perf_counter() - began
    certificate = _certify(problem, inputs)
    return Compiled(program, model, level, rules, limit, certificate, problem.notes, seconds)


def _is_cleared_by_head(problem: Problem, name: str, level: int) -> bool:
    """Whether a head of the next layer clears a head's slot; otherwise the feed-forward does.

    At level 0, rules reset heads as in the paper, which leaves rounding errors if a slot held a
    mean or a mixture of several values.
    """
    is_number = isinstance(problem.program.variables[name].range, Number)
    offsets = problem.heads[name].offsets
    if level > 0:
        return not is_number
    return is_number or offsets is None or len(offsets) > 1


def _certify(problem: Problem, inputs: Sequence[Any] | None) -> Certificate:
    """What the passes relied on, for the verifier."""
    program = problem.program
    numbers = None
    if inputs is not None:
        read = (read_input(program, given) for given in inputs)
        numbers = tuple(tuple(token_numbers(program, tokens)) for tokens in read)
    return Certificate(
        values={name: tuple(problem.codes(name)) for name in problem.variables},
        left_out=tuple(name for name in program.variables if name not in problem.variables),
        merged=dict(problem.aliases),
        inputs=numbers,
    )


def _prepare(
    program: Program, level: int, longest: int | None, inputs: Sequence[Any] | None
) -> Problem:
    problem = start(program)
    if level == 0:
        return problem.noted("level 0", "one unit per rule, as in the ALTA paper")
    problem = merge_heads(remove_dead(problem))
    return find_reachable(problem, longest) if inputs is None else observe(problem, inputs)


SPREADS = (0, 4, 16)
"""A test of up to this many cubes is inlined into the guards that use it, without units of its own;
the smallest of the resulting circuits is taken."""


def _feed_forward(
    problem: Problem, layout: Layout, level: int, longest: int | None, format_: Format
) -> tuple[Problem, FeedForwardMatrices, int]:
    """The matrices; at level 2, the smallest of a few ways to lower the updates."""
    program = problem.program
    if level == 0:
        circuit = Circuit(program.variables)
        expansion = Expansion(problem, circuit, longest, format_)
        rules = level0.lower_rules(program, circuit, expansion)
        matrices = lay_out(circuit, layout, layout.width)
        units = " + ".join(map(str, matrices.hidden))
        return problem.noted("rules", f"{units} units for {rules:,} rules"), matrices, rules
    tried = []
    for spread in SPREADS:
        circuit = Circuit(program.variables)
        expansion = Expansion(problem, circuit, longest, format_)
        Lowering(problem, expansion, spread)
        for name in problem.heads:
            if isinstance(program.variables[name].range, Number):
                expansion.clear_exactly(name)
        tried.append(lay_out(circuit, layout, layout.width))
    matrices = min(tried, key=lambda option: sum(option.hidden))
    rules = len(program.rules)
    counts = ", ".join(str(sum(option.hidden)) for option in tried)
    units = " + ".join(map(str, matrices.hidden))
    limits = ", ".join(map(str, SPREADS))
    what = (
        f"{units} units for {rules:,} rules (with tests of up to {limits} cubes inlined: {counts})"
    )
    return problem.noted("updates", what), matrices, rules


def _needs_length(program: Program) -> bool:
    averages = any(isinstance(program.variables[name].range, Number) for name in program.heads)
    return averages or any(v.position is not None for v in program.variables.values())


def _longest(program: Program, given: int | None) -> int | None:
    """The maximum length of inputs, if the program depends on it."""
    if not _needs_length(program):
        return given
    declared = program.definition.positions
    if given is None:
        return declared if declared is not None else DEFAULT_LENGTH
    if declared is not None and given > declared:
        raise WeftError(
            f"it has {declared} positions and cannot be compiled for {given}",
            subject=program.name,
            remedy="Make the program with more positions",
        )
    return given


def _emit(
    problem: Problem,
    layout: Layout,
    layer: LayerMatrices,
    activation: Activation,
    dtype: str,
    longest: int | None,
    shared: bool,
) -> Transformer:
    """The model: the layer in a loop, or as many copies of it as the program has layers."""
    program, definition = problem.program, problem.program.definition
    size = program.vocabulary.size
    if size is None:
        initial_values(program, next(iter(program.variables.values())), longest)
        size = 1
    by_position = any(v.position is not None for v in problem.variables.values())
    positions = _position_table(problem, layout, longest or 0) if by_position else None
    output, halt = layout[definition.output], None
    if definition.halt is not None:
        slot = layout[definition.halt.variable]
        halt = slot.start + program.variables[slot.name].range.codes[definition.halt.value]
    elif program.layers is None and not shared:
        raise no_layers(program)
    count = program.layers if definition.halt is None else None
    loops = program.max_layers if count is None else count
    return emit(
        [layer] if shared else [layer] * loops,
        EmbeddingTables(
            embedding=_token_table(problem, layout, size),
            unembedding=np.eye(output.size, layout.width, output.start),
            positions=positions,
        ),
        loops=loops if shared else 1,
        causal=program.causal,
        activation=activation,
        dtype=dtype,
        layout=layout,
        halt=halt,
        max_length=longest,
    )


def _token_table(problem: Problem, layout: Layout, size: int) -> np.ndarray[Any, Any]:
    """What each token puts into the stream: variables that start from it, and defaults."""
    table = np.zeros((size, layout.width))
    for name, variable in problem.program.variables.items():
        if name in layout and not variable.is_head and variable.position is None:
            for number in range(size):
                value = variable.initial(problem.program.vocabulary.name(number), 0)
                _put(table[number], layout, name, variable.range.codes[value])  # type: ignore[index]
    return table


def _position_table(problem: Problem, layout: Layout, longest: int) -> np.ndarray[Any, Any]:
    """What each position puts into the stream."""
    table = np.zeros((longest, layout.width))
    for name, variable in problem.program.variables.items():
        if name in layout and variable.position is not None:
            for position in range(longest):
                value = variable.initial(None, position)
                _put(table[position], layout, name, variable.range.codes[value])  # type: ignore[index]
    return table


def _put(row: np.ndarray[Any, Any], layout: Layout, name: str, code: int) -> None:
    for dimension, amount in encode(layout[name], code).items():
        row[dimension] = amount
