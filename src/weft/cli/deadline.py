"""`deadline`: stop after some minutes as Ctrl-C does, so that what is trained so far is saved."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deadline(minutes: float | None) -> Iterator[threading.Event]:
    """Interrupt this process after some minutes; the event says that it did. None for never."""
    over = threading.Event()
    if minutes is None:
        yield over
        return

    def interrupt() -> None:
        over.set()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(60 * minutes, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield over
    finally:
        timer.cancel()
