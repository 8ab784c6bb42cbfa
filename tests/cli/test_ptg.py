from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import execute, imported
from weft.ptg.alignment import MAX_ALIGNED, align

SOURCE = """def f(a,lst_a):
	b = lst_a[1]
	cnt = 0
	cond_a = cnt != 2
	while cond_a:
		a = a - 1
		lst_a.append(a)
		cnt = cnt + 1
		cond_a = cnt != 2
	cond_b = a == b
	if cond_b:
		lst_a.pop()
	return
"""
TRACE = """L2,b:9
L3,cnt:0
L4,cond_a:True
L5,
L6,a:2
L7,lst_a:[0,9,2]
L8,cnt:1
L9,cond_a:True
L5,
L6,a:1
L7,lst_a:[0,9,2,1]
L8,cnt:2
L9,cond_a:False
L5,
L10,cond_b:False
L11,
L13,
"""
INPUT = ("--input", "a=3, lst_a=[0,9]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.py").write_text(SOURCE)
    (tmp_path / "right.txt").write_text(TRACE)
    return tmp_path


def ptg(folder: Path, *arguments: str, code: int = 0) -> str:
    done = execute(["ptg", *arguments], folder)
    assert done.code == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def test_the_trace(folder: Path) -> None:
    assert ptg(folder, "run", "p.py", *INPUT) == TRACE


def test_the_document_and_the_formats(folder: Path) -> None:
    text = ptg(folder, "run", "p.py", *INPUT, "--document", "--format", "step_index=true")
    rows = text.splitlines()
    assert rows[:2] == ["L1 def f(a,lst_a):", "L2 \tb = lst_a[1]"]
    assert rows[13:15] == ["f(a=3,lst_a=[0,9])", "1 L2,b:9"]
    answer = ptg(folder, "run", "p.py", *INPUT, "--format", "answer=true")
    assert answer.splitlines()[:3] == ["a:1", "lst_a:[0,9,2,1]", "b:9"]
    labels = ptg(folder, "run", "p.py", *INPUT, "--format", "first_label=50")
    assert labels.startswith("L51,b:9\nL52,cnt:0\n")


def test_a_run_as_json(folder: Path) -> None:
    values = json.loads(ptg(folder, "run", "p.py", *INPUT, "--json"))
    assert values["source"] == SOURCE
    assert values["inputs"] == {"a": 3, "lst_a": [0, 9]}
    assert values["steps"][5] == {"line": 7, "name": "lst_a", "value": [0, 9, 2]}
    assert values["final"]["lst_a"] == [0, 9, 2, 1]
    assert values["text"] == TRACE
    assert len(values["hash"]) == 16


def test_a_richer_language(folder: Path) -> None:
    (folder / "rich.py").write_text("def f(a):\n\tb = a * a\n\tb = b + 12\n\treturn\n")
    refused = ptg(folder, "run", "rich.py", "--input", "a=-5", code=2)
    assert refused == (
        "weft: multiplication is switched off (rich.py:2:6). "
        "Allow it with the option multiplication=true\n"
    )
    options = ["--language", "multiplication=true", "--language", "addend=12"]
    assert ptg(folder, "run", "rich.py", "--input", "a=-5", *options) == "L2,b:25\nL3,b:37\nL4,\n"


def test_show_marks_the_first_error(folder: Path) -> None:
    wrong = TRACE.replace("L8,cnt:2", "L8,cnt:3").replace("L9,cond_a:False\n", "")
    (folder / "wrong.txt").write_text(wrong)
    text = ptg(folder, "show", "p.py", *INPUT, "--trace", "wrong.txt")
    assert "program ed1aa933548e98f2, 13 lines, 17 steps" in text
    assert "f(a=3,lst_a=[0,9])" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["12", "cnt", "=", "cnt", "+", "1", "L8,cnt:2", "x", "L8,cnt:3"] in rows
    assert ["13", "cond_a", "=", "cnt", "!=", "2", "L9,cond_a:False", "~", "(missing)"] in rows
    assert ["17", "return", "L13,", "L13,"] in rows
    assert text.count(" x ") == 1
    assert text.splitlines()[-1] == (
        "first error: off by one at step 12, line 8 (counter step), column 8"
    )


def test_show_cuts_out_the_steps_around_the_error(folder: Path) -> None:
    (folder / "wrong.txt").write_text(TRACE.replace("L8,cnt:2", "L8,cnt:3"))
    text = ptg(folder, "show", "p.py", *INPUT, "--trace", "wrong.txt", "--around", "1")
    steps = [row.split()[0] for row in text.splitlines() if row[:4].strip().isdigit()]
    assert steps == ["11", "12", "13"]


