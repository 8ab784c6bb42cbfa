"""`weft list`, `weft rules` and `weft show`."""

from __future__ import annotations

import json

from command_line import weft


def test_list_names_every_program_with_an_example_that_runs() -> None:
    for entry in json.loads(weft("list", "--json")):
        weft("run", entry["name"], entry["example"])


def test_rules_are_printed_counted_and_compared() -> None:
    assert "7 rules, 4 of them reset heads" in weft("rules", "parity")
    assert json.loads(weft("rules", "parity", "--json"))["count"] == 7
    assert "2 guarded updates" in weft("rules", "parity", "--updates")
    assert "z.parity ^= z.parity_left" in weft("rules", "parity", "--by-line")
    assert "7 in both" in weft("rules", "parity", "--diff", "parity-absolute")
    assert "no two rules overlap" in weft("rules", "parity", "--check")
    assert "; 3 shown (--limit)" in weft("rules", "addition", "--limit", "3")


def test_show_says_what_is_in_a_program() -> None:
    text = weft("show", "parity")
    for part in ("parity_left", "until done = 1", "7, 4 of them", "class Parity"):
        assert part in text
    assert json.loads(weft("show", "parity", "--json"))["rules"] == 7
