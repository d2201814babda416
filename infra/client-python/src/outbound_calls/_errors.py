"""Errors of the client. A message fits a log line: status, place and detail of the first problem, and how many more."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ._models import PlacedRequest

ErrorType = Literal["refused", "unavailable", "not_sent", "timed_out", "unexpected"]

# Characters of the message's part that the service, or something between, has written.
_WORDS_MAX = 300


@dataclass(frozen=True)
class Problem:
    """One error of a refused request: where it is, and what is wrong there, never what the value was."""

    detail: str
    pointer: str | None = None  # a JSON Pointer into the calls as they were passed
    header: str | None = None
    parameter: str | None = None


@dataclass(frozen=True)
class Failure:
    """The fields of an error."""

    type: ErrorType
    detail: str
    status: int | None = None
    errors: list[Problem] = field(default_factory=list[Problem])
    request_id: str | None = None
    retry_after: float | None = None
    maybe_accepted: bool = False
    idempotency_key: str | None = None
    accepted: list[PlacedRequest] = field(default_factory=list["PlacedRequest"])


class OutboundCallsError(Exception):
    """
    A request that did not succeed. Its cause, if there is one, is the error of the connection, or the last error of a wait.

    type: "refused" (4XX), "unavailable" (no answer, 5XX or 429 to the end), "not_sent" (nothing left this machine),
        "timed_out" (of wait_for_request), "unexpected" (an answer that is not the service's).
    maybe_accepted: calls may have been accepted under the key, by any try of this client, earlier requests included.
        Then repeat the request only under idempotency_key, or somebody may be called twice.
    accepted: the parts of place_calls that were accepted before this error.
    """

    def __init__(self, failure: Failure):
        super().__init__(_to_line(failure))
        self.failure = failure
        self.type: ErrorType = failure.type
        self.status = failure.status
        self.detail = failure.detail
        self.errors = failure.errors
        self.request_id = failure.request_id
        self.retry_after = failure.retry_after
        self.maybe_accepted = failure.maybe_accepted
        self.idempotency_key = failure.idempotency_key
        self.accepted = failure.accepted

    def __reduce__(self):  # so that it survives a process pool
        return (type(self), (self.failure,))


def is_refused(error: object) -> bool:
    """True if the service refused the request: repeat it only after a change."""
    return _is(error, "refused")


def is_unavailable(error: object) -> bool:
    """True if no try had a final answer: repeat it later, under its key."""
    return _is(error, "unavailable")


def is_not_sent(error: object) -> bool:
    """True if nothing left this machine."""
    return _is(error, "not_sent")


def is_timed_out(error: object) -> bool:
    """True if the time of wait_for_request is over."""
    return _is(error, "timed_out")


def _is(error: object, kind: ErrorType) -> bool:
    return isinstance(error, OutboundCallsError) and error.type == kind


def _to_line(failure: Failure) -> str:
    words, more = failure.detail, ""
    if failure.errors:
        first = failure.errors[0]
        place = first.pointer or first.header or first.parameter or ""
        words = f"{place} {first.detail}" if place else first.detail
        more = f" (and {len(failure.errors) - 1} more)" if len(failure.errors) > 1 else ""
    answered = "" if failure.status is None else f" {failure.status}"
    request_id = f" [X-Request-Id {failure.request_id}]" if failure.request_id else ""
    line = f"{failure.type}{answered}: {_one_line(words)}{more}{request_id}"
    if not failure.maybe_accepted:
        return line
    return f"{line.removesuffix('.')}; calls may have been accepted: repeat it only under its idempotency_key"


def _one_line(text: str) -> str:
    """One line of bounded length, so that no answer can forge a line of a log."""
    line = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text).strip()
    return line if len(line) <= _WORDS_MAX else line[:_WORDS_MAX] + "…"
