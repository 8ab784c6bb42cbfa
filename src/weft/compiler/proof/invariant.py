"""The certificate, checked: the values that it lists are an invariant of the program.

Initial values are in the lists. A head gives only listed values if it reads only listed values. A
step from listed values writes only listed values, unless it fails. Then no run leaves the lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from weft.compiler.certificate import Certificate
from weft.compiler.proof.findings import Unproved
from weft.compiler.proof.means import Means, possible_means
from weft.errors import WeftError
from weft.interpreter.batched import run_batch
from weft.language.diagrams import Diagram, Put
from weft.language.expressions import reads
from weft.language.program import Head, Program, Variable
from weft.language.ranges import Number, PartialRange, show_value
from weft.models.slots import Layout
from weft.proofs.rounding import Precision


@dataclass(frozen=True)
class Invariant:
    """A program with the values that its variables can have.

    Attributes:
        program: the program.
        variables: the variables in the stream, with the listed values.
        shared: heads that share the slot of an earlier one, and which.
        max_length: the longest input; None for any.
        means: for heads of numbers, where the weights' numbers lie.
        diagrams: what each variable becomes, from listed values.
    """

    program: Program
    variables: Mapping[str, Variable]
    shared: Mapping[str, str]
    max_length: int | None
    means: Mapping[str, Means]
    diagrams: Mapping[str, Diagram] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The variables that have a slot of their own."""
        return [name for name in self.variables if name not in self.shared]

    @property
    def heads(self) -> list[Head]:
        """The heads that have a slot of their own."""
        return [self.program.heads[n] for n in self.names if self.variables[n].is_head]

    def owner(self, name: str) -> str:
        """The variable whose slot holds this one."""
        return self.shared.get(name, name)

    def codes(self, name: str) -> list[int]:
        """The listed codes of a variable."""
        whole = self.program.variables[name].range
        return [whole.codes[value] for value in self.variables[name].range.values]

    def can_mix(self, name: str) -> bool:
        """Whether a head's slot can hold a mixture, since it can select several positions."""
        head = self.program.heads[name]
        if isinstance(self.program.variables[name].range, Number):
            return False
        return self.most_selected(head) != 1

    def most_selected(self, head: Head) -> int | None:
        """How many positions a head can select; None for any number."""
        counts = [] if head.offsets is None else [len(head.offsets)]
        counts += [] if self.max_length is None else [self.max_length]
        return min(counts, default=None)


def check_certificate(
    program: Program,
    layout: Layout,
    certificate: Certificate,
    max_length: int | None,
    precision: Precision,
) -> Invariant:
    """The certificate's lists as an invariant; `Unproved` if they are none."""
    _check_left_out(program, layout, certificate)
    shared = _shared(layout)
    if dict(certificate.merged) != shared:
        raise Unproved("the heads that the certificate calls merged are not those of the layout")
    if set(certificate.values) != set(layout):
        raise Unproved("the certificate does not list the values of the variables in the layout")
    variables = {name: _listed(program.variables[name], certificate) for name in layout}
    result = Invariant(program, variables, shared, max_length, {})
    if certificate.inputs is None:
        _check_initial(result)
    result = replace(result, means=_means(result, precision))
    if certificate.inputs is None:
        _check_heads(result)
    variables = {name: _attainable(result, variable) for name, variable in variables.items()}
    result = replace(result, variables=variables)
    diagrams = {
        name: Diagram(name, program.updates.values[name], variables, apart=True)
        for name in result.names
        if not variables[name].is_head
    }
    result = replace(result, diagrams=diagrams)
    if certificate.inputs is None:
        _check_steps(result)
    else:
        _check_inputs(result, certificate.inputs)
    return result


def _check_left_out(program: Program, layout: Layout, certificate: Certificate) -> None:
    """Neither output nor halting depends on a variable that has no slot."""
    definition = program.definition
    for name in (definition.output, *([definition.halt.variable] if definition.halt else [])):
        if name not in layout:
            raise Unproved(f"'{name}' has no slot, and output or halting is read from it")
    for name in layout:
        head = program.heads.get(name)
        used = set(reads(program.updates.values[name]))
        used |= {part for part in (head.query, head.key, head.value) if part} if head else set()
        missing = sorted(used - set(layout))
        if missing:
            raise Unproved(f"'{missing[0]}' has no slot, and '{name}' depends on it")
    if set(certificate.left_out) != set(program.variables) - set(layout):
        raise Unproved("the certificate does not name the variables that were left out")


def _shared(layout: Layout) -> dict[str, str]:
    first: dict[int, str] = {}
    shared = {}
    for name, slot in layout.items():
        owner = first.setdefault(slot.start, name)
        if owner != name:
            shared[name] = owner
    return shared


