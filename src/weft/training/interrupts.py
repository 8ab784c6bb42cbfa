"""Signals that end a run: Ctrl-C (SIGINT) and SIGTERM.

An exception in the middle of a step would leave weights half updated. So during steps a signal is
only noted, and the loop leaves after the step. Elsewhere, as while a model is built, a signal
raises `Interrupted` at once.
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
    """Raise on every signal."""
    return True


def never(again: bool) -> bool:
    """Only note signals."""
    return False


class Interrupts:
    """Handles SIGINT and SIGTERM while it is entered; outside the main thread it does nothing.

    Attributes:
        number: number of the first signal that arrived; 0 if none has.
    """

    def __init__(self, forward: Callable[[int], None] = lambda number: None) -> None:
        """`forward` is called with every signal as it arrives."""
        self.number = 0
        self._forward = forward
        self._raises: Callable[[bool], bool] = always
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                    self._before[number] = signal.signal(number, self._arrived)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, signal.SIG_DFL if before is None else before)

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        again = bool(self.number)
        self.number = self.number or number
        self._forward(number)
        if self._raises(again):
            raise Interrupted(self.number)

    @contextmanager
    def held(self, raises: Callable[[bool], bool] = never) -> Iterator[None]:
        """Note signals; raise only if `raises(again)`, where `again` is false for the first."""
        before, self._raises = self._raises, raises
        try:
            yield
        finally:
            self._raises = before

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Raise `Interrupted` when a signal arrives, or if one has arrived."""
        with self.held(always):
            if self.number:
                raise Interrupted(self.number)
            yield
