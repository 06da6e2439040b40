"""The progress of a search whose questions are worked on side by side."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager
from threading import Lock
from typing import Any, Self

from jointdr.data import By
from jointdr.runtime import Report, reporter

NEARLY = 0.95  # the share of a question that is done, at most, before it is answered


class SearchProgress:
    """Counts the settings that are tried for each question, and reports the share that is done; safe for threads.

    Parameters
    ----------
    uses : some of ("rows", "columns", "both", "pairs")
    shown : bool, optional
        As `reporter` has it; by default only in a terminal.
    """

    def __init__(self, uses: Sequence[By], shown: bool | None = None) -> None:
        self.shares: dict[By, float] = dict.fromkeys(uses, 0.0)
        self.tried = 0
        self._expected: dict[By, float] = {}
        self._done: dict[By, float] = dict.fromkeys(uses, 0.0)
        self._lock = Lock()
        self._is_stopped = False
        self._started = time.monotonic()
        self._reporter: AbstractContextManager[Report] = reporter(sys.stderr.isatty() if shown is None else shown)
        self._report: Report = lambda doing, share, left: None

    def __enter__(self) -> Self:
        self._report = self._reporter.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._reporter.__exit__(*error)

    def expect(self, by: By, cost: float, more: bool = False) -> None:
        """The cost of all settings of a question, in any unit, or of as much `more` as there is from now on."""
        with self._lock:
            self._expected[by] = cost + (self._done[by] if more else 0.0)

    def try_setting(self, by: By, cost: float) -> None:
        """A setting of this cost was tried; a CancelledError where the search is stopped."""
        if self._is_stopped:
            raise CancelledError(f"The search for {by} was stopped.")
        with self._lock:
            self.tried += 1
            self._done[by] += cost
            share = self._done[by] / max(self._expected.get(by, float("inf")), 1e-300)
            self.shares[by] = max(self.shares[by], min(share, NEARLY))
            self._tell(f"choosing for {by}")

    def stop(self) -> None:
        """No question tries another setting, because one has failed or the user has interrupted them."""
        self._is_stopped = True

    def answer(self, by: By) -> None:
        """A question is answered."""
        with self._lock:
            self.shares[by] = 1.0
            self._tell(f"chosen for {by}")

    def fit(self) -> None:
        """All are answered, and what was chosen is fitted to all of the data."""
        with self._lock:
            self._tell("fitting what was chosen")

    def _tell(self, doing: str) -> None:
        share = sum(self.shares.values()) / max(len(self.shares), 1)
        spent = time.monotonic() - self._started
        self._report(f"{doing}: {self.tried} settings tried", share, spent * (1.0 - share) / max(share, 1e-3))
