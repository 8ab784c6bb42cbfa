"""The parser: source text to a `Program`, with every mistake at its line, column and rule.

The language has one spelling for everything (`GRAMMAR`), so the parser reads line by line and
accepts nothing else: what it accepts is valid Python with the same meaning. Statements that an
option of `Language` switches off are refused with the name of the option.
"""

from __future__ import annotations

from weft.errors import WeftError, did_you_mean
from weft.ptg.language import (
    COUNTERS,
    GRAMMAR,
    KINDS,
    PAPER,
    Append,
    Assign,
    Comment,
    Compare,
    Comparison,
    CountedLoop,
    DataLoop,
    Expression,
    If,
    Item,
    Language,
    Length,
    Pop,
    Product,
    Program,
    Statement,
    Sum,
)
from weft.ptg.reader import Reader, quoted

MAX_SIZE = 1_000_000
"""Characters of a source, at most."""


def parse(text: str, language: Language = PAPER, file: str = "") -> Program:
    r"""Read the source of a program.

    The last line break may be missing, and line breaks may be CR LF.

    Args:
        text: the source.
        language: what the program may use.
        file: the file that the text comes from, for messages.

    Raises:
        WeftError: with the line, the column and the rule that the text violates.

    Example:
        >>> parse("def f(a):\n\ta = a + 1\n\treturn\n").body
        (Assign(target='a', expression=Sum(left='a', sign='+', right=1)),)
        >>> parse("def f(a):\n\ta = a + 2\n\treturn\n")
        Traceback (most recent call last):
            ...
        weft.errors.WeftError: 2 is more than may be added or subtracted, which is 1 (line 2, column 10). Allow it with the option addend=2
             2 |  a = a + 2
               |          ^
    """  # noqa: E501
    if len(text) > MAX_SIZE:
        raise WeftError(
            f"the source has {len(text):,} characters", remedy=f"Give at most {MAX_SIZE:,}"
        )
    rows = text.replace("\r\n", "\n").split("\n")
    while rows and not rows[-1]:
        rows.pop()
    return _Parser(rows, language, file).program()


