"""The programs of the ALTA paper in its own notation, with the helpers that it leaves out.

Figures 2, 6, 7, 8, 12/13, 14/15 and 16/17. Names and structure are the paper's; constants and
helpers that it does not print are supplied here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import weft.paper as pb
from weft.language import Program
from weft.paper import MLPBuilder, halt_spec, numeric_var, program_spec, qkv, v_relative, var

START = 2
NUM_POS = 16
BUCKETS = [1 / (count + 1) for count in range(41)]


def figure_2() -> Program:
    vars = {
        "parity": var(range=2, input_init_fn=lambda x: x),
        "done": var(range=2, position_init_fn=lambda x: x == 0),
        "idx": var(range=NUM_POS, position_init_fn=lambda x: x),
        "idx_left": var(range=NUM_POS, position_init_fn=lambda x: max(0, x - 1)),
    }
    attention_heads = {
        "parity_left": qkv("idx_left", "idx", "parity"),
        "done_left": qkv("idx_left", "idx", "done"),
    }

    def ffn_fn(z):
        if not z["done"] and z["done_left"]:
            z["parity"] = z["parity_left"] ^ z["parity"]
            z["done"] = 1

    return program_spec(
        vars=vars,
        heads=attention_heads,
        ffn_fn=ffn_fn,
        output="parity",
        halt_spec=halt_spec("done", 1),
        input_range=2,
        position_range=NUM_POS,
    )


def figure_6() -> Program:
    """Figure 2 with its rules written out by the builder."""
    variables = {
        "parity": var(range=2, input_init_fn=lambda x: x),
        "done": var(range=2, position_init_fn=lambda x: x == 0),
        "idx": var(range=NUM_POS, position_init_fn=lambda x: x),
        "idx_left": var(range=NUM_POS, position_init_fn=lambda x: max(0, x - 1)),
    }
    attention_heads = {
        "parity_left": qkv("idx_left", "idx", "parity"),
        "done_left": qkv("idx_left", "idx", "done"),
    }

    def get_transition_rules(variables, attention_heads):
        x = MLPBuilder(variables, attention_heads)
        for done in x.get("done"):
            if done != 1:
                for done_left in x.get("done_left"):
                    if done_left == 1:
                        x.set("done", 1)
                        for parity_left, parity in x.get("parity_left", "parity"):
                            x.set("parity", parity_left ^ parity)
        return x.rules

    return program_spec(
        variables=variables,
        heads=attention_heads,
        mlp=get_transition_rules(variables, attention_heads),
        output_name="parity",
        halt=halt_spec("done", 1),
        input_range=2,
        position_range=NUM_POS,
    )


def figure_7(buckets: list[float] = BUCKETS) -> Program:
    vars = {
        "parity": var(range=2),
        "start": numeric_var(input_init_fn=lambda x: float(x == START), values=(0, 1)),
        "start_or_one": var(range=2, input_init_fn=lambda x: x in {1, START}),
        "query": var(range=2, default=1),
    }
    attention_heads = {
        "x": qkv("query", "start_or_one", "start", output_spec=numeric_var(values=buckets)),
    }

    def ffn_fn(z):
        num_ones = round(1 / z["x"]) - 1
        z["parity"] = int(num_ones % 2)

    return program_spec(
        variables=vars,
        heads=attention_heads,
        ffn_fn=ffn_fn,
        output_name="parity",
        input_range=3,
        position_range=None,
    )


def figure_8() -> Program:
    variables = {
        "parity": var(range=2, input_init_fn=lambda x: 0 if x == START else x),
        "done": var(range=2, input_init_fn=lambda x: x == START),
    }
    attention_heads = {
        "parity_left": v_relative("parity", -1),
        "done_left": v_relative("done", -1),
    }

    def ffn_fn(z):
        if z["done"] != 1 and z["done_left"] == 1:
            z["parity"] = z["parity_left"] ^ z["parity"]
            z["done"] = 1

    return program_spec(
        variables=variables,
        heads=attention_heads,
        ffn_fn=ffn_fn,
        output_name="parity",
        input_range=3,
        position_range=None,
        halt=halt_spec("done", halt_value=1),
    )


START_TOKEN, ADD_TOKEN, END_TOKEN = 10, 11, 12
INPUT_RANGE = 13
STEP_INIT, STEP_ITERATE, STEP_FINALIZE, STEP_DONE = range(4)
NUM_STEPS = 4


def figures_12_13(guarded: bool = True) -> Program:
    """Addition; as printed, `init` reads `token_right` at the last position: there is none."""

    def init_as_printed(x):
        if x["token_right"] == END_TOKEN:
            x["ptr_b"] = 1
            x["ptr_out"] = 1
        if x["token_right"] == ADD_TOKEN:
            x["ptr_a"] = 1

    def init_guarded(x):
        if x["token"] != END_TOKEN:
            init_as_printed(x)

    init = init_guarded if guarded else init_as_printed

    def iterate(x):
        raw_sum = x["value_carry"] + x["ptr_a_token"] + x["ptr_b_token"]
        if x["ptr_out"]:
            x["value_out"] = raw_sum % 10
        x["value_carry"] = raw_sum // 10
        if x["token"] != END_TOKEN:
            x["ptr_out"] = x["ptr_out_right"]
            x["ptr_a"] = x["ptr_a_right"]
            x["ptr_b"] = x["ptr_b_right"]

    def finalize(x):
        if x["ptr_out"]:
            x["value_out"] = x["value_carry"]
        x["step"] = STEP_DONE

    def ffn_fn(x):
        if x["step"] == STEP_INIT:
            init(x)
            x["step"] = STEP_ITERATE
        elif x["step"] == STEP_ITERATE:
            if x["ptr_a_token"] == START_TOKEN:
                x["step"] = STEP_FINALIZE
            else:
                iterate(x)
        elif x["step"] == STEP_FINALIZE:
            finalize(x)

    variables = {
        "token": pb.var(INPUT_RANGE, input_init_fn=lambda x: x),
        "step": pb.var(NUM_STEPS),
        "ptr_a": pb.var(2),
        "ptr_b": pb.var(2),
        "ptr_out": pb.var(2),
        "value_carry": pb.var(10),
        "value_out": pb.var(10),
        "one": pb.var(var_range=2, default=1),
    }
    attention_heads = {
        "token_right": v_relative("token", 1),
        "ptr_a_right": v_relative("ptr_a", 1),
        "ptr_b_right": v_relative("ptr_b", 1),
        "ptr_out_right": v_relative("ptr_out", 1),
        "ptr_a_token": qkv("one", "ptr_a", "token"),
        "ptr_b_token": qkv("one", "ptr_b", "token"),
    }
    return program_spec(
        variables=variables,
        heads=attention_heads,
        ffn_fn=ffn_fn,
        output_name="value_out",
        input_range=INPUT_RANGE,
        position_range=None,
        halt_spec=pb.halt_spec("step", halt_value=STEP_DONE),
    )


MIN_VALUE, MAX_VALUE, NUM_POSITIONS = -16, 16, 16
STATE_1, STATE_2, STATE_3, STATE_DONE = range(4)
NUM_STATES = 4


def figures_14_15() -> Program:
    """SUBLEQ; as printed, `mem_a` and `mem_b` query heads of their own layer, which is refused."""

    def encode(value):
        return value - MIN_VALUE

    mem_range = (MAX_VALUE - MIN_VALUE) + 1
    variables = {
        "mem": var(mem_range, input_init_fn=lambda x: x),
        "pos": var(mem_range, position_init_fn=encode),
        "pos_a": var(mem_range, default=encode(0)),
        "pos_b": var(mem_range, default=encode(1)),
        "pos_c": var(mem_range, default=encode(2)),
        "state": var(NUM_STATES),
        "jump": var(2),
    }
    attention_heads = {
        "a": qkv("pos_a", "pos", "mem"),
        "b": qkv("pos_b", "pos", "mem"),
        "c": qkv("pos_c", "pos", "mem"),
        "mem_a": qkv("a", "pos", "mem"),
        "mem_b": qkv("b", "pos", "mem"),
    }
    return program_spec(
        variables=variables,
        heads=attention_heads,
        ffn_fn=lambda z: None,
        output_name="mem",
        input_range=mem_range,
        pos_range=NUM_POSITIONS,
        halt=halt_spec("state", halt_value=STATE_DONE),
    )


WORDS = [
    *("walk", "look", "run", "jump", "left", "right", "turn"),
    *("and", "after", "around", "opposite", "twice", "thrice"),
]
EOS_ID = 13
NUM_INPUT_TOKENS = 16  # words, end, start and memory
EMPTY, NONTERMINAL = 0, 14
NUM_SYMBOLS = 15
STACK_OFFSET, TREE_OFFSET, INPUT_OFFSET = 4, 12, 20
SCAN_POSITIONS = 30


def get_symbol_id(token: int) -> int:
    """Words are symbols 1 to 13; what is no word has none."""
    return token + 1 if token < len(WORDS) else EMPTY


@dataclass(frozen=True)
class GrammarRule:
    rhs: tuple[int, ...]
    needs_end: bool
    number: int


def _grammar() -> list[GrammarRule]:
    symbol = {word: get_symbol_id(number) for number, word in enumerate(WORDS)}
    nt = NONTERMINAL
    turn, left, right = symbol["turn"], symbol["left"], symbol["right"]
    right_sides = [(symbol[word],) for word in ("walk", "look", "run", "jump")]
    for side in (left, right):
        right_sides += [(turn, side), (nt, side)]
        for how in (symbol["around"], symbol["opposite"]):
            right_sides += [(turn, how, side), (nt, how, side)]
    right_sides += [(nt, symbol["twice"]), (nt, symbol["thrice"])]
    joined = [(nt, symbol["and"], nt), (nt, symbol["after"], nt)]
    return [
        GrammarRule(rhs, rhs in joined, number)
        for number, rhs in enumerate([*right_sides, *joined], 1)
    ]


GRAMMAR = _grammar()
NUM_RULES = len(GRAMMAR) + 1


def maybe_match_rule(next_token: int, symbol_1: int, symbol_2: int, symbol_3: int) -> Any:
    """The longest rule whose right side is on top of the stack; `and` waits for the end."""
    top = (symbol_3, symbol_2, symbol_1)
    for length in (3, 2, 1):
        for rule in GRAMMAR:
            if rule.rhs == top[3 - length :] and (next_token == EOS_ID or not rule.needs_end):
                return rule
    return None


def rule_len(rule: GrammarRule) -> int:
    return len(rule.rhs)


def rule_lhs_id(rule: GrammarRule) -> int:
    return NONTERMINAL


def rule_id(rule: GrammarRule) -> int:
    return rule.number


def shift_stack_pointers(z, stack_pointer_offset):
    new_stack_pointer_0 = z["stack_pointer_0"] + stack_pointer_offset
    z["stack_pointer_0"] = new_stack_pointer_0
    z["stack_pointer_1"] = new_stack_pointer_0 - 1
    z["stack_pointer_2"] = new_stack_pointer_0 - 2
    z["stack_pointer_3"] = new_stack_pointer_0 - 3


def reduce(z, matched_rule):
    if z["position"] == (z["stack_pointer_0"] - rule_len(matched_rule)):
        z["symbol_id"] = rule_lhs_id(matched_rule)
    shift_stack_pointers(z, 1 - rule_len(matched_rule))
    if z["position"] == z["tree_pointer"]:
        z["rule_id"] = rule_id(matched_rule)
    z["tree_pointer"] += 1


def shift(z):
    if z["position"] == z["stack_pointer_0"]:
        z["symbol_id"] = get_symbol_id(z["input_pointer_token_id"])
    shift_stack_pointers(z, 1)
    z["input_pointer"] += 1


def parse_step(z):
    if not z["done"]:
        matched_rule = maybe_match_rule(
            z["input_pointer_token_id"],
            z["stack_symbol_1"],
            z["stack_symbol_2"],
            z["stack_symbol_3"],
        )
        if matched_rule is not None:
            reduce(z, matched_rule)
        else:
            if z["input_pointer_token_id"] == EOS_ID:
                z["done"] = 1
            else:
                shift(z)


def figures_16_17(positions: int = SCAN_POSITIONS) -> Program:
    variables = {
        "token": var(NUM_INPUT_TOKENS, input_init_fn=lambda x: x),
        "position": var(positions, position_init_fn=lambda x: x),
        "done": var(2),
        "stack_pointer_0": var(positions, default=STACK_OFFSET),
        "stack_pointer_1": var(positions, default=STACK_OFFSET - 1),
        "stack_pointer_2": var(positions, default=STACK_OFFSET - 2),
        "stack_pointer_3": var(positions, default=STACK_OFFSET - 3),
        "tree_pointer": var(positions, default=TREE_OFFSET),
        "input_pointer": var(positions, default=INPUT_OFFSET),
        "rule_id": var(NUM_RULES),
        "symbol_id": var(NUM_SYMBOLS),
    }
    heads = {
        "input_pointer_token_id": qkv("input_pointer", "position", "token"),
        "stack_symbol_1": qkv("stack_pointer_1", "position", "symbol_id"),
        "stack_symbol_2": qkv("stack_pointer_2", "position", "symbol_id"),
        "stack_symbol_3": qkv("stack_pointer_3", "position", "symbol_id"),
    }
    return program_spec(
        variables=variables,
        heads=heads,
        ffn_fn=parse_step,
        output_name="rule_id",
        input_range=NUM_INPUT_TOKENS,
        position_range=positions,
    )


def scan_input(command: str) -> list[int]:
    """A command behind its memory tokens, with the end mark."""
    memory = [14] + [15] * (INPUT_OFFSET - 1)
    return memory + [WORDS.index(word) for word in command.split()] + [EOS_ID]
