"""Programs as text: the source, and the canonical source that identifies a program.

Two programs are the same if they differ only in comments and in the names of variables. The
canonical source renames integers, Booleans and lists to a, b, ..., cond_a, cond_b, ... and lst_a,
lst_b, ... in the order in which they first occur in the text, and leaves comments out.
"""

from __future__ import annotations

import hashlib
import re

from weft.ptg.language import Program
from weft.ptg.lines import code, lines_of

HEAD = "def f("
NAME = re.compile(r"\b(cond_|lst_|)[a-z]\b")


def source_of(program: Program) -> str:
    r"""The source of a program: valid Python, which `parse` reads back.

    Example:
        >>> from weft.ptg.language import Assign, Program, Sum
        >>> source_of(Program(("a",), (Assign("b", Sum("a", "+", 1)),)))
        'def f(a):\n\tb = a + 1\n\treturn\n'
    """
    return "".join(
        f"{chr(9) * line.indent}{code(line, program.parameters)}\n" for line in lines_of(program)
    )


def canonical_source(source: str) -> str:
    r"""The source with variables renamed in order of occurrence and without comments.

    Args:
        source: the source of a valid program, as `source_of` gives it.

    Example:
        >>> canonical_source("def f(x,lst_q):\n\t##\n\ty = lst_q[0]\n\tx = y + 1\n\treturn\n")
        'def f(a,lst_a):\n\tb = lst_a[0]\n\ta = b + 1\n\treturn\n'
    """
    kept = [line for line in source.split("\n") if not line.lstrip("\t").startswith("#")]
    names: dict[str, str] = {}
    counts: dict[str, int] = {}

    def renamed(found: re.Match[str]) -> str:
        name, prefix = found[0], found[1]
        if name not in names:
            number = counts.get(prefix, 0)
            counts[prefix] = number + 1
            names[name] = f"{prefix}{chr(ord('a') + number)}"
        return names[name]

    return HEAD + NAME.sub(renamed, "\n".join(kept).removeprefix(HEAD))


def source_hash(source: str) -> str:
    """Sixteen hexadecimal digits of the SHA-256 of the canonical source.

    Programs that differ only in names of variables and in comments have the same hash.
    """
    return hashlib.sha256(canonical_source(source).encode()).hexdigest()[:16]