class _Parser(Reader):
    """A recursive-descent parser; each method reads one rule of `GRAMMAR`."""

    def program(self) -> Program:
        parameters = self.parameters()
        body = self.block(1, 0, 0)
        if self.ended():
            self.fail(
                "the program does not end in return", "program", "End it with a tab and return"
            )
        self.begin()
        if self.indent() != 1:
            self.fail("the line is not indented as deep as the program", "program")
        self.expect("return", "program")
        self.end("program")
        if not self.ended():
            self.fail("the program goes on after its return", "program")
        for name, row, column in self.reads:
            if name not in self.bound:
                where = self.place(column, column + len(name), row)
                parameter = KINDS[name] == "list"
                raise WeftError(
                    f"{name} is {'not a parameter' if parameter else 'never assigned'}",
                    where=where,
                    remedy="Lists are parameters. Rule program: " + GRAMMAR["program"]
                    if parameter
                    else "Assign it, or make it a parameter",
                )
        return Program(parameters, body)

    def parameters(self) -> tuple[str, ...]:
        self.expect("def f(", "program")
        names: list[str] = []
        while not self.take("):"):
            if names:
                self.expect(",", "program")
            word = self.word()
            if KINDS.get(word, "counter") == "counter":
                known = [name for name, kind in KINDS.items() if kind != "counter"]
                near = did_you_mean(word, known) if word and word not in COUNTERS else ""
                near = near if near.startswith("did") else ""
                self.fail(
                    f"a parameter is expected, not {self.found()}",
                    "name",
                    near[:1].upper() + near[1:].rstrip("?") + "?" * bool(near),
                    end=self.column + len(word),
                )
            if word in names:
                self.fail(f"there are two parameters {word}", "program")
            names.append(word)
            self.bound.add(word)
            self.column += len(word)
        self.end("program")
        return tuple(names)

    def block(
        self, indent: int, depth: int, loops: int, counter: str = ""
    ) -> tuple[Statement, ...]:
        """The statements of a block: up to a line that is indented less, or steps `counter`."""
        result: list[Statement] = []
        while not self.ended():
            self.begin()
            if self.indent() < indent or (indent == 1 and self.starts("return")):
                break
            if self.indent() > indent:
                self.column = indent
                self.fail("the line is indented too deep", "block", end=self.indent())
            if counter and self.text[indent:].startswith(f"{counter} = {counter}"):
                break
            result.append(self.statement(indent, depth, loops))
        return tuple(result)

    def inner(
        self, indent: int, depth: int, loops: int, counter: str = ""
    ) -> tuple[Statement, ...]:
        """The block of the header on the line before."""
        if depth + 1 > self.language.depth:
            self.row -= 1
            self.refuse(
                f"blocks are nested {depth + 1} deep, and {self.language.depth} is allowed",
                f"depth={depth + 1}",
                self.indent(),
                len(self.text),
            )
        if self.ended() or self.indent() <= indent:
            self.column = self.indent()
            self.fail("an indented block is expected", "block")
        return self.block(indent + 1, depth + 1, loops, counter)

    def statement(self, indent: int, depth: int, loops: int) -> Statement:
        if self.take("#"):
            return self.comment()
        word = self.word()
        match KINDS.get(word):
            case "integer":
                return self.assignment()
            case "Boolean":
                return self.comparison(indent, depth, loops)
            case "list":
                return self.list_statement()
            case "counter":
                return self.counted_loop(indent, depth, loops)
        end = self.column + max(1, len(word))
        if word == "if":
            return self.conditional(indent, depth, loops)
        if word == "while":
            self.fail("the line before a loop must set its condition", "loop", end=end)
        if word == "else":
            self.fail("there is no if directly before this else", "if", end=end)
        if word == "return":
            self.fail("return is not the last line", "program", end=end)
        near = did_you_mean(word, [*KINDS, "if", "while", "else", "return"]) if word else ""
        remedy = near.capitalize().rstrip("?") + "?" if near.startswith("did") else ""
        self.fail(f"{self.found()} does not begin a statement", "statement", remedy, end=end)

    def comment(self) -> Comment:
        start = self.column - 1
        while self.take("#"):
            pass
        length = self.column - start
        if not self.language.comments:
            self.refuse("comments are switched off", "comments=true", start)
        self.end("comment")
        return Comment(length)

    def assignment(self) -> Assign:
        target = self.name("integer", "assignment", reads=False)
        self.expect(" = ", "assignment")
        expression = self.expression()
        self.end("expression")
        return Assign(target, expression)

    def expression(self) -> Expression:
        start = self.column
        if not self.word():
            return self.operand("expression")
        if self.take("len("):
            name = self.name("list", "expression")
            self.expect(")", "expression")
            return Length(name)
        if KINDS.get(self.word()) == "list":
            return self.item()
        left = self.name("integer", "expression")
        if self.take(" + ") or self.take(" - "):
            sign = self.text[self.column - 2]
            right = self.bounded("sum", "addend", "may be added or subtracted", least=1)
            return Sum(left, "+" if sign == "+" else "-", right)
        if self.take(" * "):
            factor = self.operand("product")
            if not self.language.multiplication:
                self.refuse("multiplication is switched off", "multiplication=true", start)
            return Product(left, factor)
        return left

    def item(self) -> Item:
        start = self.column
        name = self.name("list", "item")
        self.expect("[", "item")
        index = self.operand("item")
        self.expect("]", "item")
        if isinstance(index, str) and not self.language.variable_index:
            self.refuse("an index that is a variable is switched off", "variable_index=true", start)
        return Item(name, index)

    def list_statement(self) -> Append | Pop:
        name = self.name("list", "append")
        if self.take(".pop("):
            self.expect(")", "pop")
            self.end("pop")
            return Pop(name)
        if not self.take(".append("):
            self.fail(
                f"{quoted('.append(')} or {quoted('.pop()')} is expected, not {self.found()}",
                "append",
                "Lists can only be appended to and popped from",
            )
        operand = self.operand("append")
        self.expect(")", "append")
        self.end("append")
        return Append(name, operand)

    def comparison(self, indent: int, depth: int, loops: int) -> Compare | DataLoop:
        """A comparison; if a loop header follows, the loop."""
        statement = self.compare()
        if self.ended() or self.indent() != indent or not self.starts("while"):
            return statement
        self.begin()
        if not self.language.data_loops:
            self.refuse(
                "loops that test program variables are switched off",
                "data_loops=true",
                self.column,
                len(self.text),
            )
        header = self.row
        self.header("while", statement.target, "data_loop")
        body = self.inner(indent, depth, loops)
        if not body or body[-1] != statement:
            self.row, self.column = header, indent
            self.fail(
                f"the loop does not end by setting {statement.target} as before it",
                "data_loop",
                "Repeat the line before the loop as the last line of the loop",
                end=len(self.text),
            )
        return DataLoop(statement.target, statement.comparison, body[:-1])

    def compare(self) -> Compare:
        target = self.name("Boolean", "comparison", reads=False)
        self.expect(" = ", "comparison")
        left = self.name("integer", "comparison")
        equal = self.take(" == ")
        if not equal and not self.take(" != "):
            self.fail(f"' == ' or ' != ' is expected, not {self.found()}", "comparison")
        right = self.operand("comparison")
        self.end("comparison")
        return Compare(target, Comparison(left, "==" if equal else "!=", right))

    def header(self, word: str, condition: str, rule: str) -> None:
        """`while cond_a:` with a given condition, or `if cond_a:`."""
        self.expect(f"{word} ", rule)
        start = self.column
        name = self.name("Boolean", rule)
        if condition and name != condition:
            self.column = start
            self.fail(f"the line before the loop sets {condition}, not {name}", rule)
        self.expect(":", rule)
        self.end(rule)

    def conditional(self, indent: int, depth: int, loops: int) -> If:
        start = self.column
        condition_at = self.column + 3
        header = self.row
        self.header("if", "", "if")
        condition = self.rows[header][condition_at:-1]
        body = self.filled(indent, depth, loops, header)
        otherwise: tuple[Statement, ...] = ()
        if not self.ended() and self.indent() == indent and self.starts("else"):
            self.begin()
            header = self.row
            self.expect("else:", "if")
            if not self.language.else_blocks:
                self.refuse("else is switched off", "else_blocks=true", start)
            self.end("if")
            otherwise = self.filled(indent, depth, loops, header)
        return If(condition, body, otherwise)

    def filled(self, indent: int, depth: int, loops: int, header: int) -> tuple[Statement, ...]:
        """A block with at least one statement that is executed."""
        body = self.inner(indent, depth, loops)
        if all(isinstance(statement, Comment) for statement in body):
            self.row, self.column = header, indent
            self.fail("the block is empty", "block", end=len(self.text))
        return body

    def counted_loop(self, indent: int, depth: int, loops: int) -> CountedLoop:
        rule = "counted_loop"
        counter = COUNTERS[loops]
        if self.word() != counter:
            self.fail(
                f"the counter of this loop is {counter}",
                "counter",
                end=self.column + len(self.word()),
            )
        self.expect(f"{counter} = 0", rule)
        self.end(rule)
        condition, trips = self.loop_test(indent, counter)
        self.same_block(indent)
        self.header("while", condition, rule)
        if self.ended() or self.indent() <= indent:
            self.column = self.indent()
            self.fail("an indented block is expected", "block")
        body = self.inner(indent, depth, loops + 1, counter)
        self.same_block(indent + 1)
        self.expect(f"{counter} = {counter} + 1", rule)
        self.end(rule)
        again = self.loop_test(indent + 1, counter)
        if again != (condition, trips):
            self.row, self.column = self.row - 1, indent + 1
            self.fail("the condition is not set as before the loop", rule, end=len(self.text))
        if not self.ended() and self.indent() > indent:
            self.begin()
            self.fail("the loop goes on after setting its condition", rule, end=len(self.text))
        return CountedLoop(condition, trips, body)

    def loop_test(self, indent: int, counter: str) -> tuple[str, int]:
        """`cond_a = cnt != 3`: the condition and the number."""
        rule = "counted_loop"
        self.same_block(indent)
        condition = self.name("Boolean", rule, reads=False)
        self.expect(f" = {counter} != ", rule)
        trips = self.bounded(rule, "trips", "the largest number of iterations")
        self.end(rule)
        return condition, trips

    def same_block(self, indent: int) -> None:
        """Check that the next line of a loop is there, indented as it must be."""
        if self.ended():
            self.fail("the program ends in the middle of a loop", "counted_loop")
        self.begin()
        if self.indent() != indent:
            self.column = min(self.indent(), indent)
            self.fail("the line does not belong to the loop that begins above", "counted_loop")
