"""Users' own code: by file, by registration and by entry point; and what is said if it is wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import weft
from command_line import execute
from weft import extensions
from weft.errors import WeftError
from weft.extensions import registry
from weft.extensions.points import resolve
from weft.models import Transformer, TransformerConfig
from weft.models.catalogue import mechanism
from weft.tasks import named, task, task_class
from weft.training import RunStore, TrainingConfig, override, train
from weft.training.config import training_config

PROGRAM = '''
import weft

class Flip(weft.Program):
    """Each bit flipped."""

    tokens = [0, 1]
    bit = weft.var(2, token=lambda t: t)
    output = bit
    layers = 1

    def __init__(self, by=1):
        self.by = by

    def step(z):
        z.bit = 1 - z.bit
'''

TASK = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from weft.tasks import Split, Task
from weft.tasks.formats import Format, Pairs


@dataclass(frozen=True, kw_only=True)
class Doubling(Task):
    """Each letter twice."""

    name: ClassVar[str] = "doubling"
    formats: ClassVar[tuple[Format, ...]] = ("lm", "seq2seq")
    length: int = 5

    symbols = tuple("abcdefgh")

    @property
    def splits(self):
        low, high = self.length, 2 * self.length
        return {
            "train": Split(description=f"{low} letters", axes={"length": (low, low)}),
            "longer": Split(description=f"{high} letters", axes={"length": (high, high)}),
        }

    def draw(self, split, rng, size):
        length, _ = self.splits[split].axes["length"]
        letters = 4 + rng.integers(0, 8, (size, length))
        lengths = np.full(size, length)
        return Pairs(
            question=letters, question_lengths=lengths, answer=letters.repeat(2, axis=1),
            answer_lengths=2 * lengths, axes={"length": lengths},
        )

    def reference(self, tokens):
        return tuple(token for token in tokens for _ in range(2))
'''

POSITION = '''
"""A penalty of one per token of distance.

    s_ij - |i - j|
"""

import torch
from weft.models.bias import ScoreBias
from weft.models.positions import PositionalEncoding


class Steps(PositionalEncoding):
    def __init__(self, config):
        super().__init__(config)
        self.slope = torch.nn.Parameter(torch.ones(config.heads))

    def bias(self, context):
        return ScoreBias(slopes=self.slope)
'''

ATTENTION = '''
from weft.models.attentions import AttentionMechanism


class Squared(AttentionMechanism):
    """Scores squared, then normalised."""

    def weights(self, query, key, extra, bias, context):
        squares = self.scores(query, key, bias, context) ** 2
        visible = self.visible(context)
        if visible is not None:
            squares = squares.masked_fill(~visible, 0.0)
        return squares / squares.sum(-1, keepdim=True).clamp(min=1e-9)
'''

CALLBACK = """
from weft.training import Callback


class Quiet(Callback):
    def __init__(self, every=1):
        self.every = every
"""

EXECUTOR = """
from weft.training import Executor, train


class Here(Executor):
    def __call__(self, config, runs):
        return train(config, runs=runs, device="cpu")
