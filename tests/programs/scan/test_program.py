"""SCAN's program: all commands in the interpreter, a spread of them in weights."""

from __future__ import annotations

import random
from typing import Any

import pytest

import weft
from weft.compiler.execution import input_numbers, run_model
from weft.compiler.proof import prove
from weft.programs.scan.grammar import WORDS, meanings
from weft.programs.scan.parser import COMMAND, GRAMMAR, OUTPUTS
from weft.programs.scan.program import MEMORY, NODES, Scan

LONGEST = "jump around left thrice after run around right thrice"


def spread(count: int) -> dict[str, str]:
    """Commands from all over the language, the longest among them, and their actions."""
    chosen = [*random.Random(count).sample(list(meanings()), count - 1), LONGEST]
    return {command: " ".join(meanings()[command]) for command in chosen}


def nodes(command: str) -> int:
    """How many nodes a command's tree has: one for each word or phrase that means something."""
    words = command.split()
    marks = ("opposite", "around", "and", "after")
    sides = sum(word in ("left", "right") for word in words)
    joined = any(word in ("and", "after") for word in words)
    return sum(word not in marks for word in words) + sides + joined


def visits(command: str) -> int:
    """How often a node is entered when the command is carried out."""
    for joint in (" and ", " after "):
        if joint in command:
            return 1 + sum(map(visits, command.split(joint)))
    *rest, last = command.split()
    if last in ("twice", "thrice"):
        return 1 + (2 if last == "twice" else 3) * visits(" ".join(rest))
    if last in ("left", "right"):
        return 1 + (8 if "around" in rest else 3 if "opposite" in rest else 2)
    return 1


def claimed_layers(command: str) -> int:
    """The formula of the docstring."""
    return 2 * (len(command.split()) + nodes(command) + visits(command)) + 5


@pytest.fixture(scope="module")
def program() -> Scan:
    return Scan()


@pytest.fixture(scope="module")
def compiled(program: Scan) -> weft.Compiled:
    return weft.compile(program)


def run_weights(compiled: weft.Compiled, commands: list[str]) -> tuple[list[str], list[int]]:
    numbers = input_numbers(compiled.program, map(compiled.program.encode, commands))
    run = run_model(compiled.model, numbers)
    return [" ".join(filter(None, (OUTPUTS[a] for a in row))) for row in run.outputs], run.layers


def test_commands_of_all_kinds(program: Scan) -> None:
    expected = spread(300)
    run = weft.run_batch(program, list(expected))
    assert run.results == list(expected.values())
    assert list(run.layers) == [claimed_layers(command) for command in expected]
    assert max(run.layers) == 155


@pytest.mark.slow
def test_every_command_within_512_layers(program: Scan) -> None:
    run = weft.run_batch(program, list(meanings()))
    assert run.results == [" ".join(actions) for actions in meanings().values()]
    assert list(run.layers) == [claimed_layers(command) for command in meanings()]
    assert (min(run.layers), max(run.layers)) == (11, 155)


def test_commands_of_all_kinds_in_weights(compiled: weft.Compiled) -> None:
    expected = spread(40)
    results, layers = run_weights(compiled, list(expected))
    assert results == list(expected.values())
    assert layers == [claimed_layers(command) for command in expected]


def test_a_few_commands_at_level_0(program: Scan) -> None:
    expected = spread(5)
    results, _ = run_weights(weft.compile(program, level=0), list(expected))
    assert results == list(expected.values())


@pytest.mark.parametrize("command", ["walk", "turn right", "turn opposite left after look"])
def test_both_interpreters_agree(program: Scan, command: str) -> None:
    one = weft.run(program, command)
    (other,) = weft.run_batch(program, [command])
    assert one == other
    assert one.result == " ".join(meanings()[command])


def test_the_model_is_small_and_names_no_positions(program: Scan, compiled: weft.Compiled) -> None:
    assert compiled.hidden_units <= 200
    assert compiled.max_length is None
    assert len(program.heads) == 16
    assert max(map(len, program.variables.values())) == 39
    assert all(variable.position is None for variable in program.variables.values())


def test_it_is_proved(compiled: weft.Compiled) -> None:
    assert prove(compiled.model, compiled.program, compiled.certificate).proved


def test_more_memory_changes_nothing_and_less_will_do(program: Scan) -> None:
    tokens = list(program.encode("run opposite right twice and turn around left"))
    inputs = [tokens[:-35], tokens, [*tokens, *["m"] * 20]]
    assert len(set(weft.run_batch(program, inputs).results)) == 1


def test_commands_stand_between_marks_before_the_memory(program: Scan) -> None:
    tokens = list(program.encode("  jump   twice "))
    assert tokens[:4] == ["s", "jump", "twice", "e"]
    assert tokens[4:] == [*NODES, *["m"] * (MEMORY - len(NODES))]
    assert max(map(len, meanings().values())) == MEMORY


@pytest.mark.parametrize("text", ["", "turn", "jump and", "hop", "jump twice thrice"])
def test_what_is_no_command_is_refused(text: str) -> None:
    with pytest.raises(weft.WeftError, match="of SCAN"):
        weft.run(Scan, text)


def test_samples_fit_where_they_can_and_differ(program: Scan) -> None:
    rng = random.Random(0)
    for length in (1, 15, 20, 40, 59, 200):
        drawn: list[list[Any]] = [list(program.sample(rng, length)) for _ in range(15)]
        assert all(len(tokens) <= max(15, length) for tokens in drawn)
        assert len({tuple(tokens) for tokens in drawn}) > 3
        run = weft.run_batch(program, drawn)
        assert run.results == [program.task(tokens) for tokens in drawn]


def test_longer_rules_keep_the_first_symbol_so_only_words_are_renamed() -> None:
    for rule in GRAMMAR[:-1]:
        assert rule.kind == rule.source[0] == COMMAND or rule.source[0] in WORDS
