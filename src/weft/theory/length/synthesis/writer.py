"""The lines of a C-RASP program that follows one automaton.

The automaton is cut into pieces that a run leaves once and for all: its strongly connected
components. Inside a piece, weightings of the letters (and, in later rounds, of letters read in a
class of states) make states visible as *balances*, sums of counts. With inclusive counts, the
balance at a position tells the state before it once the letter is known, so nothing looks back:

    exit_n    the letter leads out of piece n, judged by the balances. After the true exit the
              balances mean nothing, and neither does exit_n; its first time is the true one.
    enter_n   the letter leads into piece n: another piece is left for the first time.
    in_n      piece n was entered before this position.

With periods and windows, the program reads the last letters and the position modulo the period off
directly.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import reduce

from weft.crasp.expressions import (
    Add,
    And,
    Comparison,
    Constant,
    Counting,
    Exists,
    Expression,
    Integer,
    Name,
    Not,
    Previous,
    Subtract,
    Symbol,
)
from weft.theory.length.synthesis.formulas import (
    FALSE,
    TRUE,
    conjunction,
    disjunction,
    negation,
    one_of,
    residues_hold,
    separates,
)
from weft.theory.length.synthesis.pieces import Pieces

Step = tuple[int, int]
"""A state, and the letter that is read there."""
Feature = tuple[Hashable, ...]
"""Something of a step or a state that a program can test: ("pot", round, weighting), ..."""


class Writer:
    """Writes the lines for one automaton.

    Args:
        pieces: the automaton and its pieces.
        lines: to which new lines are added, by name.
        suffix: appended to names.
    """

    def __init__(self, pieces: Pieces, lines: dict[str, Expression], suffix: str) -> None:
        self.automaton, self.pieces = pieces.automaton, pieces.pieces
        self.lines, self.suffix = lines, suffix
        self.alphabet = self.automaton.dfa.alphabet
        self.rows = self.automaton.dfa.transitions
        self._balances: dict[tuple[Hashable, ...], Expression] = {}
        self.place = {s: n for n, piece in enumerate(self.pieces) for s in piece.states}
        self._sources: list[list[tuple[int, int, int]]] = [[] for _ in self.pieces]
        self._leaving: list[set[Step]] = [set() for _ in self.pieces]
        for state, row in enumerate(self.rows):
            for letter, then in enumerate(row):
                if self.place[state] != self.place[then]:
                    self._sources[self.place[then]].append((state, letter, then))
                    self._leaving[self.place[state]].add((state, letter))

    # Acceptance

    def after(self, negative: bool) -> Expression:
        """Whether the state after this position accepts."""
        options = []
        for n, piece in enumerate(self.pieces):
            wanted = {s for s in piece.states if (s in self.automaton.dfa.accepting) != negative}
            if wanted:
                inside = self._describe_states(n, wanted)
                options.append(conjunction([self._entered(n), self._not_exited(n), inside]))
        result = disjunction(options)
        return negation(result) if negative else result

    def before(self, letter: int, negative: bool) -> Expression:
        """Whether the state before this position accepts, if this letter is here."""
        options = []
        for n, piece in enumerate(self.pieces):
            wanted = {s for s in piece.states if (s in self.automaton.dfa.accepting) != negative}
            stays = {s for s in wanted if (s, letter) not in self._leaving[n]}
            for group, left in ((stays, False), (wanted - stays, True)):
                if not group:
                    continue
                if left:
                    by = self._exit_by(n, {(state, letter) for state in group})
                    options.append(conjunction([by, self._first_exit(n)]))
                else:
                    here = self._describe_steps(n, letter, group)
                    options.append(conjunction([self._inside(n), self._not_exited(n), here]))
        result = disjunction(options)
        return negation(result) if negative else result

    # Being in a piece

    def _line(self, name: str, expression: Expression) -> Expression:
        if isinstance(expression, (Constant, Symbol, Integer, Name)):
            return expression
        name = f"{name}{self.suffix}"
        self.lines.setdefault(name, expression)
        return Name(name)

    def _known(self, name: str) -> Expression | None:
        return Name(f"{name}{self.suffix}") if f"{name}{self.suffix}" in self.lines else None

    def _is_start(self, n: int) -> bool:
        return self.place[self.automaton.dfa.start] == n

    def _exit(self, n: int) -> Expression:
        """The letter leads out of the piece, if the run is in it."""
        name = f"exit_{n + 1}"
        if (known := self._known(name)) is not None:
            return known
        return self._line(name, conjunction([self._inside(n), self._steps(n, self._leaving[n])]))

    def _not_exited(self, n: int) -> Expression:
        if not self._leaving[n]:
            return TRUE
        return Comparison("==", Counting(self._exit(n)), Integer(0))

    def _first_exit(self, n: int) -> Expression:
        return Comparison("==", Counting(self._exit(n)), Integer(1))

    def _enter(
        self, n: int, targets: Collection[int] | None = None, once: bool = True
    ) -> Expression:
        """The letter leads into the piece, at one of some states; only once unless told so."""
        options = []
        by_source: dict[int, set[Step]] = {}
        for state, letter, then in self._sources[n]:
            if targets is None or then in targets:
                by_source.setdefault(self.place[state], set()).add((state, letter))
        for source, steps in sorted(by_source.items()):
            if steps == self._leaving[source] and not once:
                options.append(self._exit(source))
            elif steps == self._leaving[source]:
                options.append(conjunction([self._exit(source), self._first_exit(source)]))
            else:
                options.append(
                    conjunction([self._exit_by(source, steps), self._first_exit(source)])
                )
        return disjunction(options)

    def _exit_by(self, n: int, steps: set[Step]) -> Expression:
        """The letter leads out of the piece by one of some steps."""
        if all((state, letter) in steps for state in self.pieces[n].states for _, letter in steps):
            return conjunction([self._inside(n), self._steps(n, steps)])
        # After the true exit, one of these steps may seem to be made although none out of the piece
        # does, so exit_n is part of it.
        return conjunction([self._exit(n), self._steps(n, steps, self._leaving[n])])

    def _is_loose(self, n: int) -> bool:
        """Whether it makes no difference in a piece if its first letter is counted as inside."""
        piece = self.pieces[n]
        if len({self.automaton.states[s] for s in piece.states}) > 1 or self.automaton.window:
            return False
        if piece.component.rounds or self.automaton.period > 1:
            return False
        entering = {letter for _, letter, _ in self._sources[n]}
        return not self.suffix and not entering & {letter for _, letter in self._leaving[n]}

    def _entered(self, n: int) -> Expression:
        """The piece was entered here or before."""
        if self._is_start(n):
            return TRUE
        if (known := self._known(f"entered_{n + 1}")) is not None:
            return known
        loose = self._is_loose(n) or not self._leaving[n]
        enter = self._enter(n, once=False) if loose else self._enter_line(n)
        return self._line(f"entered_{n + 1}", Exists(enter))

    def _enter_line(self, n: int) -> Expression:
        known = self._known(f"enter_{n + 1}")
        return known if known is not None else self._line(f"enter_{n + 1}", self._enter(n))

    def _inside(self, n: int) -> Expression:
        """The piece was entered before this position."""
        if self._is_start(n):
            return TRUE
        if self._is_loose(n):
            return self._entered(n)
        if (known := self._known(f"in_{n + 1}")) is not None:
            return known
        enter = self._enter_line(n)
        return self._line(f"in_{n + 1}", And((Exists(enter), Not(enter))))

    # Telling states apart

    def _steps(
        self, n: int, steps: Collection[Step], among: Collection[Step] | None = None
    ) -> Expression:
        """One of some steps is made, given that one of others is, or any."""
        options: dict[Expression, list[Expression]] = {}
        for letter, symbol in enumerate(self.alphabet):
            states = {state for state, read in steps if read == letter}
            if states:
                known = {s for s, read in among if read == letter} if among is not None else None
                here = self._describe_steps(n, letter, states, among=known)
                options.setdefault(here, []).append(Symbol(symbol))
        return disjunction(
            conjunction([one_of(letters, len(self.alphabet)), here])
            for here, letters in options.items()
        )

    def _describe_steps(
        self,
        n: int,
        letter: int,
        states: set[int],
        *,
        rounds: int | None = None,
        among: set[int] | None = None,
    ) -> Expression:
        """The state before this letter is one of some.

        Args:
            n: the piece.
            letter: the letter.
            states: of the piece.
            rounds: use the balances of this many rounds only.
            among: states one of which it is; by default all of the piece.
        """
        possible = self.pieces[n].states if among is None else sorted(among)
        values = {s: self._step_features(n, s, letter, rounds) for s in possible}
        return self._describe(n, values, states, after=False)

    def _describe_states(self, n: int, states: set[int]) -> Expression:
        """The state after this position is one of some."""
        automaton = self.automaton
        values: dict[int, dict[Feature, Hashable]] = {}
        for s in self.pieces[n].states:
            features: dict[Feature, Hashable] = {("mod",): automaton.residues[s]}
            for d in range(automaton.window):
                features["back", d] = _back(automaton.windows[s], d + 1)
            for r, round_ in enumerate(self.pieces[n].component.rounds):
                for w, potential in enumerate(round_.potentials[s]):
                    features["pot", r, w] = potential
            values[s] = features
        return self._describe(n, values, states, after=True)

    def _step_features(
        self, n: int, state: int, letter: int, rounds: int | None
    ) -> dict[Feature, Hashable]:
        automaton = self.automaton
        features: dict[Feature, Hashable] = {}
        residue = (automaton.residues[state] + 1) % automaton.period
        features["mod",] = residue
        for d in range(1, automaton.window + 1):
            features["back", d] = _back(automaton.windows[state], d)
        for r, round_ in enumerate(self.pieces[n].component.rounds[:rounds]):
            weights = round_.weights.get((round_.classes[state], letter))
            for w, potential in enumerate(round_.potentials[state]):
                features["pot", r, w] = potential + (weights[w] if weights else 0)
        return features

    def _describe(
        self,
        n: int,
        values: Mapping[int, Mapping[Feature, Hashable]],
        chosen: set[int],
        after: bool,
    ) -> Expression:
        """A test that holds for some of these states, in as few features as a greedy choice has."""
        if not chosen & values.keys():
            return FALSE
        if values.keys() <= chosen:
            return TRUE
        best: tuple[int, bool, int, Feature] | None = None
        groups: dict[Hashable, set[int]] = {}
        for cost, feature in enumerate(next(iter(values.values()))):
            grouped: dict[Hashable, set[int]] = {}
            for state, features in values.items():
                grouped.setdefault(features[feature], set()).add(state)
            if len(grouped) < 2:
                continue
            unclear = sum(
                len(group) for group in grouped.values() if 0 < len(group & chosen) < len(group)
            )
            known = feature[0] != "pot" or (n, *feature[1:]) in self._balances
            rank = (unclear, not known, cost, feature)
            if best is None or rank[:3] < best[:3]:
                best, groups = rank, grouped
        assert best is not None, "states that must be told apart have equal features"
        pure = {value for value, group in groups.items() if group <= chosen}
        options = [self._test(n, best[3], pure, set(groups), after)]
        mixed = {value: group for value, group in groups.items() if group & chosen}
        for value in pure:
            del mixed[value]
        for value, group in mixed.items():
            inside = {state: values[state] for state in group}
            only = len(mixed) == 1 and len(pure) == len(groups) - 1  # otherwise it holds anyway
            here = TRUE if only else self._test(n, best[3], {value}, set(groups), after)
            options.append(conjunction([here, self._describe(n, inside, chosen, after)]))
        return disjunction(options)

    def _test(
        self, n: int, feature: Feature, wanted: set[Hashable], possible: set[Hashable], after: bool
    ) -> Expression:
        """One feature has one of the wanted values, given that it has one of the possible ones."""
        if not wanted:
            return FALSE
        if wanted == possible:
            return TRUE
        match feature:
            case ("mod",):
                return residues_hold(self.automaton.period, wanted, possible)
            case ("back", int(d)):
                if len(possible - wanted) < len(wanted):
                    return negation(
                        disjunction(self._letter_back(d, v) for v in _sorted(possible - wanted))
                    )
                return disjunction(self._letter_back(d, v) for v in _sorted(wanted))
            case ("pot", int(r), int(w)):
                base = self._base(n)
                shift = self.pieces[n].component.rounds[r].potentials[base][w]
                numbers = {v - shift for v in wanted if isinstance(v, int)}
                rest = {v - shift for v in possible - wanted if isinstance(v, int)}
                return separates(self._balance(n, r, w), numbers, rest)
        raise AssertionError(feature)

    def _letter_back(self, d: int, letter: Hashable) -> Expression:
        if isinstance(letter, int):
            expression: Expression = Symbol(self.alphabet[letter])
            for _ in range(d):
                expression = Previous(expression)
            return expression
        if d == 0:
            return Comparison("==", Counting(TRUE), Integer(0))
        there: Expression = TRUE
        for _ in range(d):
            there = Previous(there)
        return negation(there)

    def _base(self, n: int) -> int:
        """The state of a piece at which balances are zero on entry."""
        if self._is_start(n):
            return self.automaton.dfa.start
        return self._sources[n][0][2]

    def _balance(self, n: int, r: int, w: int) -> Expression:
        """The inclusive sum of weights since the piece was entered."""
        rounds = self.pieces[n].component.rounds
        if (known := self._balances.get((n, r, w))) is not None:
            return known
        round_ = rounds[r]
        bodies: dict[int, set[Step]] = {}
        for state in self.pieces[n].states:
            for letter in range(len(self.alphabet)):
                weights = round_.weights.get((round_.classes[state], letter))
                if weights and weights[w]:
                    bodies.setdefault(weights[w], set()).add((state, letter))
        inside = self._inside(n)
        terms: list[tuple[int, Expression]] = []
        for weight, steps in sorted(bodies.items(), reverse=True):
            for letter, symbol in enumerate(self.alphabet):
                states = {state for state, read in steps if read == letter}
                if states:
                    here = self._describe_steps(n, letter, states, rounds=r)
                    body = conjunction([inside, Symbol(symbol), here])
                    terms.append((weight, Counting(body)))
        base = self._base(n)
        for state in dict.fromkeys(then for _, _, then in self._sources[n]):
            offset = round_.potentials[state][w] - round_.potentials[base][w]
            if offset and not self._is_start(n):
                body = self._enter(n, {state})
                terms.append((offset, Counting(body)))
        number = sum(key[0] == n for key in self._balances) + 1
        name = f"balance_{n + 1}" + (f"_{number}" if number > 1 else "")
        self._balances[n, r, w] = self._line(name, self._weighted(name, terms))
        return self._balances[n, r, w]

    def _weighted(self, name: str, terms: Sequence[tuple[int, Expression]]) -> Expression:
        """The sum of multiples of counts; large multiples are doubled line by line."""
        total: Expression | None = None
        for number, (weight, term) in enumerate(sorted(terms, key=lambda item: item[0] < 0)):
            multiple = self._multiple(
                f"{name}_{'abcdefghijklmnopqrstuvwxyz'[number % 26]}{number // 26 or ''}",
                abs(weight),
                term,
            )
            if total is None:
                total = multiple if weight > 0 else Subtract(Integer(0), multiple)
            else:
                total = Add(total, multiple) if weight > 0 else Subtract(total, multiple)
        return total if total is not None else Integer(0)

    def _multiple(self, name: str, factor: int, term: Expression) -> Expression:
        if factor <= 4:
            return reduce(Add, [term] * factor)
        half = self._multiple(name, factor // 2, term)
        line = self._line(f"{name}_x{factor // 2}", half)
        double = Add(line, line)
        return Add(double, term) if factor % 2 else double


def _back(window: tuple[int, ...], d: int) -> Hashable:
    return window[-d] if len(window) >= d else None


def _sorted(values: Iterable[Hashable]) -> list[Hashable]:
    return sorted(values, key=lambda value: (value is None, str(value)))
