"""Inductive types: a type is a class, its constructors are the subclasses, a term is an instance.

    class Positive(Inductive):
        "Positive binary numbers."

    class One(Positive, token="01"):
        "1"

    class XO(Positive):
        rest: Positive

    class X1(Positive):
        rest: Positive

`XO(X1(One()))` is the term XO (X1 01). Terms are immutable, equal if they are built alike, and may
be of any depth: comparing, hashing and showing them does not recurse.

A type is complete as soon as it is used, by a function or by a reader of terms; a constructor that
is added later would make checked functions incomplete, and is an error.
"""

from __future__ import annotations

import sys
from operator import itemgetter
from types import ModuleType
from typing import Any, NoReturn, cast, dataclass_transform

from weft.errors import Location, WeftError, unknown_name
from weft.recursion.terms import same_value, subterms, token_of

ALLOWED = {
    "__module__", "__qualname__", "__doc__", "__annotations__", "__firstlineno__",
    "__static_attributes__", "__slots__", "__classdict__", "__annotate__", "__annotate_func__",
    "__type_params__", "__orig_bases__",
}  # fmt: skip
"""What Python itself puts in the body of a class."""


@dataclass_transform(frozen_default=True, eq_default=False)
class InductiveMeta(type):
    """The class of types and constructors, with what is known about them.

    Of a type: `constructors`. Of a constructor: `token`, `type`, `arguments` and `weight`.
    """

    _where: Location
    _scope: dict[str, Any]
    _globals: dict[str, Any]
    _token: str
    _weight: int
    _fields: dict[str, Any]
    _arguments: tuple[tuple[str, InductiveMeta], ...] | None
    _members: list[InductiveMeta]
    _sealed: str
    _only: Any

    def __new__(
        meta,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        token: str | None = None,
        weight: int | None = None,
    ) -> InductiveMeta:
        """Create a type, or a constructor of one.

        Args:
            name: of the class.
            bases: Inductive for a type, a type for a constructor.
            namespace: the body of the class: the arguments of a constructor, with their types.
            token: how terms are written with this constructor; the name if it is None.
            weight: what the constructor adds to the size of a term; 1 if it is None.
        """
        namespace.setdefault("__slots__", ())
        cls = super().__new__(meta, name, bases, namespace)
        frame = sys._getframe(1)
        cls._where = Location(frame.f_code.co_filename, frame.f_lineno)
        cls._scope = dict(frame.f_locals) if frame.f_locals is not frame.f_globals else {}
        cls._globals = frame.f_globals
        cls._token, cls._weight, cls._fields = "", 1, {}
        cls._arguments, cls._members, cls._sealed = None, [], ""
        if frame.f_globals is globals() and name in ("Inductive", "Symbols"):
            return cls
        if len(bases) == 1 and bases[0] in (Inductive, Symbols):
            _make_type(cls, bases[0], namespace, token, weight)
        else:
            _make_constructor(cls, bases, namespace, token, weight)
        return cls

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: Any, **_: Any) -> None:
        super().__init__(name, bases, namespace)

    def __setattr__(cls, name: str, value: Any) -> None:
        if not name.startswith(("_", "__")):
            raise cls._error(f"a type or constructor does not change; '{name}' cannot be set")
        super().__setattr__(name, value)

    def _error(cls, what: str, remedy: str = "") -> WeftError:
        return WeftError(what, subject=cls.__name__, where=cls._where, remedy=remedy)

    def __repr__(cls) -> str:
        return cls.__name__

    @property
    def token(cls) -> str:
        """The token that stands for this constructor."""
        return cls._token

    @property
    def weight(cls) -> int:
        """What this constructor adds to the size of a term."""
        return cls._weight

    @property
    def is_constructor(cls) -> bool:
        """Whether this is a constructor, not a type."""
        return bool(cls._token)

    @property
    def location(cls) -> Location:
        """Where it is defined."""
        return cls._where

    @property
    def type(cls) -> InductiveMeta:
        """The type of the terms that this constructor makes; of a type, itself."""
        return cast(InductiveMeta, cls.__mro__[1]) if cls._token else cls

    @property
    def constructors(cls) -> tuple[InductiveMeta, ...]:
        """The constructors of a type, in the order of their definition."""
        kind = cls.type
        if not kind._sealed:
            seal(kind, "")
        return tuple(kind._members)

    @property
    def arguments(cls) -> tuple[tuple[str, InductiveMeta], ...]:
        """The arguments of a constructor: their names and types."""
        if cls._arguments is None:
            cls._arguments = tuple(
                (name, cls._argument_type(name, kind)) for name, kind in cls._fields.items()
            )
        return cls._arguments

    @property
    def arity(cls) -> int:
        """The number of arguments of a constructor."""
        return len(cls._fields)

    def _argument_type(cls, name: str, kind: Any) -> InductiveMeta:
        found = kind
        if isinstance(kind, str):
            module = sys.modules.get(cls.__module__)
            scopes = (cls._scope, cls._globals, vars(module) if module else {})
            found = resolve_name(kind.strip("'\" "), *scopes)
        if not isinstance(found, InductiveMeta) or found.is_constructor or found is Inductive:
            raise cls._error(
                f"its argument '{name}' has the type {kind!r}, which is not an inductive type",
                remedy="Annotate it with a class that derives from Inductive or Symbols",
            )
        return found


