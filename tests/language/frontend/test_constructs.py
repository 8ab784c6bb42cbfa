"""One small step for each construct of Python that the front end follows.

Each is compared with Python over all states. None of them is tabulated as a whole: lexical
structure becomes guards.
"""

from __future__ import annotations

import pytest

from small_programs import assert_means_the_same, is_tabulated, small

HELPERS = """
def smaller(p, q):
    if p < q:
        return p
    return q


def reset(state, name="unused"):
    if state.b == 2:
        state.b = 0
        return True
    return False


def adder(k):
    def add(value):
        return (value + k) % 3

    return add


add_two = adder(2)


class Holder:
    limit = 1
"""

FOLLOWED = {
    "if": "if z.a == 1:\n    z.b = 2",
    "if else": "if z.a == 1:\n    z.b = 2\nelse:\n    z.c = 1",
    "elif": "if z.a == 1:\n    z.b = 2\nelif z.a == 2:\n    z.b = 0\nelse:\n    z.a = 1",
    "nested if": "if z.a:\n    if z.b:\n        z.c = 1\n    z.b = 0",
    "match values": "match z.a:\n    case 0:\n        z.b = 1\n    case 1 | 2:\n        z.b = 0",
    "match wildcard": "match z.a:\n    case 0:\n        z.b = 1\n    case _:\n        z.c = 1",
    "match guard": "match z.a:\n    case v if v > z.b:\n        z.b = v\n    case _:\n        pass",
    "match pair": "match z.a, z.b:\n    case 0, v:\n        z.c = v % 2\n    case _:\n        pass",
    "and": "z.c = bool(z.a and z.b)",
    "or": "if z.a == 1 or z.b == 1:\n    z.c = 1",
    "not": "z.c = not z.a",
    "and gives its operand": "z.b = z.a and z.b",
    "or gives its operand": "z.b = z.c or z.a",
    "and stops early": "z.c = z.b == 1 and z.left > 0",
    "comparison": "z.c = z.a <= z.b",
    "chained comparison": "z.c = 0 < z.a <= z.b",
    "chained comparison stops early": "z.c = 0 < z.b <= z.left",
    "sum and difference": "z.b = (z.a + z.b - z.c) % 3",
    "product": "z.b = z.a * z.b % 3",
    "power": "z.b = 2 ** z.a % 3",
    "floor division": "z.b = z.a // 2",
    "division by zero": "z.b = z.a // z.b",
    "true division": "z.x = z.c / 2",
    "negation": "z.b = -z.a % 3",
    "bits": "z.c = (z.a ^ z.b) & 1 | z.c",
    "shift": "z.b = min(z.a << z.c, 2)",
    "local variable": "total = z.a + z.b\nz.b = total % 3\nz.c = total // 3",
    "local bound on one path": "if z.a:\n    t = z.b\nif z.c:\n    z.a = t",
    "augmented assignment": "z.a += z.b\nz.a %= 3",
    "augmented local": "t = 1\nt += z.a\nz.b = t % 3",
    "augmented item": 'z["a"] ^= z["a"]',
    "early return": "if z.a == 2:\n    return\nz.b = z.a",
    "nested early return": "if z.a:\n    if z.b:\n        return\n    z.b = 1\nz.c = 1",
    "loop over range": "for i in range(3):\n    if z.a == i:\n        z.b = 2 - i",
    "loop over tuple": "for i, j in ((0, 1), (2, 0)):\n    if z.a == i:\n        z.b = j",
    "loop over reads": "for v in (z.a, z.b):\n    if v == 2:\n        z.c = 1",
    "break": "for i in range(3):\n    if z.a == i:\n        break\nz.b = i",
    "continue": "for i in range(3):\n    if z.a == i:\n        continue\n    z.b = i",
    "loop else": "for i in range(2):\n    if z.a == i:\n        break\nelse:\n    z.c = 1",
    "return from a loop": "for i in range(3):\n    if z.a == i:\n        return\n    z.b = i",
    "enumerate": "for i, v in enumerate((2, 0, 1)):\n    if z.a == i:\n        z.b = v",
    "zip": "for i, v in zip((0, 1), (z.b, z.c)):\n    if z.a == i:\n        z.b = v",
    "constant while": "n = 0\nwhile n < 2:\n    if z.a == n:\n        z.b = n\n    n += 1",
    "helper of values": "z.b = smaller(z.a, z.b)",
    "helper by keyword": "z.b = smaller(q=z.a, p=1)",
    "helper of the state": "z.c = reset(z)",
    "helper called bare": "reset(z)",
    "closure over a constant": "z.b = add_two(z.a)",
    "nested def": "def twice(v):\n    return 2 * v % 3\nz.b = twice(z.a)",
    "nested def on the state": "def put(v):\n    z.b = v\nput(z.a)",
    "lambda": "flip = lambda v: 2 - v\nz.b = flip(z.a)",
    "late closure": "k = 0\nadd = lambda v: (v + k) % 3\nk = z.b\nz.a = add(1)",
    "constant attribute": "z.c = z.a > Holder.limit",
    "conditional expression": "z.b = z.a if z.c else 2",
    "conditional read": "z.b = z.left if z.c else 0",
    "in tuple": "z.c = z.a in (0, z.b)",
    "not in set": "z.c = z.a not in {1}",
    "in set variable": "z.c = z.a in z.s",
    "tuple unpacking": "p, q = z.a, z.b\nz.a, z.b = q, p",
    "swap": "z.a, z.b = z.b, z.a",
    "nested unpacking": "(p, q), r = (z.a, z.b), z.c\nz.b = p if r else q",
    "min": "z.b = min(z.a, z.b)",
    "max": "z.b = max(z.a, 1, z.c)",
    "abs": "z.b = abs(z.a - z.b)",
    "divmod": "z.c, z.b = divmod(z.a + z.b, 3)",
    "any": "z.c = any(z.a == v for v in (1, z.b))",
    "any stops early": "z.c = any(v == 1 or z.left for v in (z.a, z.b))",
    "all": "z.c = all(v > 0 for v in (z.a, z.b))",
    "sum": "z.b = sum(v for v in (z.a, z.b, z.c)) % 3",
    "items and attributes": 'z["b"] = z.a\nz.c = z["b"] > 0',
    "walrus": "if (t := z.a + z.b) > 2:\n    z.b = t - 2",
    "chained assignment": "z.a = z.b = t = z.c\nz.c = not t",
    "annotated local": "t: int = z.a\nz.b = t",
    "assertion": "assert z.a < 2\nz.b = z.a",
    "raise": "if z.a == 2:\n    raise ValueError('no')\nz.b = z.a",
    "number": "if z.x >= 0.5:\n    z.x = 0\nelse:\n    z.x += 0.5",
    "set": "z.s = {1, 2} if z.s == {0} else set()",
    "out of range": "z.c = z.a",
    "not a whole number": "if z.c:\n    z.b = z.a / 2",
    "undefined head": "z.b = z.left",
    "undefined head that is not used": "t = z.left",
    "unbound local": "if z.c:\n    t = 1\nu = t\nz.b = 0",
    "docstring": '"""What it does."""\nz.b = 0',
    "nothing": "pass",
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_the_derivation_means_what_python_means(name: str) -> None:
    assert_means_the_same(small(FOLLOWED[name], HELPERS))


@pytest.mark.parametrize("name", FOLLOWED)
def test_the_construct_is_followed_and_not_tabulated(name: str) -> None:
    assert not is_tabulated(small(FOLLOWED[name], HELPERS))
