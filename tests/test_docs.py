"""The pages are correct: their Python runs, their commands print what is shown, their links work.

Python blocks of a page are executed from top to bottom in one namespace. A block whose first line
is `# name.py` is also written to a file, for the commands below it, as is a C-RASP program whose
first line is `// name.crasp`.
"""

from __future__ import annotations

import doctest
import linecache
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from command_line import execute
from weft.cli import COMMANDS
from weft.crasp import parse
from weft.errors import WeftError
from weft.extensions.registry import REGISTERED

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXTRAS = {"hugging-face.md": "transformers"}
"""By page, the package of an extra that its examples need."""
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|<img[^>]*\ssrc=\"([^\"]+)\"")
FILE_NAME = re.compile(r"(?:#|//) (\w+\.(?:py|crasp))\n")
OPTION = re.compile(r"^  (?:-\w, )?(--[a-z0-9-]+)", re.MULTILINE)


def label(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is the line of the page on which its text begins."""

    language: str
    text: str
    line: int

    @property
    def is_doctest(self) -> bool:
        return self.text.lstrip().startswith(">>>")


def blocks(page: Path, *languages: str) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start(2)) + 1)
        for found in FENCE.finditer(text)
        if found[1] in languages
    ]


def pages_with(language: str) -> list[Path]:
    return [
        page
        for page in PAGES
        if blocks(page, language) and (page.name not in EXTRAS or find_spec(EXTRAS[page.name]))
    ]


def module_of(page: Path) -> ModuleType:
    """A module for the page's code, whose source is the page with all else left blank."""
    lines = [""] * (page.read_text(encoding="utf-8").count("\n") + 1)
    for block in blocks(page, "python"):
        if not block.is_doctest:
            written = block.text.splitlines()
            lines[block.line - 1 : block.line - 1 + len(written)] = written
    linecache.cache[page.name] = (0, None, [f"{line}\n" for line in lines], page.name)
    module = ModuleType(f"page_{page.stem.replace('-', '_')}")
    module.__file__ = page.name
    return module


@pytest.fixture(autouse=True)
def _no_registration_stays_behind() -> Iterator[None]:
    """What one page registers is not listed on the next."""
    registered = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(registered)


@pytest.mark.parametrize("page", pages_with("python"), ids=label)
def test_python_blocks_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = module_of(page)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in blocks(page, "python"):
        if block.is_doctest:
            check_doctest(page, block, module)
        else:
            code = compile("\n" * (block.line - 1) + block.text, page.name, "exec")
            exec(code, vars(module))


def check_doctest(page: Path, block: Block, module: ModuleType) -> None:
    parsed = doctest.DocTestParser().get_doctest(
        block.text, vars(module), page.name, page.name, block.line - 1
    )
    parsed.globs = vars(module)  # the page's own namespace, not a copy of it
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    told: list[str] = []
    runner.run(parsed, out=told.append, clear_globs=False)
    assert runner.failures == 0, "".join(told)


@dataclass(frozen=True)
class Command:
    """A command of a console block, and the output that the page shows below it."""

    line: str
    shown: list[str]


def commands(block: Block) -> Iterator[Command]:
    """The `weft` commands of a console block; others, such as `make demo`, are only shown."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, *shown = part.splitlines()
        if line.startswith("weft "):
            yield Command(line, shown)


@pytest.mark.parametrize("page", pages_with("console"), ids=label)
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "python", "crasp", "console"):
        named = FILE_NAME.match(block.text)
        if named:
            (tmp_path / named[1]).write_text(block.text, encoding="utf-8")
        for command in commands(block) if block.language == "console" else ():
            check_command(command, tmp_path)


@pytest.mark.parametrize("page", pages_with("crasp"), ids=label)
def test_crasp_programs_parse(page: Path) -> None:
    for block in blocks(page, "crasp"):
        program = parse(block.text)
        assert parse(str(program)) == program


@pytest.mark.parametrize("page", pages_with("crasp"), ids=label)
def test_the_messages_about_mistakes_in_crasp_programs(page: Path) -> None:
    rows = re.findall(r"^\| `(x .*)` \| (.+) \((\d:\d+)\)\. (.+) \|$", prose(page), re.MULTILINE)
    assert rows
    for mistake, what, place, remedy in rows:
        with pytest.raises(WeftError) as caught:
            parse(f"alphabet a b\n{mistake}", "page")
        assert caught.value.line == f"{what} (page:{place}). {remedy}"


def check_command(command: Command, folder: Path) -> None:
    done = execute(shlex.split(command.line, comments=True)[1:], folder, joined=True)
    printed, shown = tidy(done.stdout.splitlines()), tidy(command.shown)
    assert matches(shown, printed), f"$ {command.line}\n" + "\n".join(printed)
    failures = ("they differ on", "no strict optimum")
    failed_check = any(line.startswith(failures) for line in printed)
    wrong = done.stdout.startswith("weft: ")
    assert done.code == (2 if wrong else 1 if failed_check else 0), command.line


def tidy(lines: list[str]) -> list[str]:
    """Without blanks at the ends of lines, and without empty lines at the end."""
    stripped = [line.rstrip() for line in lines]
    while stripped and not stripped[-1]:
        stripped.pop()
    return stripped


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether lines are as shown: a line of `...` stands for any lines, at an end for any rest."""
    if not shown:
        return not printed
    if shown[0].strip() == "...":
        rests = (printed[place:] for place in range(len(printed) + 1))
        return any(matches(shown[1:], rest) for rest in rests)
    return bool(printed) and same(shown[0], printed[0]) and matches(shown[1:], printed[1:])


def same(shown: str, printed: str) -> bool:
    begins = shown.endswith(" ...") and printed.startswith(shown.removesuffix("..."))
    return shown == printed or begins


def test_the_comparison_tells_right_from_wrong() -> None:
    assert matches(["a", "...", "d"], ["a", "b", "c", "d"])
    assert matches(["...", "d", "..."], ["d"])
    assert not matches(["a", "..."], ["b"])
    assert not matches(["a"], ["a", "b"])
    assert matches(["done (3 cells) ..."], ["done (3 cells) in 1 s"])
    assert not matches(["done ..."], ["gone in 1 s"])


def test_the_readme_is_one_screen() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 100


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The link targets that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for link in LINK.finditer(prose(page)):
        name, _, anchor = (link[1] or link[2]).partition("#")
        if "://" in name:
            continue
        target = page.parent / name if name else page
        assert target.exists(), link[0]
        assert not anchor or anchor in anchors(target), link[0]


def test_every_option_is_on_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    missing = [
        f"weft {command} {option}"
        for command in COMMANDS
        for option in OPTION.findall(execute([*command.split(), "--help"]).stdout)
        if not re.search(rf"{option}\b", pages)
    ]
    assert missing == []


def test_every_reference_has_bibtex() -> None:
    page = " ".join((ROOT / "docs" / "references.md").read_text(encoding="utf-8").split())
    bibliography = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
    keys = re.findall(r"^@\w+\{(\w+),$", bibliography, re.MULTILINE)
    titles = re.findall(r"^  title = \{\{(.+)\}\},$", bibliography, re.MULTILINE)
    preprints = re.findall(r"^  eprint = \{(.+)\},$", bibliography, re.MULTILINE)
    assert len(keys) == len(set(keys)) == len(titles) == page.count("### ")
    assert [title for title in titles if f"*{title}*" not in page] == []
    assert [number for number in preprints if f"[arXiv:{number}]" not in page] == []


def test_the_map_names_every_page() -> None:
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert pages == {name for name in pages if f"]({name})" in text}
