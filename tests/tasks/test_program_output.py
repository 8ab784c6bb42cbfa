"""Any program as a task, against the reference interpreter and what programs say of themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import weft
from weft.errors import WeftError
from weft.programs import LIBRARY
from weft.tasks import named, task
from weft.tasks.program_output import ProgramOutput

OWN = '''
import weft

class {name}(weft.Program):
    """The first token everywhere."""

    tokens = ["a", "b"]
    seen = weft.var(2, token=lambda t: "ab".index(t))
    first = weft.var(2, position=lambda i: i == 0)
    one = weft.var(2, token=lambda t: 1)
    head = weft.attend(one, first, seen)
    output = seen

    def step(z):
        z.seen = z.head

    layers = 1
'''


@pytest.mark.parametrize("name", LIBRARY)
def test_answers_are_what_the_program_puts_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one, by the reference interpreter; examples are the program's own inputs."""
    monkeypatch.setattr(ProgramOutput, "chunk", 32)
    made = task("program", program=name)
    assert isinstance(made, ProgramOutput)
    for split in made.splits:
        batch = made.test_set(split, 2)
        inputs = made.asked(batch)
        for place, (question, answer) in enumerate(made.examples(batch)):
            assert answer == made.reference(question)
            ran = weft.run(made.made, inputs[place])
            assert tuple(map(str, ran.tokens)) == question
            assert batch.axes["layers"][place] == ran.layers
            assert batch.axes["length"][place] == len(question)
            if made.made.has_task:
                assert ran.result == made.made.task(list(ran.tokens))


def test_lengths_follow_from_the_program() -> None:
    assert ProgramOutput(program="regex").lengths == (10, 20)
    absolute = "parity-absolute(positions=12)"
    assert ProgramOutput(program=absolute).lengths == (6, 12)
    assert ProgramOutput(program=absolute, length=8).lengths == (8, 12)
    far = task("program", program="regex", length=30)
    assert far.splits["longer"].axes == {"length": (31, 31)}
    with pytest.raises(WeftError, match="length is 9 and longer is 9"):
        task("program", length=9, longer=9)


def test_what_a_program_does_not_sample_is_said() -> None:
    with pytest.raises(WeftError, match="samples no inputs of 31 to 40 tokens"):
        task("program", program="sort-unique", length=30, longer=40).test_set("longer", 1)
    with pytest.raises(WeftError, match="no inputs of 1001 to 1002 tokens: "):
        task("program", program="anbn", length=1000, longer=1002).test_set("longer", 1)


def test_a_program_without_tokens_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "untold.py"
    path.write_text(OWN.format(name="Untold").replace('    tokens = ["a", "b"]\n', ""))
    with pytest.raises(WeftError, match="tokens are not declared"):
        task("program", program=f"{path}:Untold")


def test_a_program_in_a_file_is_told_from_its_next_version(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(OWN.format(name="Mine"))
    name, parameters = named(f"{path}:Mine")
    made = task(name, **parameters)
    assert parameters["program"] == f"{path}:Mine"
    assert made == task(name, **parameters)
    batch = made.batch("train", 0, 0, 50)
    asked = batch.targets >= 0
    first = np.broadcast_to(batch.tokens[:, :1] - 1, batch.targets.shape)
    assert (batch.targets[asked] == first[asked]).all()
    later = tmp_path / "later.py"
    later.write_text(OWN.format(name="Mine") + "# another version\n")
    with pytest.raises(WeftError, match="has changed since"):
        task(name, **{**parameters, "program": f"{later}:Mine"})


def test_programs_are_named_like_tasks() -> None:
    assert named("parity") == ("parity", {})
    assert named("regex(pattern='a*b')") == ("program", {"program": "regex(pattern='a*b')"})
    with pytest.raises(WeftError, match="no task or program 'regxe'"):
        named("regxe")


def test_few_short_inputs_are_all_trained_on() -> None:
    """Of three tokens there are at most 27 inputs: none of them is a test."""
    made = task("program", program="parity")
    tests = made.test_set("train", 400)
    assert tests.axes["length"].min() > 3
    drawn = [made.batch("train", 0, step, 500) for step in range(3)]
    short = {
        tuple(row[:length])
        for batch in drawn
        for row, length in zip(batch.tokens.tolist(), batch.lengths.tolist(), strict=True)
        if length == 3
    }
    assert len(short) == 4