def _make_type(
    cls: InductiveMeta,
    base: type,
    namespace: dict[str, Any],
    token: str | None,
    weight: int | None,
) -> None:
    """Check a subclass of Inductive or Symbols, which is a type."""
    if token is not None or weight is not None:
        raise cls._error("a type has no token and no weight: its constructors have")
    if namespace.get("__annotations__"):
        raise cls._error(
            "a type has no arguments: its constructors have",
            remedy=f"Write constructors as subclasses: class Name({cls.__name__})",
        )
    _check_body(cls, namespace, {"alphabet"} if base is Symbols else set())


def _make_constructor(
    cls: InductiveMeta,
    bases: tuple[type, ...],
    namespace: dict[str, Any],
    token: str | None,
    weight: int | None,
) -> None:
    """Complete a subclass of a type as one of its constructors."""
    owner: Any = bases[0]
    if len(bases) > 1 or owner.is_constructor:
        raise cls._error(
            "a constructor belongs to one type"
            if len(bases) > 1
            else f"{owner.__name__} is a constructor, which has no constructors of its own",
            remedy="Derive a type from Inductive alone, and a constructor from its type alone",
        )
    if issubclass(owner, Symbols):
        raise cls._error(f"{owner.__name__} has an alphabet, and no other constructors")
    if owner._sealed:
        raise cls._error(
            f"{owner.__name__} is complete: {owner._sealed} uses it already",
            remedy="Define all constructors of a type before the first function on it",
        )
    _check_body(cls, namespace, set())
    fields = dict(namespace.get("__annotations__", {}))
    for name in fields:
        if name.startswith("_") or name in namespace:
            raise cls._error(
                f"its argument '{name}' has a default"
                if name in namespace
                else f"its argument '{name}' begins with an underscore",
                remedy="Write arguments as name: Type",
            )
    cls._token = check_token(cls.__name__ if token is None else token, cls)
    for other in owner._members:
        if other._token == cls._token:
            raise cls._error(f"its token '{cls._token}' is that of {other.__name__}, too")
    cls._weight = 1 if weight is None else weight
    if not isinstance(cls._weight, int) or cls._weight < (1 if fields else 0):
        raise cls._error(
            f"its weight is {weight!r}",
            remedy="Give a whole number, at least 1 for a constructor with arguments",
        )
    cls._fields = fields
    type.__setattr__(cls, "__match_args__", tuple(fields))
    for place, name in enumerate(fields):
        type.__setattr__(cls, name, property(itemgetter(place)))
    if not fields:
        type.__setattr__(cls, "_only", tuple.__new__(cast(Any, cls), ()))
    owner._members.append(cls)


def _check_body(cls: InductiveMeta, namespace: dict[str, Any], also: set[str]) -> None:
    for name in namespace:
        if name not in ALLOWED | also | set(namespace.get("__annotations__", {})):
            raise cls._error(
                f"its body defines '{name}'",
                remedy="The body of a type or constructor holds a docstring and arguments only",
            )


def check_token(token: Any, cls: InductiveMeta | None = None, subject: str = "") -> str:
    """A token that can stand in a sequence: not empty, without blanks and brackets."""
    if (
        isinstance(token, str)
        and token
        and not set(token) & set("()[],")
        and token.split() == [token]
    ):
        return token
    what = f"{token!r} cannot be a token"
    remedy = "Give text without blanks, brackets and commas"
    raise cls._error(what, remedy) if cls else WeftError(what, subject=subject, remedy=remedy)


def resolve_name(name: str, *scopes: Any) -> Any:
    """What a name, or a dotted name within modules, stands for in the first scope that has it."""
    first, *rest = name.split(".")
    for scope in scopes:
        if first in scope:
            found = scope[first]
            for part in rest:
                found = getattr(found, part, None) if isinstance(found, ModuleType) else None
            return found
    return None