def test_show_without_an_error_and_without_a_model(folder: Path) -> None:
    right = ptg(folder, "show", "p.py", *INPUT, "--trace", "right.txt")
    assert right.splitlines()[-1] == "the traces agree"
    alone = ptg(folder, "show", "p.py", *INPUT)
    assert "model" not in alone
    assert alone.splitlines()[-1].split() == ["17", "return", "L13,"]


def test_show_as_json(folder: Path) -> None:
    (folder / "short.txt").write_text(TRACE[:30])
    values = json.loads(ptg(folder, "show", "p.py", *INPUT, "--trace", "short.txt", "--json"))
    assert values["right"] is False
    assert values["written"] == TRACE[:30]
    assert values["first_error"]["category"] == "early end"
    assert json.loads(ptg(folder, "show", "p.py", *INPUT, "--json"))["right"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "none.py"], "none.py cannot be read: no such file or directory"),
        (["run", "p.py"], "the input has no a. Write a as an integer"),
        (["run", "p.py", "--input", "a=3"], "the input has no lst_a. Write lst_a=[0,9]"),
        (["run", "p.py", "--input", "a=3, lst_a=[0], b=1"], "the program has no parameter 'b'"),
        (["run", "p.py", "--input", "a=3, a=4"], "the input gives a twice"),
        (["run", "p.py", "--input", "a=3, lst_a=[0"], "the input cannot be read at 'lst_a=[0'"),
        (["run", "p.py", "--input", "a=3,, lst_a=[0]"],
         "the input cannot be read at ', lst_a=[0]'"),
        (["run", "p.py", "--input", "a=3, lst_a=[0],"], "the input cannot be read at ''"),
        (["run", "p.py", "--input", "a=03, lst_a=[]"], "the input gives '03' for a"),
        (["run", "p.py", "--input", "a=-0, lst_a=[]"], "the input gives '-0' for a"),
        (["run", "p.py", "--input", "a=\u0663, lst_a=[]"], "the input gives '\u0663' for a"),
        (["run", "p.py", "--input", "a=True, lst_a=[]"], "the input gives 'True' for a"),
        (["run", "p.py", "--input", "a=3, lst_a=[0]"],
         "index 1 is out of range: lst_a has 1 element (p.py:2:2)"),
        (["run", "p.py", *INPUT, "--limit", "steps=5"], "the program runs for more than 5 steps "
         "(p.py:7:3)"),
        (["run", "p.py", *INPUT, "--limit", "list_length=3"], "lst_a has 3 elements already "
         "(p.py:7:3)"),
        (["run", "p.py", *INPUT, "--limit", "value=2"], "value is 2. It must be at least 9"),
        (["run", "p.py", *INPUT, "--limit", "step=5"], "'step' is not known"),
        (["run", "p.py", *INPUT, "--language", "depth=10"], "depth is 10. It must be at most 9"),
        (["run", "p.py", *INPUT, "--language", "depth"], "'depth' is not of the form key=value"),
        (["run", "p.py", *INPUT, "--format", "upside_down=true"], "'upside_down' is not known"),
        (["run", "p.py", *INPUT, "--context", "100"], "the document has "),
        (["show"], "there is no program to show"),
        (["show", "p.py", *INPUT, "--trace", "odd.txt"], "odd.txt: "),
        (["show", "p.py", *INPUT, "--trace", "none.txt"], "none.txt cannot be read"),
        (["show", "p.py", *INPUT, "--trace", "right.txt", "--context", "100"], "the document has "),
        (["show", "p.py", *INPUT, "--trace", "right.txt", "--run", "3f"],
         "--trace and --run are given"),
        (["show", "p.py", *INPUT, "--run", "3f", "--format", "answer=true"],
         "--language and --format are given with --run"),
        (["show", "p.py", *INPUT, "--run", "3f"], "there is no folder runs"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "odd.txt").write_text("L2,b:9\nL3,\u00e9:0\n")
    printed = ptg(folder, *arguments, code=2)
    assert message in printed
    assert printed.startswith("weft: ")
    assert printed.count("\n") == 1


def test_comments_above_a_program_are_skipped_and_counted_in_errors(folder: Path) -> None:
    (folder / "p.py").write_text(f"# p.py\n\n#: countdown\n{SOURCE}")
    assert ptg(folder, "run", "p.py", *INPUT) == TRACE
    assert "(p.py:5:2)" in ptg(folder, "run", "p.py", "--input", "a=3, lst_a=[]", code=2)
    (folder / "p.py").write_text(f"# p.py\n{SOURCE}".replace("a - 1", "a - 2"))
    assert "(p.py:7:11)" in ptg(folder, "run", "p.py", *INPUT, code=2)
    (folder / "p.py").write_text("# nothing\n\n")
    assert "'def f(' is expected" in ptg(folder, "run", "p.py", *INPUT, code=2)


