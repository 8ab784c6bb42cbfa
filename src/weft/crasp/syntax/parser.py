"""Reading C-RASP programs from text: `parse` for a text, `read` for a file.

lark parses the text by `grammar.lark`; `_Reader` turns the tree into a `CraspProgram`. It resolves
declared predicates and checks indices: the index is `i` outside all counts, and `#[j <= i]` binds
`j`, at which everything inside is read. Every mistake is a `WeftError` with its place in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from weft.crasp.expressions import (
    Add,
    And,
    Comparison,
    Conditional,
    Constant,
    Counting,
    Exists,
    Expression,
    Integer,
    Local,
    Maximum,
    Minimum,
    Name,
    Not,
    Operator,
    Or,
    Periodic,
    Position,
    Previous,
    Subtract,
    Symbol,
)
from weft.crasp.program import (
    MAX_DIGITS,
    MAX_NESTING,
    NEXT,
    CraspProgram,
    ExpressionError,
    Line,
    why_not_a_name,
)
from weft.crasp.syntax.diagnostics import syntax_error
from weft.crasp.syntax.text import symbol_text
from weft.errors import Source, WeftError, did_you_mean
from weft.files import read_text

if TYPE_CHECKING:
    from lark import Lark, Token

GRAMMAR = Path(__file__).with_name("grammar.lark")
MAX_RANGE = 1000
"""The largest offset of `j >= i - d`, which stands for all offsets up to d."""


class Node(Protocol):
    """A tree of lark's, named after the grammar's alias; its children are trees and tokens."""

    data: str
    children: list[Any]
    meta: Any

    def scan_values(self, pred: Callable[[Token], bool]) -> Iterator[Token]:
        """The tokens in it that satisfy a condition."""
        ...


def parse(text: str, file: str = "") -> CraspProgram:
    """The program that a text describes.

    Args:
        text: the program; see docs/crasp.md for the language.
        file: where it comes from, for error messages.

    Raises:
        WeftError: with line, column, an excerpt and a suggestion, if the text is not a program.

    Example:
        >>> from weft.crasp import parse, run
        >>> majority = parse('''
        ...     alphabet 0 1
        ...     accept := # Q_0 < # Q_1
        ... ''')
        >>> run(majority, "0110").accepted, run(majority, "0111").accepted
        (False, True)
    """
    from lark import UnexpectedInput

    source = Source(text, file)
    try:
        tree: Any = read_grammar().parse(text)
    except UnexpectedInput as error:
        raise syntax_error(source, error) from None
    return _Reader(source).program(tree)


def read(path: str | Path) -> CraspProgram:
    """The program in a file; it is called like the file unless it says its name itself."""
    path = Path(path)
    text = read_text(path, "Give a .crasp file").removeprefix("\ufeff").replace("\r\n", "\n")
    program = parse(text, str(path))
    if program.name:
        return program
    return CraspProgram(program.alphabet, program.lines, path.stem, program.about)


@cache
def read_grammar() -> Lark:
    """The parser of the grammar; it is made once."""
    from lark import Lark

    return Lark(
        GRAMMAR.read_text(encoding="utf-8"),
        parser="lalr",
        propagate_positions=True,
        postlex=_Statements(),
    )


class _Statements:
    """Ends statements at new lines, except inside brackets."""

    always_accept = ("_BREAK", "_NEWLINE")

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """The tokens, of which new lines only end statements.

        `_BREAK` is a new line before what looks like a statement: it ends the one before even if a
        bracket has been forgotten, so that the error is reported there.
        """
        from lark import Token

        depth = 0
        for token in stream:
            if token.type in ("LPAR", "LSQB", "LBRACE"):
                depth += 1
            elif token.type in ("RPAR", "RSQB", "RBRACE"):
                depth -= 1
            elif token.type == "_BREAK":
                depth = 0
                token = Token.new_borrow_pos("_NEWLINE", token.value, token)
            if token.type != "_NEWLINE" or depth <= 0:
                yield token


@dataclass(frozen=True)
class _Scope:
    """The indices that are bound where an expression stands, the innermost last.

    The index of a count in short form, `# P`, has no name and is None.
    """

    indices: tuple[str | None, ...] = ("i",)
    nesting: int = 0

    @property
    def index(self) -> str | None:
        return self.indices[-1]

    @property
    def deeper(self) -> _Scope:
        return _Scope(self.indices, self.nesting + 1)


class _Reader:
    """Turns the tree of one text into a program."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.places: dict[int, tuple[Expression, int, int]] = {}  # by id; holds on to the value
        self.predicates: dict[str, Periodic | Local] = {}
        self.later: set[str] = set()  # predicates that are declared further down

    def program(self, tree: Node) -> CraspProgram:
        """The program of a tree."""
        statements = [node for node in tree.children if not isinstance(node, str)]
        declarations = [node for node in statements if node.data in ("periodic", "local")]
        self.later = {str(node.children[0]) for node in declarations}
        title = ""
        alphabet: Node | None = None
        lines: dict[str, Line] = {}
        for node in statements:
            if node.data == "title":
                if title:
                    raise self.error("the program is named twice", node, "Leave one out")
                title = _unquoted(_token(node))
            elif node.data == "alphabet":
                if alphabet is not None:
                    raise self.error("the alphabet is given twice", node, "Give all symbols once")
                alphabet = node
            elif node.data in ("periodic", "local"):
                self.declare(node, lines)
            else:
                name, expression = self.definition(node, lines)
                lines[name] = Line(name, expression)
        if alphabet is None:
            raise self.no_alphabet(statements)
        symbols = self.symbols(alphabet)
        self.check_next(statements, symbols)
        try:
            return CraspProgram(
                symbols, tuple(lines.values()), title, _leading_comment(self.source.text)
            )
        except ExpressionError as error:
            raise self.placed(error, statements, symbols) from None
        except WeftError as error:
            raise self.error(error.what, statements[-1], error.remedy) from None

    # Statements

    def symbols(self, node: Node) -> tuple[str, ...]:
        """The symbols of the alphabet."""
        symbols: dict[str, None] = {}
        for token in node.children:
            symbol = _unquoted(token)
            if symbol in symbols:
                raise self.error(f"the symbol {token} is given twice", token, "Give it once")
            if symbol.split() != [symbol]:
                raise self.error(
                    "a symbol cannot be empty or have white space", token, "Give another symbol"
                )
            symbols[symbol] = None
        return tuple(symbols)

    def no_alphabet(self, statements: list[Node]) -> WeftError:
        """The error for a text without an alphabet, which proposes one."""
        used = dict.fromkeys(
            symbol_text(_unquoted(token))
            for node in statements
            for token in node.scan_values(lambda value: value.type == "SYMBOL")
        )
        return self.source.error(
            "the alphabet is missing",
            0,
            1,
            f"Begin with the line: alphabet {' '.join(used) or 'a b'}",
        )

    def check_next(self, statements: list[Node], symbols: tuple[str, ...]) -> None:
        """Check that `NEXT_a` names symbols of the alphabet."""
        for node in statements:
            if node.data == "definition" and _token(node).type == "NEXT":
                symbol = _unquoted(_token(node))
                if symbol not in symbols:
                    remedy = _capitalised(did_you_mean(symbol, list(symbols)))
                    raise self.error(f"'{symbol}' is not in the alphabet", _token(node), remedy)

    def declare(self, node: Node, lines: dict[str, Line]) -> None:
        """Enter a declared predicate."""
        token, value = node.children
        name = str(token)
        if name in self.predicates or name in lines:
            raise self.error(f"'{name}' is defined twice", token, "Use another name")
        if reason := why_not_a_name(name):
            raise self.error(
                f"'{name}' cannot be the name of a predicate: {reason}", token, "Use another name"
            )
        self.later.discard(name)
        if node.data == "periodic":
            if value.data != "mod" or len(value.children) > 2:
                raise self.error(
                    "this is not a periodic predicate",
                    value,
                    f"Write periodic {name} := MOD(2, 1), or MOD(4, {{0, 1}})",
                )
            self.predicates[name] = self.mod(value, name)
        else:
            if value.data != "set":
                raise self.error(
                    "this is not a local predicate",
                    value,
                    f"Give the offsets i - j: local {name} := {{0, 1, 2}}",
                )
            self.predicates[name] = Local(self.numbers(value), name)

    def definition(self, node: Node, lines: dict[str, Line]) -> tuple[str, Expression]:
        """The name and the expression of a line."""
        token, value = node.children
        name = _line_name(token)
        if name in lines:
            raise self.error(f"'{name}' is defined twice", token, "Use another name")
        if name in self.predicates or name in self.later:
            raise self.error(f"'{name}' is the name of a predicate", token, "Use another name")
        if token.type == "NAME" and (reason := why_not_a_name(name)):
            raise self.error(
                f"'{name}' cannot be the name of a line: {reason}", token, "Use another name"
            )
        return name, self.expression(value, _Scope())

    # Expressions

    def expression(self, node: Node, scope: _Scope) -> Expression:
        """The expression of a tree, and a note of its place."""
        if scope.nesting > MAX_NESTING:
            raise self.error(
                f"this is nested more than {MAX_NESTING} deep", node, "Give its parts names"
            )
        result = self.converted(node, scope.deeper)
        self.places[id(result)] = (result, *_span(node))
        return result

    def converted(self, node: Node, scope: _Scope) -> Expression:
        """The expression of a tree."""
        kind = node.data
        if kind in ("symbol", "name", "mod"):
            return self.atom(node, kind, scope)
        if kind in ("counting", "exists"):
            *guards, body = node.children
            local, inner = self.guard(guards[0] if guards else None, scope)
            inside = self.expression(body, inner)
            return Counting(inside, local) if kind == "counting" else Exists(inside, local)
        if kind == "integer":
            return Integer(self.number(_token(node)))
        if kind in ("true", "false"):
            return Constant(kind == "true")
        parts = [child for child in node.children if not isinstance(child, str)]
        values = tuple(self.expression(part, scope) for part in parts)
        if kind == "comparison":
            return Comparison(_operator(node.children[1]), *values)
        if kind == "minus":
            inside = values[0]
            if isinstance(inside, Integer):
                return Integer(-inside.value)
            return Subtract(Integer(0), inside)
        if kind in ("min", "max"):
            if len(values) < 2:
                raise self.error(f"{kind} takes at least two counts", node, f"Write {kind}(C, D)")
            return Minimum(values) if kind == "min" else Maximum(values)
        if kind in ("and", "or"):
            return And(values) if kind == "and" else Or(values)
        return cast(Expression, SIMPLE[kind](*values))

    def atom(self, node: Node, kind: str, scope: _Scope) -> Expression:
        """A symbol, the name of a line or of a predicate, or `MOD(m, r)`, with its index if any."""
        last = node.children[-1]
        indices = last if not isinstance(last, str) and last.data == "at" else None
        token = node.children[0]
        if kind == "name" and str(token) in self.predicates | dict.fromkeys(self.later):
            return self.predicate(node, indices, scope)
        written_like_mod = kind == "name" and str(token).lower() == "mod"
        if written_like_mod and indices is not None and len(indices.children) > 1:
            raise self.error("'MOD' is written in capitals", token, "Write MOD(2, 1)")
        if kind == "name" and str(token) == "Q_":
            raise self.error("Q_ is not followed by a symbol", token, "Write Q_a")
        if indices is not None:
            self.check_index(node, indices, scope)
        if kind == "mod":
            return Position(self.mod(node))
        return Symbol(_unquoted(token)) if kind == "symbol" else Name(_line_name(token))

    def predicate(self, node: Node, indices: Node | None, scope: _Scope) -> Expression:
        """A declared predicate, used as a Boolean."""
        name = str(node.children[0])
        if name in self.later:
            raise self.error(
                f"'{name}' is used before it is declared", node, "Move its declaration up"
            )
        predicate = self.predicates[name]
        if isinstance(predicate, Local):
            raise self.error(
                f"'{name}' is a local predicate, which relates two positions",
                node,
                f"Use it to count: #[j <= i, {name}(i, j)] P(j)",
            )
        if indices is not None:
            self.check_index(node, indices, scope)
        return Position(predicate)

    def mod(self, node: Node, name: str = "") -> Periodic:
        """The predicate of `MOD(period, residues)`."""
        first, second = node.children[:2]
        period = self.literal(first)
        if period < 1:
            raise self.error("a period is at least 1", first, "Write MOD(2, 1)")
        residues = self.numbers(second) if second.data == "set" else (self.literal(second),)
        for residue in residues:
            if residue >= period:
                raise self.error(
                    f"no position is {residue} modulo {period}",
                    second,
                    f"Use residues from 0 to {period - 1}",
                )
        return Periodic(period, residues, name)

    def literal(self, node: Node) -> int:
        """The number that must be written out here."""
        if node.data != "integer":
            raise self.error(
                "this is not a number", node, "Write MOD(period, residue), as in MOD(3, 1)"
            )
        return self.number(_token(node))

    def number(self, token: Token) -> int:
        """The number of a token."""
        if len(token) > MAX_DIGITS:
            raise self.error(f"the number has more than {MAX_DIGITS} digits", token)
        return int(token)

    def numbers(self, node: Node) -> tuple[int, ...]:
        """The numbers of a set, in ascending order."""
        return tuple(sorted({self.number(token) for token in node.children}))

    # Indices

    def check_index(self, node: Node, indices: Node, scope: _Scope) -> None:
        """Check that a vector is read at the current index."""
        given = [_index_name(child) for child in indices.children]
        if len(given) != 1:
            raise self.error("a vector has one index", indices, "Leave out the others")
        if given[0] is None:
            raise self.error(
                "an index cannot be computed", indices, "Write previous P for P(i - 1)"
            )
        if scope.index is None:
            raise self.error(
                "the count around this names no index",
                indices,
                f"Leave out ({given[0]}), or write #[j <= i] P(j)",
            )
        if given[0] != scope.index:
            outer = given[0] in scope.indices
            raise self.error(
                f"the index here is {scope.index}, not {given[0]}",
                indices,
                f"Inside a count over {scope.index}, everything is read at {scope.index}"
                if outer
                else f"Write ({scope.index})",
            )

    def guard(self, node: Node | None, scope: _Scope) -> tuple[Local | None, _Scope]:
        """What the square brackets of a count say: the positions that it counts, and the index."""
        if node is None:
            return None, _Scope((*scope.indices, None), scope.nesting)
        first, *others = node.children
        inner, i = self.bound(first, scope)
        if len(others) > 1:
            raise self.error("a count has one predicate at most", others[1], "Leave one out")
        local = self.local(others[0], inner, i) if others else None
        return local, _Scope((*scope.indices, inner), scope.nesting)

    def bound(self, node: Node, scope: _Scope) -> tuple[str, str]:
        """The two indices of `j <= i`."""
        i = scope.index
        fresh = "j" if i != "j" else "k"
        write = f"Begin with {fresh} <= {i or 'i'}, as in #[{fresh} <= {i or 'i'}] P({fresh})"
        names = [_index_name(child) for child in node.children if not isinstance(child, str)]
        if node.data != "comparison" or None in names:
            raise self.error("this does not bind an index", node, write)
        new, old = str(names[0]), str(names[1])
        operator = _operator(node.children[1])
        if operator == "<" and old == i:
            raise self.error(
                f"counts include the position {i} itself",
                node,
                f"To leave it out, write #[{new} <= {i}] previous P({new})",
            )
        if operator != "<=":
            raise self.error("this does not bind an index", node, write)
        if i is None:
            raise self.error(
                "the count around this names no index", node, "Write #[j <= i] there, too"
            )
        if old != i:
            raise self.error(f"the index here is {i}, not {old}", node.children[2], write)
        if new in scope.indices:
            raise self.error(f"the index {new} is taken", node.children[0], write)
        return new, old

    def local(self, node: Node, j: str, i: str) -> Local:
        """The local predicate of a condition between the indices j and i."""
        if node.data == "among":
            for token, index in zip(node.children, (j, i), strict=False):
                if str(token) != index:
                    raise self.error(f"the index here is {index}, not {token}", token)
            return Local(self.numbers(node.children[2]))
        if node.data == "name":
            return self.declared_local(node, j, i)
        if node.data == "comparison":
            left, operator, right = node.children
            offset = self.offset(right, i)
            if _index_name(left) == j and offset is not None:
                written = _operator(operator)
                if written == "==":
                    return Local((offset,))
                if written in (">=", ">") and offset > MAX_RANGE:
                    raise self.error(
                        "these are too many positions", node, f"Give at most {MAX_RANGE:,}"
                    )
                if written in (">=", ">"):
                    return Local(tuple(range(offset + (written == ">="))))
        if node.data in ("mod", "symbol"):
            raise self.error(
                f"a condition on {j} alone is part of what is counted",
                node,
                f"Write #[{j} <= {i}] (P({j}) and ...)",
            )
        raise self.error(
            "this predicate is neither periodic nor local",
            node,
            f"Write {j} == {i} - 1, {j} in {i} - {{0, 2}}, {j} >= {i} - 3 or a declared predicate",
        )

    def declared_local(self, node: Node, j: str, i: str) -> Local:
        """The predicate of a condition such as `near(i, j)`."""
        name = str(node.children[0])
        predicate = self.predicates.get(name)
        if isinstance(predicate, Periodic):
            raise self.error(
                f"'{name}' is periodic: a condition on {j} alone is part of what is counted",
                node,
                f"Write #[{j} <= {i}] (P({j}) and {name}({j}))",
            )
        if predicate is None:
            known = [key for key, value in self.predicates.items() if isinstance(value, Local)]
            near = f"; {did_you_mean(name, known)}" if known else ""
            raise self.error(
                f"'{name}' is used before it is declared"
                if name in self.later
                else f"'{name}' is not a declared predicate, so it is neither periodic nor local",
                node,
                f"Declare it before, as in local {name} := {{0, 1, 2}}{near}",
            )
        given = (
            [_index_name(child) for child in node.children[1].children] if node.children[1:] else []
        )
        if given != [i, j]:
            raise self.error(f"'{name}' relates {i} and {j}", node, f"Write {name}({i}, {j})")
        return predicate

    def offset(self, node: Node, i: str) -> int | None:
        """The offset d of `i - d`; None if it is something else."""
        if _index_name(node) == i:
            return 0
        if node.data == "subtract" and _index_name(node.children[0]) == i:
            if node.children[1].data == "integer":
                return self.number(_token(node.children[1]))
        return None

    # Errors

    def error(self, what: str, where: Node | Token, remedy: str = "") -> WeftError:
        """A mistake in a part of the text."""
        return self.source.error(what, *_span(where), remedy)

    def placed(
        self, error: ExpressionError, statements: list[Node], symbols: tuple[str, ...]
    ) -> WeftError:
        """A mistake that the program's own check has found, with its place in the text."""
        expression, start, end = self.places[id(error.expression)]
        what, remedy = error.what, error.remedy
        if isinstance(expression, Name):
            name = expression.name
            own = [node for node in statements if _span(node)[0] <= start < _span(node)[1]]
            if own and _line_name(_token(own[0])) == name:
                what = f"'{name}' is used in its own definition"
                remedy = "A line may use earlier lines only"
            elif "not defined" in what and name in symbols:
                remedy = f"Write Q_{symbol_text(name)} for the symbol"
        return self.source.error(what, start, end, remedy)