class Inductive(tuple[Any, ...], metaclass=InductiveMeta):
    """Base class of inductive types. Their instances are terms without calls: values.

    Example:
        >>> from weft.recursion import Inductive
        >>> class Nat(Inductive):
        ...     "Numbers."
        >>> class O(Nat):
        ...     "Zero."
        >>> class S(Nat):
        ...     before: Nat
        >>> S(S(O()))
        S(S(O))
        >>> S.arguments, Nat.constructors
        ((('before', Nat),), (O, S))
    """

    __slots__ = ()

    def __new__(cls, *arguments: Any) -> Any:
        """The term that a constructor makes of its arguments."""
        if not cls._token:
            _refuse_type(cls)
        if len(arguments) != len(cls._fields):
            raise WeftError(
                f"it takes {_count(len(cls._fields))}, and is given {len(arguments)}",
                subject=cls.__name__,
            )
        if not arguments:
            return cls._only
        for (name, kind), given in zip(cls.arguments, arguments, strict=True):
            if not isinstance(given, kind):
                raise WeftError(
                    f"its argument '{name}' is of type {type_name(given)}, not {kind.__name__}",
                    subject=cls.__name__,
                )
        return tuple.__new__(cls, arguments)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Inductive) and same_value(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(token_of(term) for term in subterms(self)))

    def __lt__(self, other: object) -> NoReturn:
        raise WeftError("terms have no order", subject=type(self).__name__)

    __le__ = __gt__ = __ge__ = __lt__

    def __repr__(self) -> str:
        from weft.recursion.notation import call_text

        return call_text(self)

    def __reduce__(self) -> Any:
        return type(self), tuple(self)


class Symbols(Inductive):
    """Base class of finite alphabets: labels of trees, elements of lists.

    Example:
        >>> from weft.recursion import Symbols
        >>> class Letter(Symbols):
        ...     alphabet = "x y z"
        >>> Letter("y"), Letter.members()
        (y, (x, y, z))
    """

    __slots__ = ()
    __match_args__ = ("symbol",)

    def __new__(cls, symbol: Any) -> Any:
        """The symbol of this alphabet with this token."""
        table = symbol_table(cls)
        if symbol not in table:
            raise unknown_name(
                f"there is no symbol {symbol!r}", str(symbol), table, subject=cls.__name__
            )
        return table[symbol]

    @property
    def symbol(self) -> str:
        """The token."""
        return str(self[0])

    @classmethod
    def members(cls) -> tuple[Any, ...]:
        """All symbols, in the order of the alphabet."""
        return tuple(symbol_table(cls).values())


_TABLES: dict[InductiveMeta, dict[str, Any]] = {}


def symbol_table(kind: InductiveMeta) -> dict[str, Any]:
    """The symbols of an alphabet, by token."""
    if kind not in _TABLES:
        alphabet = vars(kind).get("alphabet")
        given = alphabet.split() if isinstance(alphabet, str) else alphabet
        if (
            not isinstance(given, (list, tuple))
            or not given
            or len(set(map(str, given))) != len(given)
        ):
            raise kind._error(
                f"its alphabet is {alphabet!r}",
                remedy='Write different symbols, as in alphabet = "a b c"',
            )
        tokens = [check_token(one, kind) for one in given]
        _TABLES[kind] = {token: tuple.__new__(cast(Any, kind), (token,)) for token in tokens}
    return _TABLES[kind]


def is_alphabet(kind: InductiveMeta) -> bool:
    """Whether a type is an alphabet of symbols."""
    return issubclass(kind, Symbols)


def seal(kind: InductiveMeta, user: str) -> None:
    """Complete a type and the types within: no constructor can follow, and each has a term.

    Args:
        kind: the type.
        user: who uses it, for a message about a later constructor.
    """
    found, open_types = {kind: None}, [kind]
    while open_types:
        current = open_types.pop()
        if current._sealed:
            continue
        if is_alphabet(current):
            symbol_table(current)
        elif not current._members:
            raise current._error(
                "it has no constructors",
                f"Write them as subclasses: class Name({current.__name__})",
            )
        for constructor in current._members:
            for _, inner in constructor.arguments:
                if inner not in found:
                    found[inner] = None
                    open_types.append(inner)
    inhabited = {one for one in found if one._sealed or is_alphabet(one)}
    while more := {
        one
        for one in found
        if one not in inhabited
        and any(all(kind in inhabited for _, kind in c.arguments) for c in one._members)
    }:
        inhabited |= more
    for one in found:
        if one not in inhabited:
            raise one._error(
                "it has no term: every constructor needs a term of the type itself",
                remedy="Add a constructor without arguments",
            )
    for one in found:
        one._sealed = one._sealed or user or "a reader or sampler of terms"


def _refuse_type(cls: InductiveMeta) -> NoReturn:
    names = ", ".join(one.__name__ for one in cls._members)
    raise WeftError(
        "it is a type, which makes no terms",
        subject=cls.__name__,
        remedy=f"Its constructors: {names}",
    )


def type_name(value: Any) -> str:
    """The type of a value, for messages: its inductive type, or its Python type."""
    kind = type(value)
    return kind.type.__name__ if isinstance(kind, InductiveMeta) else kind.__name__


def _count(number: int) -> str:
    return f"{number or 'no'} argument{'' if number == 1 else 's'}"
