"""Work off the screen's thread: one thread a kind of job, always on the newest request."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from textual.dom import DOMNode
from textual.worker import get_current_worker

Request = TypeVar("Request")
Stale = Callable[[], bool]
"""Says whether the request that is worked on has been replaced, or the screen is going away."""


class Unwaited(ThreadPoolExecutor):
    """Threads that the end of the app does not wait for: what they read is thrown away anyway."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Begin nothing more; let what runs run out."""
        super().shutdown(wait=False, cancel_futures=True)


class Latest(Generic[Request]):
    """Runs `work(request, stale)` in a thread; requests that arrive meanwhile replace each other.

    So holding a key down never piles up threads: when the thread is free it takes the last request and
    skips those in between. `failed` is called on the screen's thread with what `work` raised.
    """

    def __init__(
        self,
        host: DOMNode,
        name: str,
        work: Callable[[Request, Stale], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._host = host
        self._name = name
        self._work = work
        self._failed = failed
        self._lock = threading.Lock()
        self._waiting: list[Request] = []
        self._busy = False

    @property
    def busy(self) -> bool:
        """Whether the thread is at work."""
        return self._busy

    def ask(self, request: Request) -> None:
        """Work on this as soon as possible, and on nothing asked before that has not begun.

        To be called on the screen's thread, as everything that starts a worker.
        """
        with self._lock:
            self._waiting = [request]
            if self._busy:
                return
            self._busy = True
        self._host.run_worker(self._loop, name=self._name, group=self._name, thread=True, exit_on_error=False)

    def _take(self) -> list[Request]:
        with self._lock:
            taken, self._waiting = self._waiting, []
            self._busy = bool(taken)
            return taken

    def _loop(self) -> None:
        worker = get_current_worker()
        while taken := self._take():
            if worker.is_cancelled:
                with self._lock:
                    self._busy = False
                return
            try:
                self._work(taken[0], lambda: bool(self._waiting) or worker.is_cancelled)
            except Exception as error:  # a fault must reach the reader, not end the app
                if not worker.is_cancelled:
                    self._host.app.call_from_thread(self._failed, error)
