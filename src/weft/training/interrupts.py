"""Signals that end a run: Ctrl-C (SIGINT) and SIGTERM.

An exception that is raised in the middle of a step would leave weights half changed. So a signal is
noted while steps are made, and the loop leaves at the next moment at which all is whole. Elsewhere,
as while a model is made, there is nothing to tear: there a signal raises `Interrupted` at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from weft.errors import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def always(again: bool) -> bool:
    """Raise whenever a signal arrives."""
    return True


def never(again: bool) -> bool:
    """Note signals only."""
    return False


class Interrupts:
    """What is done about signals for as long as it is entered; in other threads nothing is.

    Attributes:
        number: of the first signal that arrived; 0 while there was none.
    """

    def __init__(self, told: Callable[[int], None] = lambda number: None) -> None:
        """`told` is called with every signal as it arrives."""
        self.number = 0
        self._told = told
        self._raises: Callable[[bool], bool] = always
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for one in SIGNALS:
                if signal.getsignal(one) is not signal.SIG_IGN:  # as under nohup
                    self._before[one] = signal.signal(one, self._arrived)
        return self

    def __exit__(self, *_: object) -> None:
        for one, before in self._before.items():
            signal.signal(one, signal.SIG_DFL if before is None else before)

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        again = bool(self.number)
        self.number = self.number or number
        self._told(number)
        if self._raises(again):
            raise Interrupted(self.number)

    @contextmanager
    def held(self, raises: Callable[[bool], bool] = never) -> Iterator[None]:
        """Note signals; raise only if `raises` says so, asked whether it is not the first."""
        before, self._raises = self._raises, raises
        try:
            yield
        finally:
            self._raises = before

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Raise `Interrupted` when a signal arrives, or if one has."""
        with self.held(always):
            if self.number:
                raise Interrupted(self.number)
            yield