def _listed(variable: Variable, certificate: Certificate) -> Variable:
    values = variable.range.values
    codes = sorted(set(certificate.values[variable.name]))
    if codes and codes[-1] >= len(values):
        raise Unproved(f"the certificate lists a value that '{variable.name}' does not have")
    if not codes and not variable.is_head:
        raise Unproved(f"the certificate lists no value of '{variable.name}'")
    listed = tuple(values[code] for code in codes)
    return replace(variable, range=PartialRange(listed, whole=variable.range))


def _check_initial(invariant: Invariant) -> None:
    program = invariant.program
    size = program.vocabulary.size or 1
    for name, variable in invariant.variables.items():
        if variable.is_head:
            continue
        if variable.position is not None:
            if invariant.max_length is None:
                raise Unproved(f"'{name}' starts from the position, and no longest input is given")
            values = [variable.initial(None, place) for place in range(invariant.max_length)]
        else:
            values = [variable.initial(program.vocabulary.name(n), 0) for n in range(size)]
        for value in values:
            if value not in variable.range.codes:
                shown = show_value(value)
                raise Unproved(f"'{name}' can start as {shown}, which the certificate omits")


def _means(invariant: Invariant, precision: Precision) -> dict[str, Means]:
    """Where the numbers of averaging heads lie in the weights."""
    result: dict[str, Means] = {}
    for name, variable in invariant.variables.items():
        whole = invariant.program.variables[name].range
        if variable.is_head and isinstance(whole, Number):
            head = invariant.program.heads[name]
            count = invariant.most_selected(head)
            if count is None:
                raise Unproved(f"'{name}' averages, and no longest input is given")
            given: Any = invariant.variables[head.value].range.values
            result[name] = possible_means(name, given, whole, count, precision)
    return result


def _check_heads(invariant: Invariant) -> None:
    """What heads give is listed if what they read is."""
    for name, variable in invariant.variables.items():
        if not variable.is_head:
            continue
        if name in invariant.means:
            values = invariant.program.variables[name].range.values
            given = tuple(values[code] for code in invariant.means[name].codes.tolist())
        else:
            given = invariant.variables[invariant.program.heads[name].value].range.values
        for value in given:
            if value not in variable.range.codes:
                shown = show_value(value)
                raise Unproved(f"the head '{name}' can give {shown}, which the certificate omits")


def _attainable(invariant: Invariant, variable: Variable) -> Variable:
    """A head of numbers without the listed buckets that no mean is read as."""
    if variable.name not in invariant.means:
        return variable
    values = invariant.program.variables[variable.name].range.values
    means = {values[code] for code in invariant.means[variable.name].codes.tolist()}
    listed = tuple(value for value in variable.range.values if value in means)
    return replace(variable, range=replace(variable.range, values=listed))


def _check_steps(invariant: Invariant) -> None:
    for name, diagram in invariant.diagrams.items():
        listed = invariant.variables[name].range.codes
        for result in diagram.results():
            if isinstance(result, Put) and result.value not in listed:
                raise Unproved(
                    f"a step can write {show_value(result.value)} to '{name}' "
                    f"({result.where}), which the certificate omits"
                )


def _check_inputs(invariant: Invariant, inputs: tuple[tuple[int, ...], ...]) -> None:
    """On these inputs alone: run them, and see that every value is listed."""
    program = invariant.program
    if not inputs:
        raise Unproved("the certificate names no input")
    for tokens in inputs:
        if any(number >= (program.vocabulary.size or 1) for number in tokens):
            raise Unproved("the certificate's inputs have tokens that the program has not")
        if invariant.max_length is not None and len(tokens) > invariant.max_length:
            raise Unproved("the certificate's inputs are longer than the model's longest input")
    named = [[program.vocabulary.name(number) for number in tokens] for tokens in inputs]
    try:
        observed = run_batch(program, named, trace=True).observed()
    except WeftError as error:
        raise Unproved(
            f"the program fails on one of the certificate's inputs: {error.what}"
        ) from None
    for name, seen in observed.items():
        if name in invariant.variables:
            variable = program.variables[name]
            defined = {code for code in seen if code < len(variable)}
            extra = defined - set(invariant.codes(name))
            if extra:
                value = show_value(variable.range.values[min(extra)])
                raise Unproved(f"'{name}' is {value} on an input, which the certificate omits")


def listed_mask(invariant: Invariant, name: str) -> np.ndarray[Any, Any]:
    """Which codes of a variable are listed; a head has one more, undefined, which always is."""
    variable = invariant.program.variables[name]
    mask = np.zeros(len(variable) + variable.is_head, bool)
    mask[invariant.codes(name)] = True
    if variable.is_head:
        mask[-1] = True
    return mask
