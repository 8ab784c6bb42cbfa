"""Arithmetic as it is done on paper, in plain Python: an oracle for tasks, their texts and axes.

It shares no code with the package: numbers are read by their value, and carries come from adding up
columns one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SIGNS = {
    "addition": "+",
    "subtraction": "-",
    "multiplication": "*",
    "sum-of-three": "++",
    "multiply-add": "*+",
    "modular-addition": "+",
    "modular-multiplication": "*",
}


def digits_of(number: int, base: int, width: int = 1) -> list[int]:
    """Least significant first."""
    found = []
    while number or len(found) < width:
        number, digit = divmod(number, base)
        found.append(digit)
    return found


def name_of(digit: int, base: int) -> str:
    return "0123456789abcdefghijklmnopqrstuvwxyz"[digit] if base <= 36 else str(digit)


@dataclass(frozen=True)
class Worked:
    result: int
    carries: list[int]  # out of each place of the result, units first


def worked(name: str, values: tuple[int, ...], base: int) -> Worked:
    """Add up columns, from the units on."""
    if name == "subtraction":
        return subtracted(*values, base)
    product = name in ("multiplication", "modular-multiplication", "multiply-add")
    numbers = [digits_of(value, base) for value in values]
    columns = [0] * (sum(map(len, numbers)) + 1)
    if product:
        for i, x in enumerate(numbers[0]):
            for j, y in enumerate(numbers[1]):
                columns[i + j] += x * y
    for number in numbers[2 if product else 0 :]:
        for place, digit in enumerate(number):
            columns[place] += digit
    carry, carries, result = 0, [], 0
    for place, column in enumerate(columns):
        carry, digit = divmod(column + carry, base)
        carries.append(carry)
        result += digit * base**place
    exact = {"+": lambda a, b: a + b, "*": lambda a, b: a * b, "++": lambda a, b, c: a + b + c,
             "*+": lambda a, b, c: a * b + c}[SIGNS[name]](*values)  # fmt: skip
    assert result == exact
    assert not carry
    return Worked(result, carries)


def subtracted(a: int, b: int, base: int) -> Worked:
    """Borrow from the next place of the larger number."""
    large, small = max(a, b), min(a, b)
    width = len(digits_of(large, base))
    borrow, borrows = 0, []
    for x, y in zip(digits_of(large, base), digits_of(small, base, width), strict=True):
        borrow = int(x - y - borrow < 0)
        borrows.append(borrow)
    return Worked(a - b, borrows)


def read(question: tuple[str, ...], name: str, base: int, reverse: bool) -> list[list[str]]:
    """The operands' digits as written, split at the signs in their order."""
    signs = list(SIGNS[name])
    operands: list[list[str]] = [[]]
    for token in question:
        if signs and token == signs[0]:
            signs.pop(0)
            operands.append([])
        else:
            operands[-1].append(token)
    assert not signs
    return [operand[::-1] if reverse else operand for operand in operands]


def value_of(operand: list[str], base: int) -> int:
    """The value of digits, most significant first."""
    total = 0
    for token in operand:
        total = total * base + (int(token, 36) if base <= 36 else int(token))
    return total


def answer_of(name: str, values: tuple[int, ...], given: dict[str, Any]) -> list[str]:
    """The answer as a task with these parameters writes it."""
    base, modulus = given.get("base", 10), given.get("modulus", 0)
    width, reverse = given.get("width", 0), given.get("reverse_result", False)
    done = worked(name, values, base)
    largest = [base**width - 1] * len(values)
    full = len(digits_of(abs(worked(name, tuple(largest), base).result), base))
    full = width if name == "subtraction" else full
    result = done.result % modulus if modulus else done.result
    padded = 0
    if width:
        least = len(digits_of(modulus - 1, base)) if modulus else full
        padded = given.get("result_width", 0) or least

    def text(number: int, width: int) -> list[str]:
        names = [name_of(digit, base) for digit in digits_of(abs(number), base, width)]
        names = names if reverse else names[::-1]
        if name == "subtraction" and (number < 0 or width > 1):
            sign = "-" if number < 0 else "+"
            names = [*names, sign] if reverse else [sign, *names]
        return names

    final = text(result, padded or 1)
    if given.get("scratchpad", "none") == "none":
        return final
    places = full if width else len(digits_of(abs(done.result), base))
    into = ([0, *done.carries] + [0] * places)[:places]
    longest = width or given["longer"]
    most = worked(name, (base**longest - 1,) * len(values), base)
    if name == "subtraction":
        each = 1
    else:
        each = len(digits_of(max(most.carries), base))
    groups = [[name_of(d, base) for d in digits_of(carry, base, each)[::-1]] for carry in into]
    groups = groups if reverse else groups[::-1]
    carries = [token for group in groups for token in group]
    if not modulus:
        return [*carries, ":", *final]
    raw = digits_of(done.result, base, full if width else 1)
    names = [name_of(digit, base) for digit in raw]
    return [*carries, ":", *(names if reverse else names[::-1]), ":", *final]