"""

SOURCES = {
    "program": ("Flip", PROGRAM),
    "task": ("Doubling", TASK),
    "position": ("Steps", POSITION),
    "attention": ("Squared", ATTENTION),
    "callback": ("Quiet", CALLBACK),
    "executor": ("Here", EXECUTOR),
}


@pytest.fixture(autouse=True)
def _nothing_stays_behind() -> Iterator[None]:
    registered = dict(registry.REGISTERED)
    path, modules = list(sys.path), set(sys.modules)
    registry.entry_points.cache_clear()
    yield
    registry.REGISTERED.clear()
    registry.REGISTERED.update(registered)
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith(("weft_file_", "plugin_")):
            del sys.modules[name]
    registry.entry_points.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with one file for every kind."""
    for kind, (_, source) in SOURCES.items():
        (tmp_path / f"my_{kind}.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def install(folder: Path, package: str, source: str, entries: dict[str, dict[str, str]]) -> None:
    """A package on the path, as pip would leave it."""
    (folder / f"plugin_{package}.py").write_text(source)
    info = folder / f"{package}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    lines = []
    for group, names in entries.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in names.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    registry.entry_points.cache_clear()


# Three ways


@pytest.mark.parametrize("kind", SOURCES)
def test_a_class_is_found_in_a_file(folder: Path, kind: str) -> None:
    name, _ = SOURCES[kind]
    found = extensions.find(kind, f"my_{kind}.py:{name}")
    assert found.__name__ == name
    assert extensions.find(kind, f"my_{kind}.py") is found
    assert extensions.file_reference(found) == f"{folder}/my_{kind}.py:{name}"
    assert extensions.exists(kind, f"my_{kind}.py:{name}")


@pytest.mark.parametrize("kind", SOURCES)
def test_a_class_is_found_after_it_was_registered(folder: Path, kind: str) -> None:
    name, _ = SOURCES[kind]
    made = getattr(extensions.load_file(Path(f"my_{kind}.py")), name)
    assert extensions.register(kind, "mine", made) is made
    assert extensions.find(kind, "mine") is made
    assert extensions.register(kind, "mine")(made) is made  # a cell that is run again
    assert list(extensions.available(kind)) == ["mine"]
    extensions.unregister(kind, "mine")
    with pytest.raises(WeftError, match=r"there is no .* 'mine'"):
        extensions.find(kind, "mine")


@pytest.mark.parametrize("kind", SOURCES)
def test_a_class_is_found_by_its_entry_point(folder: Path, kind: str) -> None:
    name, source = SOURCES[kind]
    group = extensions.POINTS[kind].group
    install(folder, kind, source, {group: {"mine": f"plugin_{kind}:{name}"}})
    assert extensions.available(kind) == {"mine": f"package {kind} 1.2"}
    assert f"plugin_{kind}" not in sys.modules  # listing imports nothing
    assert extensions.find(kind, "mine").__name__ == name


@pytest.mark.parametrize(
    ("command", "kind"),
    [("list", "program"), ("tasks", "task"), ("models", "position"), ("models", "attention")],
)
def test_installed_names_are_listed_without_importing_them(
    folder: Path, command: str, kind: str
) -> None:
    group = extensions.POINTS[kind].group
    install(folder, kind, "raise RuntimeError", {group: {"mine": f"plugin_{kind}:Any"}})
    for options in ([], ["--json"]):
        listed = execute([command, *options])
        assert listed.code == 0, listed.stderr
        assert "mine" in listed.stdout
        assert f"package {kind} 1.2" in listed.stdout


def test_every_point_has_a_base_class_and_its_table() -> None:
    for point in extensions.POINTS.values():
        assert isinstance(point.base_class, type)
        assert not point.built_in or len(resolve(point.built_in)) > 5
        package, _, name = point.shown.rpartition(".")
        assert resolve(f"{package}:{name}") is point.base_class


def test_a_broken_package_is_named_and_breaks_nothing_else(folder: Path) -> None:
    entries = {"weft.tasks": {"works": "plugin_good:Doubling"}}
    install(folder, "good", TASK, entries)
    install(folder, "bad", "import nowhere", {"weft.tasks": {"fails": "plugin_bad:Doubling"}})
    with pytest.raises(WeftError) as caught:
        task("fails")
    assert "the installed package bad 1.2 cannot be loaded: ModuleNotFoundError" in str(
        caught.value
    )
    assert task("works").reference(("a",)) == ("a", "a")
    assert task("parity").name == "parity"
    with pytest.raises(WeftError, match="Did you mean 'works'"):
        task("work")


def test_two_packages_with_one_name_are_both_named(folder: Path) -> None:
    for package in ("one", "two"):
        entries = {"weft.tasks": {"same": f"plugin_{package}:Doubling"}}
        install(folder, package, TASK, entries)
    with pytest.raises(WeftError, match=r"several installed packages have a task 'same': \w+ 1.2"):
        task("same")


def test_a_file_is_imported_again_only_if_it_has_changed(folder: Path) -> None:
    first = task_class("my_task.py:Doubling")
    assert task_class("my_task.py:Doubling") is first
    Path("my_task.py").write_text(TASK.replace("Each letter", "Every letter"))
    assert (task_class("my_task.py:Doubling").__doc__ or "").startswith("Every")


def test_names_are_guarded(folder: Path) -> None:
    made = task_class("my_task.py:Doubling")
    with pytest.raises(WeftError, match="Weft has a task 'parity' of its own"):
        extensions.register("task", "parity", made)
    with pytest.raises(WeftError, match="cannot name a task"):
        extensions.register("task", "my task", made)
    with pytest.raises(WeftError, match="no extension point 'tsak'"):
        extensions.register("tsak", "mine", made)
    extensions.register("task", "mine", made)
    Path("other.py").write_text(TASK)
    with pytest.raises(WeftError, match=r"Doubling is registered as the task 'mine' already"):
        extensions.register("task", "mine", task_class("other.py:Doubling"))
    with pytest.raises(WeftError, match="a function, not a task"):
        extensions.register("task", "other", lambda: 0)


# Programs and tasks


def test_programs_take_arguments(folder: Path) -> None:
    assert weft.program("my_program.py:Flip(by=3)").by == 3  # type: ignore[attr-defined]
    extensions.register("program", "flip", type(weft.program("my_program.py")))
    assert weft.run(weft.program("flip(by=2)"), [0, 1]).outputs == (1, 0)
    assert named("flip")[1]["program"] == "flip"
    with pytest.raises(WeftError, match=r"Its parameters are \(by=1\)"):
        weft.program("flip(to=2)")


def test_a_name_may_be_a_task_or_a_program(folder: Path) -> None:
    assert named("my_task.py:Doubling") == ("my_task.py:Doubling", {})
    assert named("my_task.py") == ("my_task.py", {})
    assert named("my_task.py:Doubling(length=7)") == ("my_task.py:Doubling", {"length": 7})
    assert named("my_program.py:Flip")[0] == "program"
    extensions.register("task", "mine", task_class("my_task.py"))
    assert named("mine") == ("mine", {})
    with pytest.raises(WeftError, match=r"is a program, not a task\. To learn its output"):
        task("my_program.py:Flip")
    assert task("my_task.py:Doubling").called.endswith("my_task.py:Doubling")


def test_a_task_of_ones_own_is_trained_evaluated_and_resumed(folder: Path) -> None:
    small = ["steps=2", "batch=8", "evaluation.size=8", "model.layers=1"]
    done = execute(["train", "my_task.py:Doubling", *small, "parameters.length=3"])
    assert done.code == 0, done.stderr
    [run] = RunStore("runs").runs()
    assert run.config.task == "my_task.py:Doubling"
    assert (run.folder / "code" / "my_task.py").read_text() == TASK
    assert run.model().config.vocabulary == 12
    evaluated = execute(["eval", run.name[:6], "--by", "length"])
    assert evaluated.code == 0, evaluated.stderr
    assert "length 6" in evaluated.stdout
    shown = execute(["tasks", "my_task.py:Doubling", "length=3"])
    assert "Each letter twice." in shown.stdout

    config = run.config
    assert training_config(config.as_dict()).hash == config.hash == run.name
    Path("my_task.py").write_text(TASK + "# another version\n")
    assert (
        override(TrainingConfig(task=config.task), [*small, "parameters.length=3"]).hash != run.name
    )
    again = RunStore("runs").find(run.name)
    with pytest.raises(WeftError, match=r"my_task.py:Doubling has changed since this run"):
        again.model()
    assert execute(["eval", run.name[:6]]).code == 2
    Path("my_task.py").write_text(TASK)
    assert again.model().config.vocabulary == 12


def test_versions_are_recorded_for_what_users_wrote_alone(folder: Path) -> None:
    assert TrainingConfig(task="parity").code == ()
    config = TrainingConfig(task="my_task.py", model={"position": "my_position.py:Steps+rotary"})
    assert [name for name, _ in config.code] == ["my_position.py:Steps", "my_task.py"]
    other = override(config, ["model.position=rotary"])
    assert [name for name, _ in other.code] == ["my_task.py"]
    install(folder, "tasks", TASK, {"weft.tasks": {"mine": "plugin_tasks:Doubling"}})
    assert TrainingConfig(task="mine").code == (("mine", "tasks 1.2"),)
    stored = training_config(config.as_dict())
    Path("my_task.py").unlink()
    assert training_config(config.as_dict()).hash == stored.hash  # still readable


def test_a_registered_task_is_trained(folder: Path) -> None:
    extensions.register("task", "mine", task_class("my_task.py:Doubling"))
    config = override(TrainingConfig(task="mine"), ["steps=1", "batch=4", "evaluation.size=4"])
    assert train(config, runs=folder).status == "done"
    assert RunStore(folder).runs()[0].model().config.outputs == 12


def test_callbacks_and_executors_are_named_on_the_command_line(folder: Path) -> None:
    Path("my_callback.py").write_text(
        CALLBACK
        + "\n    def on_end(self, result):\n        print(f'{self.every}: {result.status}')\n"
    )
    small = ["steps=1", "batch=4", "evaluation.size=4"]
    done = execute(["train", "copy", *small, "--callback", "my_callback.py:Quiet(every=7)"])
    assert done.code == 0, done.stderr
    assert "7: done" in done.stdout
    values = 'steps = 1\nbatch = 4\n"evaluation.size" = 4\n'
    Path("grid.toml").write_text(f'task = "copy"\n[all]\n{values}[grid]\nseed = [1]\n')
    swept = execute(["sweep", "grid.toml", "--executor", "my_executor.py:Here"])
    assert swept.code == 0, swept.stderr
    assert len(RunStore("runs").query("seed=1")) == 1
    wrong = execute(["train", "copy", *small, "--callback", "my_task.py:Doubling"])
    assert wrong.code == 2
    assert "a class derived from Task, not a callback" in wrong.stderr


# Mechanisms


def config_with(**changes: str) -> TransformerConfig:
    return TransformerConfig(
        vocabulary=5, outputs=5, width=8, heads=2, hidden=(8,), kind="decoder", **changes
    )  # type: ignore[arg-type]


def test_a_position_biases_as_the_formula_says(folder: Path) -> None:
    torch.manual_seed(0)
    model = Transformer(config_with(position="my_position.py:Steps"))
    plain = Transformer(config_with(position="alibi"))
    assert "position.parts.Steps.slope" in model.state_dict()
    shared = {k: torch.randn_like(v) for k, v in plain.state_dict().items()}
    model.load_state_dict({**shared, "position.parts.Steps.slope": torch.tensor([2**-4, 2**-8])})
    plain.load_state_dict(shared)
    tokens = torch.tensor([[1, 2, 3, 4, 0, 1]])
    assert torch.allclose(model(tokens).logits, plain(tokens).logits, atol=1e-6)
    with pytest.raises(WeftError, match="several encodings"):
        Transformer(config_with(position="my_position.py:Steps+alibi"))(tokens)


def test_an_attention_weighs_as_it_says(folder: Path) -> None:
    torch.manual_seed(0)
    model = Transformer(config_with(attention="my_attention.py:Squared"))
    for weight in model.parameters():
        torch.nn.init.normal_(weight)
    seen: dict[str, torch.Tensor] = {}

    def keep(name: str, value: torch.Tensor) -> torch.Tensor:
        seen[name] = value
        return value

    model(torch.tensor([[1, 2, 3, 4]]), hook=keep)
    query, key, pattern = (
        next(value for name, value in seen.items() if name.endswith(hook))
        for hook in ("hook_q", "hook_k", "hook_pattern")
    )
    scores = torch.einsum("bhlk,bhmk->bhlm", query, key) / 2
    squares = (scores**2).tril()
    assert torch.allclose(pattern, squares / squares.sum(-1, keepdim=True), atol=1e-5)


@pytest.mark.parametrize("kind", ["position", "attention"])
def test_a_mechanism_is_shown_and_trained(folder: Path, kind: str) -> None:
    name = f"my_{kind}.py:{SOURCES[kind][0]}"
    assert mechanism(name).changes == {kind: name}
    shown = execute(["models", name])
    assert shown.code == 0, shown.stderr
    assert ("s_ij - |i - j|" if kind == "position" else "Scores squared") in shown.stdout
    config = TrainingConfig(task="copy", model={kind: name})
    config = override(config, ["steps=1", "batch=4", "evaluation.size=4"])
    assert train(config, runs=folder / "runs").status == "done"
    again = RunStore(folder / "runs").runs()[0].model()
    assert getattr(again.config, kind) == name


# Errors


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("task", ("class Doubling(Task)", "class Doubling"), "a plain class, not a task"),
        ("task", ("def draw", "def drawn"), "has no draw (my_task.py:"),
        ("task", ("def draw", "def drawn"), "Write def draw(self, split, rng, size)"),
        ("task", ("symbols =", "letters ="), "Write symbols = ..., or a property symbols"),
        ("task", ("split, rng, size", "split, size"), "draw(self, split, size) cannot be called"),
        ("task", ("    @property\n", ""), "splits is a method, not a property (my_task.py:20)"),
        ("task", ('name: ClassVar[str] = "doubling"', ""), 'Write name = "doubling" in the class'),
        ("task", ("formats: ClassVar", "forms: ClassVar"), 'Write formats = ("lm", "seq2seq")'),
        ("task", ("@dataclass(frozen=True, kw_only=True)\n", ""), "Write @dataclass(frozen=True"),
        ("task", ("Doubling(Task)", "Dubbling(Task)"), "did you mean 'Dubbling'"),
        (
            "task",
            (TASK, "x = 1"),
            "defines no task or program. Write a subclass of weft.tasks.Task",
        ),
        ("position", ("(self, config)", "(self)"), "cannot be made with (config)"),
        ("position", ("(self, config)", "(self)"), "Write def __init__(self, config)"),
        ("position", ("bias(self, context)", "bias(self)"), "Write def bias(self, context)"),
        ("attention", ("def weights", "def weight"), "has no weights"),
        ("attention", ("weights(self, query, key, ", "weights(self, "), "cannot be called with"),
        (
            "attention",
            (
                "import AttentionMechanism",
                "import AttentionMechanism\nfrom weft.models.attentions.softmax import Softmax",
            ),
            "",
        ),
        ("callback", ("every=1", "every"), "Give every parameter a default"),
        ("executor", ("__call__", "call"), "Write def __call__(self, config, runs)"),
        ("executor", ("(self, config, runs)", "(self, config)"), "be called with (config, runs)"),
    ],
)
def test_mistakes_are_answered_with_what_to_write(
    folder: Path, kind: str, change: tuple[str, str], said: str
) -> None:
    path = Path(f"my_{kind}.py")
    source = path.read_text().replace(*change)
    if not said:  # a fast path that would ignore the formula
        source = source.replace("class Squared(AttentionMechanism)", "class Squared(Softmax)")
        said = "changes weights, but Softmax.fast, which it inherits, does not use that"
    path.write_text(source)
    name = f"{path}:{SOURCES[kind][0]}"
    use = {"task": task, "callback": lambda name: extensions.make("callback", name)}
    use["executor"] = lambda name: extensions.make("executor", name)
    with pytest.raises(WeftError) as caught:
        use.get(kind, lambda name: config_with(**{kind: name}))(name)
    assert said in str(caught.value)


def test_a_name_that_nothing_has_is_refused(folder: Path) -> None:
    with pytest.raises(WeftError, match=r"there is no file missing\.py"):
        task("missing.py:Doubling")
    with pytest.raises(WeftError, match=r"position 'rotari' is not known\. Did you mean 'rotary'"):
        config_with(position="rotari")
    with pytest.raises(
        WeftError, match=r"attention 'softmx' is not known\. Did you mean 'softmax'"
    ):
        config_with(attention="softmx")
    with pytest.raises(WeftError, match="Doubling is a class derived from Task, not a positional"):
        config_with(position="my_task.py:Doubling")
    with pytest.raises(WeftError, match="does not name a task"):
        task("my_task.py:Doubling(3)")