def test_a_loop_without_an_end_is_stopped(folder: Path) -> None:
    (folder / "forever.py").write_text(
        "def f(a):\n\tcond_a = a == a\n\twhile cond_a:\n\t\tcond_a = a == a\n\treturn\n"
    )
    options = ["--input", "a=1", "--language", "data_loops=true"]
    printed = ptg(folder, "run", "forever.py", *options, code=2)
    assert "the program runs for more than 10,000 steps (forever.py:" in printed


def test_a_trace_with_line_breaks_of_windows_is_the_same(folder: Path) -> None:
    (folder / "crlf.txt").write_bytes(TRACE.replace("\n", "\r\n").encode())
    assert "the traces agree" in ptg(folder, "show", "p.py", *INPUT, "--trace", "crlf.txt")


def test_running_a_program_needs_neither_torch_nor_numpy(folder: Path) -> None:
    heavy = {"torch", "numpy", "matplotlib"}
    run = imported("ptg", "run", str(folder / "p.py"), *INPUT)
    assert not heavy & run
    assert not heavy & imported("ptg", "show", str(folder / "p.py"), *INPUT)


TINY = ["steps=2", "batch=2", "evaluation.size=2", "evaluation.splits=train", "model.width=8"]
TINY += ["model.heads=2", "model.hidden=8", "model.layers=1"]
NANO = "parameters.tier=nano"


def test_the_model_of_a_run_writes_the_trace(folder: Path) -> None:
    arguments = [
        "train",
        "program-traces",
        NANO,
        *TINY,
        "--quiet",
        "--runs",
        "runs",
        "--device",
        "cpu",
    ]
    assert execute(arguments, folder).code == 0
    run = next(path.parent.name for path in folder.glob("runs/*/config.json"))
    show = ["show", "--run", run, "--split", "longer-lists", "--example", "2"]
    values = json.loads(ptg(folder, *show, "--json"))
    assert values["right"] is False  # it has hardly been trained
    assert values["first_error"]["expected"] in values["text"]
    (folder / "square.py").write_text("def f(a):\n\ta = a * a\n\treturn\n")
    refused = ptg(folder, "show", "square.py", "--input", "a=2", "--run", run, code=2)
    assert "multiplication is switched off (square.py:2:6)" in refused
    assert "no split 'nope'" in ptg(folder, "show", "--run", run, "--split", "nope", code=2)
    other = ["train", "parity", *TINY, "--quiet", "--runs", "runs", "--device", "cpu"]
    assert execute(other, folder).code == 0
    run = next(
        path.parent.name for path in folder.glob("runs/*/config.json") if run not in path.parts
    )
    assert "a run of the task 'parity'" in ptg(folder, "show", "--run", run, code=2)


def test_a_line_that_never_ends_is_shown_in_part(folder: Path) -> None:
    (folder / "long.txt").write_text("L2," * 1000)
    text = ptg(folder, "show", "p.py", *INPUT, "--trace", "long.txt")
    assert "..." in text
    assert text.count("L2,") < 150


# Alignment


def test_lines_are_paired_in_order_up_to_the_first_difference() -> None:
    rows = align("a\nb\nc\n", "a\nx\nc\n")
    assert [(r.step, r.expected, r.written, r.first) for r in rows] == [
        (1, "a", "a", False),
        (2, "b", "x", True),
        (3, "c", "c", False),
    ]


def test_a_superfluous_line_does_not_shift_the_others() -> None:
    rows = align("a\nb\nc\n", "a\nx\nb\nc\n")
    assert [(r.step, r.expected, r.written) for r in rows] == [
        (1, "a", "a"), (0, None, "x"), (2, "b", "b"), (3, "c", "c"),
    ]  # fmt: skip
    assert [row.first for row in rows] == [False, True, False, False]


def test_every_line_of_both_traces_is_shown_once_and_in_order() -> None:
    import random

    rng = random.Random(0)
    for _ in range(300):
        one = [rng.choice("abc") for _ in range(rng.randint(0, 8))]
        two = [rng.choice("abc") for _ in range(rng.randint(0, 8))]
        rows = align("".join(f"{x}\n" for x in one), "\n".join(two))
        assert [row.expected for row in rows if row.expected is not None] == one
        assert [row.written for row in rows if row.written is not None] == two
        assert sum(row.first for row in rows) == (one != two)
        if one != two:
            at = next(index for index, row in enumerate(rows) if row.first)
            assert all(row.same for row in rows[:at])
            assert not rows[at].same


def test_long_traces_are_aligned_soon() -> None:
    one = "".join(f"{number % 7}\n" for number in range(50 * MAX_ALIGNED))
    assert len(align("x\n" + one, "y\n" + one)) == 50 * MAX_ALIGNED + 1
