"""
The rules of sending, without any input or output: generators that yield what is to be done (`Attempt`, `Sleep`) and take
what came of it. The blocking client and that of asyncio run the same ones.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ._errors import Failure, OutboundCallsError, Problem
from ._http import Answer, NoAnswer, NotSent, Outcome, Request
from ._keys import KeyTracker
from ._keys import Outcome as KeyOutcome

Result = TypeVar("Result")

# Time in which a request may be repeated under its key, which the service keeps for an hour longer, in seconds.
_KEY_LIFE = 23 * 3600.0


@dataclass(frozen=True)
class Attempt:
    request: Request
    seconds: float


@dataclass(frozen=True)
class Sleep:
    seconds: float


Steps = Generator[Attempt | Sleep, Outcome | None, Result]


@dataclass(frozen=True)
class Bounds:
    """Bounds of the tries of one request. All times are in seconds."""

    tries: int = 8
    timeout: float = 120
    try_timeout: float = 35
    delay: float = 0.5
    delay_max: float = 20


@dataclass(frozen=True)
class Sending:
    """How a request is sent. `is_once`: it is repeated only while nothing was sent, as it must not arrive twice."""

    bounds: Bounds
    timeout: float | None = None
    statuses: Sequence[int] = (200,)
    tracker: KeyTracker | None = None
    is_once: bool = False


def send(request: Request, sending: Sending) -> Steps[Answer]:
    """
    Sends a request until it succeeds, is refused, or its bounds are reached. It repeats what had no answer or was not sent,
    5XX, and the 429 of a gateway; never another 4XX. It ends within its time. Raises OutboundCallsError.
    """
    bounds, tracker = sending.bounds, sending.tracker
    started = time.time()
    end = started + min(bounds.timeout if sending.timeout is None else sending.timeout, _KEY_LIFE)
    is_sent, number = False, 0
    while True:
        number += 1
        left = end - time.time()
        if left <= 0:
            raise _error(_unbegun(tracker), None)
        begun = tracker.begin() if tracker else []
        try:
            outcome = yield Attempt(request, min(bounds.try_timeout, left))
        except BaseException:  # the caller ends it, or is cancelled: a byte may have left
            if tracker:
                tracker.end(begun, "maybe_accepted")
            raise
        assert outcome is not None
        # A 201 has no body. Of any other answer what is no JSON was cut off, or is of something between.
        is_done = isinstance(outcome, Answer) and outcome.status in sending.statuses
        is_cut = is_done and isinstance(outcome, Answer) and outcome.status != 201 and _json_of(outcome) is None
        if tracker:
            tracker.end(begun, "maybe_accepted" if is_done else _key_outcome(outcome))
        if is_done and not is_cut and isinstance(outcome, Answer):
            return outcome
        is_sent |= not isinstance(outcome, NotSent)
        seen = NoAnswer(ValueError("the answer was cut off")) if is_cut else outcome
        failure = _describe(seen, f"{number} {'try' if number == 1 else 'tries'} within {time.time() - started:.1f} s")
        if tracker:
            failure = replace(failure, maybe_accepted=tracker.maybe_accepted)
        if failure.type == "not_sent" and (tracker.is_sent if tracker else is_sent):
            failure = replace(failure, type="unavailable")
        cause = None if isinstance(seen, Answer) else seen.error
        wait = min(bounds.delay_max, bounds.delay * 2 ** (number - 1)) * random.uniform(0.5, 1)
        wait = max(wait, failure.retry_after or 0)
        is_last = number >= bounds.tries or (sending.is_once and not isinstance(outcome, NotSent))
        is_lasting = isinstance(outcome, NotSent) and not outcome.is_repeatable
        if is_last or is_lasting or not _is_repeatable(failure) or time.time() + wait >= end:
            raise _error(failure, cause)
        yield Sleep(wait)
        if time.time() > end:  # the machine may have slept longer, and the key may have ended
            raise _error(failure, cause)


def read_json(answer: Answer) -> Mapping[str, Any]:
    """Returns the JSON object of an answer. Raises OutboundCallsError if it is something else."""
    found = _json_of(answer)
    if found is None:
        raise unexpected(answer.status, "The answer is not the service's JSON.")
    return found


def unexpected(status: int, detail: str, maybe_accepted: bool = False) -> OutboundCallsError:
    return OutboundCallsError(Failure("unexpected", detail, status=status, maybe_accepted=maybe_accepted))


def _error(failure: Failure, cause: Exception | None) -> OutboundCallsError:
    error = OutboundCallsError(failure)
    error.__cause__ = cause  # as `raise … from cause` does
    return error


def _is_repeatable(failure: Failure) -> bool:
    return failure.type in ("unavailable", "not_sent")


def _is_refusal(status: int) -> bool:
    """True for an answer that says that nothing was accepted. A 408 says nothing of what came of the request."""
    return 400 <= status < 500 and status != 408


def _key_outcome(outcome: Outcome) -> KeyOutcome:
    if isinstance(outcome, NotSent):
        return "not_sent"
    if isinstance(outcome, NoAnswer) or not _is_refusal(outcome.status):
        return "maybe_accepted"
    # What was accepted under the key is another request: of another body, or of a process before this one.
    _, errors = _read_problem(outcome)
    is_taken = outcome.status == 422 and any((one.header or "").lower() == "idempotency-key" for one in errors)
    return "maybe_accepted" if is_taken else "refused"


def _unbegun(tracker: KeyTracker | None) -> Failure:
    is_sent = tracker is not None and tracker.is_sent
    return Failure(
        "unavailable" if is_sent else "not_sent",
        "The time was over before anything was sent.",
        maybe_accepted=tracker is not None and tracker.maybe_accepted,
    )


def _describe(outcome: Outcome, tries: str) -> Failure:
    if isinstance(outcome, NotSent):
        return Failure("not_sent", f"Nothing could be sent to {outcome.where} ({tries}): {_words(outcome.error)}")
    if isinstance(outcome, NoAnswer):
        return Failure("unavailable", f"No answer came ({tries}): {_words(outcome.error)}")
    detail, errors = _read_problem(outcome)
    is_later = outcome.status == 429 or outcome.status >= 500
    return Failure(
        "unavailable" if is_later else "refused" if _is_refusal(outcome.status) else "unexpected",
        detail or "The answer has no detail.",
        status=outcome.status,
        errors=errors,
        request_id=outcome.headers.get("x-request-id"),
        retry_after=_read_retry_after(outcome.headers.get("retry-after")),
    )


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _json_of(answer: Answer) -> Mapping[str, Any] | None:
    try:
        found = json.loads(answer.body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _read_problem(answer: Answer) -> tuple[str | None, list[Problem]]:
    """Reads a problem. Of what is not problem+json no word is taken: it may repeat what was sent."""
    if not answer.headers.get("content-type", "").lower().startswith("application/problem+json"):
        return None, []
    found = _json_of(answer) or {}
    detail, errors = found.get("detail"), found.get("errors")
    listed = [one for one in errors if isinstance(one, dict)] if isinstance(errors, list) else []
    return detail if isinstance(detail, str) else None, [_to_problem(one) for one in listed]


def _to_problem(found: Mapping[str, Any]) -> Problem:
    text = {name: str(found[name]) for name in ("pointer", "header", "parameter") if name in found}
    return Problem(str(found.get("detail", "")), **text)


def _read_retry_after(value: str | None) -> float | None:
    """Reads Retry-After in seconds; a date is left aside, as clocks differ."""
    return float(value) if value is not None and re.fullmatch(r"\d{1,9}", value.strip()) else None
