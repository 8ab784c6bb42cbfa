"""A user's function of words, called with care: failures become errors that name the word.

The function runs in a thread, so that a call that does not return is reported and not waited for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Sequence

from weft.errors import WeftError

Word = tuple[str, ...]
ASKED_TWICE = 64
"""So many of the words of a batch are asked about twice, at most."""


def shown(word: Sequence[str]) -> str:
    """A word as text, for messages.

    Example:
        >>> shown("ab"), shown(()), shown(("x1", "y"))
        ("'ab'", 'the empty word', "'x1 y'")
    """
    if not word:
        return "the empty word"
    return f"'{('' if all(len(s) == 1 for s in word) else ' ').join(word)}'"


def word_function(
    function: Callable[..., object] | WordFunction,
    alphabet: Sequence[str],
    *,
    boolean: bool = False,
    seconds: float = 60.0,
) -> WordFunction:
    """A function with a memory; one that has a memory already is kept, with what it knows."""
    if isinstance(function, WordFunction):
        if function.alphabet != tuple(alphabet):
            raise WeftError(f"the function is over the alphabet {' '.join(function.alphabet)}")
        return function
    return WordFunction(function, alphabet, boolean=boolean, seconds=seconds)


class WordFunction:
    """A function of words with a memory: each word is asked about once, a few of them twice.

    Args:
        function: takes a word, as text if every symbol is one character, otherwise as a tuple.
        alphabet: the symbols.
        boolean: whether answers must be true or false.
        seconds: how long one batch of words may take.
    """

    def __init__(
        self,
        function: Callable[..., object],
        alphabet: Sequence[str],
        *,
        boolean: bool = False,
        seconds: float = 60.0,
    ) -> None:
        self.alphabet = tuple(alphabet)
        if not self.alphabet or len(set(self.alphabet)) < len(self.alphabet):
            raise WeftError("an alphabet has at least one symbol, and each once")
        self._function = function
        self._text = all(len(symbol) == 1 for symbol in self.alphabet)
        self._boolean = boolean
        self._seconds = seconds
        self._known: dict[Word, Hashable] = {}

    def __len__(self) -> int:
        return len(self._known)

    def answers(self, words: Iterable[Word], seconds: float | None = None) -> list[Hashable]:
        """The answers for some words, in order.

        Args:
            words: as tuples of symbols.
            seconds: how long this may take; by default as constructed.
        """
        asked = list(words)
        new = [word for word in dict.fromkeys(asked) if word not in self._known]
        if new:
            self._ask(new, self._seconds if seconds is None else seconds)
        return [self._known[word] for word in asked]

    def _ask(self, words: list[Word], seconds: float) -> None:
        stride = -(-len(words) // ASKED_TWICE)  # rounded up
        again = words[::-stride]  # in another order, as an answer may depend on it
        current: list[Word] = [words[0]]
        failure: list[WeftError] = []
        stopped = threading.Event()

        def work() -> None:
            try:
                for word in words:
                    if stopped.is_set():
                        return
                    current[0] = word
                    self._known[word] = self._call(word)
                for word in again:
                    if stopped.is_set():
                        return
                    current[0] = word
                    if self._call(word) != self._known[word]:
                        raise WeftError(
                            f"the function gave two different answers for {shown(word)}",
                            remedy="Give a function whose answer depends on the word alone",
                        )
            except WeftError as error:
                failure.append(error)

        thread = threading.Thread(target=work, daemon=True)
        started = time.monotonic()
        thread.start()
        thread.join(max(seconds, 0.05))
        if thread.is_alive():
            stopped.set()
            raise WeftError(
                f"the function was still at {shown(current[0])} after "
                f"{time.monotonic() - started:.1f} s",
                remedy="Give a faster function, a smaller length, or more seconds",
            )
        if failure:
            raise failure[0]

    def _call(self, word: Word) -> Hashable:
        try:
            answer = self._function("".join(word) if self._text else word)
        except BaseException as error:  # in a thread, sys.exit would end without a word
            raise WeftError(
                f"the function raised {type(error).__name__} for {shown(word)}"
                + (f": {error}" if str(error) else ""),
                remedy="Give a function that is defined for every word over the alphabet",
            ) from error
        if self._boolean:
            if isinstance(answer, bool) or type(answer).__name__ in ("bool", "bool_"):
                return bool(answer)
            raise WeftError(
                f"the function gave {answer!r} for {shown(word)}, which is not true or false",
                remedy="Return True or False",
            )
        if isinstance(answer, list):
            answer = tuple(answer)
        try:
            hash(answer)
        except TypeError:
            raise WeftError(
                f"the function's answer for {shown(word)} cannot be compared",
                remedy="Return a text, a number, a truth value or a tuple of these",
            ) from None
        assert isinstance(answer, Hashable)
        return answer
