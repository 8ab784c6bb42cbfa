"""Finite automata: deterministic automata, regular expressions, files, and named languages.

`expression_dfa` makes an automaton of a regular expression, `read_automaton` of a file, and
`language` looks up one of the languages of the experiments by name. All three give a `DFA`.
"""

from weft.automata.dfa import DFA
from weft.automata.expressions import expression_dfa
from weft.automata.files import automaton_json, json_automaton, read_automaton, write_automaton
from weft.automata.languages import LANGUAGES, Language, language

__all__ = [
    "DFA",
    "LANGUAGES",
    "Language",
    "automaton_json",
    "expression_dfa",
    "json_automaton",
    "language",
    "read_automaton",
    "write_automaton",
]
