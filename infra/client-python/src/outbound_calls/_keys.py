"""The outcome of all tries under a key."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Literal

Outcome = Literal["not_sent", "refused", "maybe_accepted"]

# An hour longer than the service remembers a key, in seconds.
_LIFE = 25 * 3600.0


class _Record:
    def __init__(self) -> None:
        self.is_sent = False  # a byte of a try has left
        self.maybe_accepted = False  # a try may have been accepted, or was
        self.open = 0  # tries that are under way
        self.at = 0.0


class KeyMemory:
    """
    Remembers a client's keys: whether calls may have been accepted under a key is the OR over all its tries, of earlier
    and of concurrent requests too. A refusal of this try takes nothing back. Once more keys were used within a day than
    fit, a key that it does not know counts as one that may have been accepted.
    """

    def __init__(self, keys_max: int = 20_000):
        self._records: dict[str, _Record] = {}
        self._keys_max = keys_max
        self._doubtful_until = 0.0
        self._lock = threading.Lock()

    def track(self, keys: Sequence[str], is_fresh: bool) -> KeyTracker:
        """Tracks a request under its keys. `is_fresh`: they are random ones that nobody can have used."""
        with self._lock:
            known = [self._records[key] for key in keys if key in self._records]
            is_doubtful = not is_fresh and len(known) < len(keys) and time.time() < self._doubtful_until
            return KeyTracker(self, keys, known, is_doubtful)

    def begin(self, keys: Sequence[str]) -> list[_Record]:
        with self._lock:
            now = time.time()
            begun = [self._touch(key, now) for key in keys]
            for record in begun:
                record.open += 1
            self._forget(now)
            return begun

    def end(self, begun: Sequence[_Record], outcome: Outcome) -> None:
        with self._lock:
            for record in begun:
                record.open -= 1
                record.is_sent |= outcome != "not_sent"
                record.maybe_accepted |= outcome == "maybe_accepted"

    def _touch(self, key: str, now: float) -> _Record:
        found = self._records.pop(key, None)
        is_known = found is not None and (found.open > 0 or found.at + _LIFE > now)
        record = found if found is not None and is_known else _Record()
        record.at = now
        self._records[key] = record  # at the end, so that the oldest stand first
        return record

    def _forget(self, now: float) -> None:
        for key, record in list(self._records.items())[: max(1, len(self._records) - self._keys_max)]:
            is_old = record.at + _LIFE <= now
            if not is_old and len(self._records) <= self._keys_max:
                return
            del self._records[key]
            if not is_old:
                self._doubtful_until = max(self._doubtful_until, record.at + _LIFE)


class KeyTracker:
    """Notes the tries of one request under its keys, and reports on all tries under them."""

    def __init__(self, memory: KeyMemory, keys: Sequence[str], known: list[_Record], is_doubtful: bool):
        self._memory, self._keys, self._own, self._is_doubtful = memory, keys, known, is_doubtful

    def begin(self) -> list[_Record]:
        self._own = self._memory.begin(self._keys)
        return self._own

    def end(self, begun: Sequence[_Record], outcome: Outcome) -> None:
        self._memory.end(begun, outcome)

    @property
    def is_sent(self) -> bool:
        return self._is_doubtful or any(one.is_sent or one.open > 0 for one in self._own)

    @property
    def maybe_accepted(self) -> bool:
        return self._is_doubtful or any(one.maybe_accepted or one.open > 0 for one in self._own)
