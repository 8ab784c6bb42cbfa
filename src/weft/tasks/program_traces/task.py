"""The task of program traces: given a program and its inputs, write the execution trace."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from weft.errors import WeftError
from weft.ptg.examples import AXES, Accepts, Example
from weft.ptg.inputs import read_inputs
from weft.ptg.interpreter import run
from weft.ptg.language import Inputs, Language
from weft.ptg.parser import parse
from weft.ptg.tokens import END, PAD, START, TRACE, Level, Tokeniser, symbols_of
from weft.ptg.tracing import TraceFormat, call_text, final_text, program_text, trace_text
from weft.tasks.arrays import Bools, Ints
from weft.tasks.batch import Batch
from weft.tasks.formats import Format, Pairs, continued
from weft.tasks.hashing import Hashes, in_bucket
from weft.tasks.program_traces.drawing import SplitSampler
from weft.tasks.program_traces.splits import (
    SAME_PROGRAM,
    TIERS,
    Plan,
    Tier,
    plans,
    symbols_written,
)
from weft.tasks.task import TESTING, TRAIN, TRAINING, VALIDATED, VALIDATING, Split, Task

PROGRAMS = 100
"""Number of programs of the test set of `same-program`."""
INPUTS = 50
"""Number of inputs of each of them."""
LEAST_HELD_OUT = 0.01
LARGEST_CONTEXT = 65_536
DRAWN = 4  # the random stream of `draw`, beside those of training, tests and validation
WORD = 2**53
PAD_TOKEN, START_TOKEN, END_TOKEN, TRACE_TOKEN = (bytes([t]) for t in (PAD, START, END, TRACE))
Row: TypeAlias = Sequence[int] | Ints
"""The tokens of a row of a batch, or of a part of it."""
NUMBER = re.compile(r"\b[0-9]+\b")
"""A number in a program or a call; the 2 of `cnt_2` is part of a name."""


@dataclass(frozen=True, kw_only=True)
class ProgramTraces(Task):
    """Given a program and its inputs, write its execution trace, line by line.

    A row is `<start>`, the program with line labels, the call, `<trace>`, the trace and `<end>`;
    the targets are the trace and `<end>`. Axes of an example: lines, steps, tokens, variables,
    integers, booleans, lists, list_length, loops and trips (`weft.ptg.examples.AXES`), and in
    `same-program` the numbers of the program and of its input.

    A program is identified by its canonical source (names in order of occurrence, no comments):
    training, validation and tests share no program, whatever the inputs.

    Attributes:
        tier: `small`, examples of up to 1,024 tokens, or `paper`, 4,096.
        context: the largest number of tokens of an example; 0 for that of the tier, twice as many
            with `step_index`, four times as many of `characters`.
        loss: what is trained on: the `trace`, or `all` tokens. Tests are always on the trace.
        answer: write the final state instead of the trace.
        step_index: start every line of the trace with its number.
        reversed_digits: write numbers with the least significant digit first.
        random_labels: label the first line with a random number, so that all labels that any split
            needs are trained.
        level: tokens are `symbols`, or single `characters`.
        depth: how deep blocks may be nested.
        else_blocks: `if` with `else`.
        data_loops: loops over program variables.
        addend: the largest number that is added or subtracted.
        literal: the largest number elsewhere in programs.
        multiplication: products.
        variable_index: elements of lists at a variable index.
        comments: comment lines, and the split `padded`.
    """

    name: ClassVar[str] = "program-traces"
    formats: ClassVar[tuple[Format, ...]] = ("lm",)
    mark: ClassVar[str] = "<trace>"
    slow: ClassVar[bool] = True
    tier: Tier = "small"
    context: int = 0
    loss: Literal["trace", "all"] = "trace"
    answer: bool = False
    step_index: bool = False
    reversed_digits: bool = False
    random_labels: bool = False
    level: Level = "symbols"
    depth: int = 1
    else_blocks: bool = False
    data_loops: bool = False
    addend: int = 1
    literal: int = 9
    multiplication: bool = False
    variable_index: bool = False
    comments: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not LEAST_HELD_OUT <= self.held_out <= 1 - LEAST_HELD_OUT:
            remedy = f"Give a share between {LEAST_HELD_OUT} and {1 - LEAST_HELD_OUT}"
            raise self.error(f"held_out is {self.held_out:g}", remedy)
        if not 0 <= self.context <= LARGEST_CONTEXT:
            remedy = f"Give a number of tokens up to {LARGEST_CONTEXT:,}, or 0 for that of the tier"
            raise self.error(f"context is {self.context:,}", remedy)
        if not self.context:
            factor = (4 if self.level == "characters" else 1) * (2 if self.step_index else 1)
            object.__setattr__(self, "context", factor * TIERS[self.tier].context)
        self._check_tokens()
        self._check_room()

    def _check_tokens(self) -> None:
        """Refuse splits with tokens that training never has."""
        trained = self.written(TRAIN)
        for split in self.plans:
            if untrained := self.written(split) - trained:
                what = f"the split '{split}' has tokens that training never has: "
                what += ", ".join(map(repr, sorted(untrained)))
                raise self.error(what, "Give a smaller depth")
        if unknown := trained - set(self.symbols):
            what = f"training has tokens without a number: {', '.join(map(repr, sorted(unknown)))}"
            raise self.error(what, "Report this as a bug of Weft")

    def _check_room(self) -> None:
        """Refuse a context that an example of some split does not fit."""
        for split in self.plans:
            try:
                self._sampler(split).draw((DRAWN, _code(split)), _any)
            except WeftError as error:
                what = f"the split '{split}' cannot be drawn: {error.what}"
                raise self.error(what, error.remedy) from None

    # What follows from the parameters

    @cached_property
    def language(self) -> Language:
        """The options of the language."""
        names = {entry.name for entry in fields(Language)} & {entry.name for entry in fields(self)}
        return Language(**{name: getattr(self, name) for name in names})

    @cached_property
    def form(self) -> TraceFormat:
        """How documents are written."""
        return TraceFormat(
            step_index=self.step_index, reversed_digits=self.reversed_digits, answer=self.answer
        )

    @cached_property
    def plans(self) -> Mapping[str, Plan]:
        """How the examples of each split are drawn."""
        return plans(self.tier, self.language)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        return symbols_of(self.language, step_index=self.step_index, level=self.level)

    @cached_property
    def tokeniser(self) -> Tokeniser:
        """Text to tokens and back."""
        return Tokeniser(self.symbols)

    def written(self, split: str) -> set[str]:
        """The tokens that examples of a split can have, without special ones."""
        sizes = self.plans[split].sizes
        symbols = symbols_written(sizes, self.language, step_index=self.step_index)
        return symbols if self.level == "symbols" else set("".join(symbols))

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        result = {}
        for name, plan in self.plans.items():
            sizes = plan.sizes
            axes = {"lines": sizes.lines, "steps": sizes.steps, "integers": sizes.integers}
            axes |= {"booleans": sizes.booleans, "lists": sizes.lists}
            axes |= {"list_length": sizes.list_length, "trips": (0, sizes.trips[1])}
            result[name] = Split(description=plan.description, axes=axes)
        return result

    # Drawing

    @cached_property
    def _samplers(self) -> dict[str, SplitSampler]:
        return {}

    def _sampler(self, split: str) -> SplitSampler:
        if split not in self._samplers:
            plan = self.plans[split]
            longest = max(other.sizes.lines[1] for other in self.plans.values())
            self._samplers[split] = SplitSampler(
                plan,
                self.language,
                self.form,
                self.level,
                self.context,
                largest_label=longest if self.random_labels else 0,
                matched=self._sampler(plan.matched) if plan.matched else None,
            )
        return self._samplers[split]

    def _trained(self, first: int, second: int) -> bool:
        """Whether a program with this digest is for training."""
        return not first >> 11 < self.held_out * WORD

    def _tested(self, first: int, second: int) -> bool:
        """Whether a program with this digest is for tests."""
        return first >> 11 < self.held_out * WORD and not second >> 11 < VALIDATED * WORD

    def _validated(self, first: int, second: int) -> bool:
        """Whether a program with this digest is for validation."""
        return first >> 11 < self.held_out * WORD and second >> 11 < VALIDATED * WORD

    def example(self, split: str, seed: int, step: int, index: int) -> Example:
        """A training example, by its number in the batch of a step."""
        key = (TRAINING, _code(split), seed, step, index)
        return self._sampler(split).draw(key, self._trained)

    def batch(self, split: str, seed: int, step: int, size: int) -> Batch:
        self.check_split(split)
        drawn = [self.example(split, seed, step, index) for index in range(size)]
        return self._rows(drawn, everything=self.loss == "all")

    def test_set(self, split: str, size: int) -> Batch:
        """Up to `size` examples of distinct programs that no batch has; a prefix of larger sets.

        `same-program` has 100 programs with 50 inputs each, so at most 5,000 examples. Its first
        100 examples are one of each program, and so on; the axes `program` and `input` tell.
        """
        self.check_split(split)
        if split == SAME_PROGRAM:
            return self._same_program_tests(size)
        return self._rows(self._distinct_examples(TESTING, split, size, self._tested))

    def validation_set(self, size: int) -> Batch:
        return self._rows(self._distinct_examples(VALIDATING, TRAIN, size, self._validated))

    def _distinct_examples(
        self, stream: int, split: str, size: int, accepts: Accepts
    ) -> list[Example]:
        """Examples of distinct programs."""
        found: dict[tuple[int, int], Example] = {}
        sampler, index = self._sampler(split), 0
        while len(found) < size:
            if index == self.rounds * (size + self.rounds):
                break
            example = sampler.draw((stream, _code(split), index), accepts)
            found.setdefault(example.digest, example)
            index += 1
        return list(found.values())

    @cached_property
    def _same_programs(self) -> list[list[Example]]:
        """The programs of the test set of `same-program`, each run on all of its inputs."""
        sampler, number = self._sampler(SAME_PROGRAM), _code(SAME_PROGRAM)
        programs: dict[tuple[int, int], list[Example]] = {}
        index = 0
        while len(programs) < PROGRAMS:
            found = sampler.draw_inputs((TESTING, number, index), self._tested, INPUTS)
            programs.setdefault(found[0].digest, found)
            index += 1
        return list(programs.values())

    def _same_program_tests(self, size: int) -> Batch:
        """Up to `size` examples: the first input of every program, then the second."""
        programs = self._same_programs
        drawn = [program[place] for place in range(INPUTS) for program in programs][:size]
        order = np.arange(len(drawn), dtype=np.int64)
        batch, extra = self._rows(drawn), {"program": order % PROGRAMS, "input": order // PROGRAMS}
        return replace(batch, axes={**batch.axes, **extra})

    def _rows(self, examples: Sequence[Example], *, everything: bool = False) -> Batch:
        """Examples as a batch of rows of `context` tokens."""
        width = self.context
        parts = [e.prompt + TRACE_TOKEN + e.trace + END_TOKEN for e in examples]
        written = b"".join([part.ljust(width + 1, PAD_TOKEN) for part in parts])
        rows = np.frombuffer(written, dtype=np.uint8).reshape(len(examples), width + 1)
        tokens, targets = rows[:, :-1].astype(np.int64), rows[:, 1:].astype(np.int64)
        axes = np.array([e.axes for e in examples], dtype=np.int64).reshape(-1, len(AXES)).T
        lengths = axes[AXES.index("tokens")] - 1
        prompts = np.array([len(e.prompt) for e in examples], dtype=np.int64)
        places = np.arange(width)
        tokens[places >= lengths[:, None]] = 0
        scored = places < lengths[:, None]
        if not everything:
            scored &= places >= prompts[:, None]
        targets[~scored] = -1
        return Batch(
            tokens=tokens,
            lengths=lengths.copy(),
            targets=targets,
            axes={name: values.copy() for name, values in zip(AXES, axes, strict=True)},
        )

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        number, key = _code(split), int(rng.integers(2**63))
        sampler = self._sampler(split)
        drawn = [sampler.draw((DRAWN, number, key, index), _any) for index in range(size)]
        digests = np.array([e.digest for e in drawn], dtype=np.uint64).reshape(-1, 2)
        axes = np.array([e.axes for e in drawn], dtype=np.int64).reshape(-1, len(AXES)).T
        question, question_lengths = self._padded([e.prompt for e in drawn])
        answer, answer_lengths = self._padded([e.trace for e in drawn])
        return Pairs(
            question=question,
            question_lengths=question_lengths,
            answer=answer,
            answer_lengths=answer_lengths,
            axes={name: values.copy() for name, values in zip(AXES, axes, strict=True)},
            content=digests.view(np.int64),
        )

    def _padded(self, texts: Sequence[bytes]) -> tuple[Ints, Ints]:
        """Token strings as rows of `context` tokens, and their lengths."""
        written = b"".join([text.ljust(self.context, PAD_TOKEN) for text in texts])
        rows = np.frombuffer(written, dtype=np.uint8).reshape(len(texts), self.context)
        return rows.astype(np.int64), np.array([len(text) for text in texts], dtype=np.int64)

    def lay_out(self, pairs: Pairs) -> Batch:
        """A batch in rows of `context` tokens; targets are the trace only."""
        batch, width = continued(pairs), self.context
        return Batch(
            tokens=batch.tokens[:, :width],
            lengths=batch.lengths,
            targets=batch.targets[:, :width],
            axes=batch.axes,
        )

    def is_held_out(self, pairs: Pairs) -> Bools:
        return in_bucket(_digests(pairs)[:, 0], self.held_out)

    def is_validated(self, pairs: Pairs) -> Bools:
        held = self.is_held_out(pairs)
        return np.asarray(held & in_bucket(_digests(pairs)[:, 1], VALIDATED))

    # Tokens and text

    def decode(self, tokens: Row) -> str:
        """The text of some tokens; special ones by their names."""
        return self.tokeniser.decode(int(token) for token in tokens)

    def encode(self, source: str, inputs: Inputs) -> list[int]:
        r"""The prompt for a program and its inputs: `<start>`, program, call and `<trace>`.

        Args:
            source: the source of the program, without line labels.
            inputs: its arguments.
        """
        program = parse(source, self.language)
        text = program_text(program, self.form) + call_text(program, inputs, self.form)
        return [START, *self.tokeniser.encode(text), TRACE]

    def program_of(self, tokens: Row) -> tuple[str, dict[str, Any]]:
        """The source, without labels, and the inputs of a row of tokens."""
        prompt, _ = self._parts(tokens)
        return self._read(self.decode(prompt))

    def trace_of(self, tokens: Row) -> str:
        """The text of the trace in a row of tokens; empty if it has none yet."""
        return self.decode(self._parts(tokens)[1])

    def first_label(self, tokens: Row) -> int:
        """The label of the first line of the program in a row of tokens."""
        prompt, _ = self._parts(tokens)
        return int(self.decode(prompt[:8])[1:].split(" ")[0])

    def _parts(self, tokens: Row) -> tuple[bytes, bytes]:
        """The tokens of the program and the call, and those of the trace, without special ones."""
        try:
            row = bytes(tokens.tolist() if isinstance(tokens, np.ndarray) else tokens)
        except (TypeError, ValueError):
            raise self.error("the row has something else than tokens", "Give numbers") from None
        prompt, _, trace = row.partition(END_TOKEN)[0].partition(TRACE_TOKEN)
        return prompt.lstrip(START_TOKEN).rstrip(PAD_TOKEN), trace.rstrip(PAD_TOKEN)

    def _read(self, text: str) -> tuple[str, dict[str, Any]]:
        """The source and the inputs of the text of a program with labels and a call."""
        *lines, call = text.rstrip("\n").split("\n")
        if not (lines and call.startswith("f(") and call.endswith(")")):
            remedy = "Give a row that begins with a program and a call"
            raise self.error("the tokens have no program with a call", remedy)
        source = "".join(f"{line.partition(' ')[2]}\n" for line in lines)
        call = call[2:-1]
        if self.reversed_digits:
            parts = (NUMBER.sub(lambda found: found[0][::-1], part) for part in (source, call))
            source, call = parts
        return source, read_inputs(call)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        text = "".join(token for token in tokens if token not in self.vocabulary[:4])
        source, inputs = self._read(text)
        program = parse(source, self.language)
        form = replace(self.form, first_label=int(text[1:].partition(" ")[0]))
        trace = run(program, inputs)
        written = final_text(trace.final, form) if self.answer else trace_text(trace, form)
        return tuple(self.vocabulary[token] for token in self.tokeniser.encode(written))

    def examples(self, batch: Batch) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Each program with its call, and its trace, as names of tokens, without special ones."""
        names = self.vocabulary
        for row in batch.tokens.tolist():
            prompt, trace = self._parts(row)
            yield tuple(map(names.__getitem__, prompt)), tuple(map(names.__getitem__, trace))


def _code(split: str) -> int:
    """A number for the name of a split, as part of a random seed."""
    return zlib.crc32(split.encode())


def _digests(pairs: Pairs) -> Hashes:
    """The digests of the programs (b 2)."""
    assert pairs.content is not None
    return pairs.content.view(np.uint64)


def _any(first: int, second: int) -> bool:
    """Every program, held out or not."""
    return True
