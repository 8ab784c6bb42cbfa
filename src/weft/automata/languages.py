"""Named regular languages: the seventeen of the reference experiments, and others of the theory.

The flags `ape` and `nope` are those of Huang et al. (2025, figure on formal languages): whether the
language is in C-RASP[periodic, local], which predicts learned absolute positions, and in C-RASP[],
which predicts no positional encoding. They are the paper's, not computed here; None if the paper
does not have the language. See docs/references.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from weft.automata.dfa import DFA
from weft.automata.expressions import expression_dfa
from weft.errors import check_known


@dataclass(frozen=True)
class Language:
    """A regular language with a name.

    Attributes:
        name: by which `language` finds it.
        expression: a regular expression over `alphabet`, as `expression_dfa` reads it.
        alphabet: the letters; which words are *not* in the language depends on it.
        description: what its words are.
        notation: how papers write the language.
        ape: the paper's flag for learned absolute positions, or None.
        nope: the paper's flag for no positional encoding, or None.
    """

    name: str
    expression: str
    alphabet: str
    description: str
    notation: str
    ape: bool | None = None
    nope: bool | None = None

    @property
    def dfa(self) -> DFA:
        """The minimal automaton."""
        return _automaton(self.expression, self.alphabet)

    @property
    def in_table(self) -> bool:
        """Whether it is one of the seventeen languages of the paper's table."""
        return self.nope is not None


@cache
def _automaton(expression: str, alphabet: str) -> DFA:
    return expression_dfa(expression, alphabet)


def bounded_depth(depth: int) -> str:
    """The expression of D_n: D_0 is the empty word, D_n is (a D_(n-1) b)*.

    Example:
        >>> bounded_depth(2)
        '(a(ab)*b)*'
    """
    result = ""
    for _ in range(depth):
        result = f"(a{result}b)*"
    return result


def _paper(
    name: str,
    expression: str,
    alphabet: str,
    notation: str,
    description: str,
    *,
    ape: bool,
    nope: bool,
) -> Language:
    return Language(name, expression, alphabet, description, notation, ape, nope)


def _dyck(depth: int) -> Language:
    return _paper(
        f"d-{depth}",
        bounded_depth(depth),
        "ab",
        f"D_{depth}",
        f"brackets a b, nested at most {depth} deep",
        ape=True,
        nope=True,
    )


TABLE: tuple[Language, ...] = (
    _paper("tomita-1", "1*", "01", "1*", "only 1s", ape=True, nope=True),
    _paper("tomita-2", "(10)*", "01", "(10)*", "10 repeated", ape=True, nope=True),
    _paper(
        "tomita-4", "(1|01|001)*0?0?", "01", "Tomita-4", "no 000", ape=True, nope=False
    ),
    _paper(
        "tomita-7", "0*1*0*1*", "01", "0*1*0*1*", "at most four blocks, 0s first",
        ape=True, nope=True,
    ),
    _dyck(2),
    _dyck(3),
    _dyck(4),
    _dyck(12),
    _paper(
        "sorted-blocks", "aa*bb*cc*dd*ee*", "abcde", "aa*bb*cc*dd*ee*",
        "five blocks in alphabetical order", ape=True, nope=True,
    ),
    _paper(
        "ab-d-bc", "[ab]*d[bc]*", "abcd", "{a,b}*d{b,c}*",
        "one d, no c before it and no a after it", ape=True, nope=True,
    ),
    _paper(
        "012-02", "[012]*02*", "012", "{0,1,2}*02*",
        "the last symbol other than 2 is 0 (flip-flop)", ape=False, nope=False,
    ),
    _paper("aa-star", "(aa)*", "a", "(aa)*", "even length", ape=True, nope=False),
    _paper("aaaa-star", "(aaaa)*", "a", "(aaaa)*", "length divisible by 4", ape=True, nope=False),
    _paper("abab", "(abab)*", "ab", "(abab)*", "abab repeated", ape=True, nope=False),
    _paper(
        "tomita-3", "(0|1(00(00)*1)*1)*(1(00(00)*1)*(00)*)?", "01", "Tomita-3",
        "no odd block of 0s right after an odd block of 1s", ape=False, nope=False,
    ),
    _paper(
        "tomita-5", "(00|11|(01|10)(00|11)*(01|10))*", "01", "Tomita-5",
        "evenly many 0s and evenly many 1s", ape=False, nope=False,
    ),
    _paper(
        "tomita-6", "(0(01)*(1|00)|1(10)*(0|11))*", "01", "Tomita-6",
        "the number of 0s less that of 1s is divisible by 3", ape=False, nope=False,
    ),
)  # fmt: skip
"""The seventeen languages of the paper's table, in its order."""

OTHERS: tuple[Language, ...] = (
    Language("parity", "0*(10*10*)*", "01", "evenly many 1s", "PARITY"),
    Language("ends-in-b", "[ab]*b", "ab", "the last symbol is b", "Σ*b"),
    Language("ends-in-ab", "[ab]*ab", "ab", "the last two symbols are ab", "Σ*ab"),
    Language("ends-in-ab-ternary", "[abc]*ab", "abc", "the same, of three letters", "Σ*ab"),
    Language("last-b-binary", "[be]*be*", "be", "there is a b", "Σ*be*, Σ = {b, e}"),
    Language("last-b", "[abe]*be*", "abe", "the last symbol other than e is b", "Σ*be*"),
    Language("contains-ab-binary", "[ab]*ab[ab]*", "ab", "an ab somewhere, of two letters",
             "Σ*abΣ*, Σ = {a, b}"),
    Language("contains-ab", "[abc]*ab[abc]*", "abc", "an ab somewhere, of three letters",
             "Σ*abΣ*"),
    Language("ab-or-aabb", "(ab|aabb)*", "ab", "ab and aabb, in any order", "(ab + aabb)*"),
    Language("ab-or-bbaa", "(ab|bbaa)*", "ab", "ab and bbaa, in any order", "(ab + bbaa)*"),
    Language("ab-or-bba", "(ab|bba)*", "ab", "ab and bba, in any order", "(ab + bba)*"),
    Language("b-or-abc", "(b|abc)*", "abc", "b and abc, in any order", "(b + abc)*"),
    Language("bcab-or-cbac", "(bcab|cbac)*", "abc", "bcab and cbac, in any order",
             "(bcab + cbac)*"),
    Language("b-or-aa", "(b|aa)*", "ab", "the a come in blocks of even length", "(b + aa)*"),
    Language("first-a", "a[ab]*", "ab", "the first symbol is a", "aΣ*"),
    Language("d-1", "(ab)*", "ab", "brackets a b, not nested", "D_1"),
)  # fmt: skip
"""Languages that the theory speaks of, outside the paper's table."""

LANGUAGES: dict[str, Language] = {each.name: each for each in (*TABLE, *OTHERS)}
"""All named languages."""


def language(name: str) -> Language:
    """The language of a name, or a `WeftError` that suggests a similar name.

    Example:
        >>> language("tomita-4").dfa.accepts("0010")
        True
    """
    check_known(name, LANGUAGES, f"there is no language {name!r}")
    return LANGUAGES[name]