SIMPLE: dict[str, Any] = {
    "not": Not,
    "previous": Previous,
    "conditional": Conditional,
    "add": Add,
    "subtract": Subtract,
}


def _span(node: Node | Token) -> tuple[int, int]:
    """From which to which character a part of the text goes."""
    place: Any = node if isinstance(node, str) else node.meta
    return place.start_pos, place.end_pos


def _token(node: Node) -> Token:
    """The first token of a tree that begins with one."""
    return cast("Token", node.children[0])


def _operator(token: Any) -> Operator:
    return cast(Operator, "==" if token == "=" else str(token))  # the grammar has no others


def _index_name(node: Node) -> str | None:
    """The index that an expression is; None if it is anything else."""
    plain = node.data == "name" and len(node.children) == 1
    return str(node.children[0]) if plain else None


def _line_name(token: Token) -> str:
    """The name of a line; that of `NEXT_"("` is without quotes."""
    return f"{NEXT}{_unquoted(token)}" if token.type == "NEXT" else str(token)


def _unquoted(token: Token) -> str:
    """The symbol of `Q_a`, `NEXT_a`, `"a"` or `a`."""
    written = str(token)
    if token.type in ("SYMBOL", "NEXT"):
        written = written.partition("_")[2]
    if not written.startswith('"'):
        return written
    parts = written[1:-1].split("\\\\")
    return "\\".join(part.replace('\\"', '"').replace("\\n", "\n") for part in parts)


def _leading_comment(text: str) -> str:
    """The comment at the beginning of a text, which says what the program is about."""
    lines: list[str] = []
    for line in text.lstrip().split("\n"):
        stripped = line.lstrip()
        if not stripped.startswith("//"):
            break
        lines.append(stripped.removeprefix("//").removeprefix(" "))
    return "\n".join(lines)


def _capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
