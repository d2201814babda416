"""Placing calls under an Idempotency-Key that is made before the first try and kept through all tries."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ._errors import OutboundCallsError, Problem
from ._http import Answer, Request
from ._keys import KeyMemory, KeyTracker
from ._models import PlacedCalls, PlacedRequest
from ._sending import Bounds, Sending, Steps, send, unexpected

# Limits of one request. A list is always split in the same way, so that a repeat under its key has the same parts.
PART_CALLS, PART_BYTES = 10_000, 4 * 1024 * 1024


@dataclass(frozen=True)
class Placing:
    """How calls are placed."""

    headers: dict[str, str]
    idempotency_key: str
    is_fresh: bool  # the key is a random one
    timeout: float | None


@dataclass(frozen=True)
class Sender:
    """What a client's requests have in common."""

    token: str
    bounds: Bounds
    keys: KeyMemory


def new_key() -> str:
    return secrets.token_hex(16)


def part_key(key: str, index: int) -> str:
    """Returns the key under which a part of a list is sent."""
    return f"{key}.{index}"


def place_call(sender: Sender, body: bytes, placing: Placing) -> Steps[PlacedRequest]:
    key = placing.idempotency_key
    tracker = sender.keys.track([key], placing.is_fresh)
    part = _Part("/v1/calls", body, 1, key, tracker)
    try:
        return (yield from _place_part(sender, part, placing.headers, placing.timeout))
    except OutboundCallsError as error:
        raise _with(error, idempotency_key=key) from error.__cause__


def place_calls(sender: Sender, texts: Sequence[bytes], placing: Placing) -> Steps[PlacedCalls]:
    key, accepted, start = placing.idempotency_key, list[PlacedRequest](), 0
    end = time.time() + (placing.timeout or 0)
    for index, (body, count) in enumerate(split(texts)):
        own = part_key(key, index)
        # The tries of a part are those of the whole, too: accepted parts count, as a new key would call their people twice.
        tracker = sender.keys.track([key, own], placing.is_fresh)
        part = _Part("/v1/calls/batch", body, count, own, tracker)
        left = None if placing.timeout is None else max(0.0, end - time.time())
        try:
            accepted.append((yield from _place_part(sender, part, placing.headers, left)))
        except OutboundCallsError as error:
            errors = [_shift(one, start) for one in error.errors]
            raise _with(error, idempotency_key=key, errors=errors, accepted=accepted) from error.__cause__
        start += count
    ids = [call_id for part in accepted for call_id in part.call_ids]
    return PlacedCalls(accepted, ids, all(one.replayed for one in accepted), key)


@dataclass(frozen=True)
class _Part:
    path: str
    body: bytes
    count: int
    key: str
    tracker: KeyTracker


def _place_part(
    sender: Sender, part: _Part, headers: dict[str, str], timeout: float | None
) -> Steps[PlacedRequest]:
    sent = {
        **headers,
        "Authorization": f"Bearer {sender.token}",
        "Content-Type": "application/json",
        "Idempotency-Key": part.key,
    }
    request = Request("POST", part.path, sent, part.body)
    answer = yield from send(request, Sending(sender.bounds, timeout, (201,), part.tracker))
    return _read_accepted(answer, part)


def _read_accepted(answer: Answer, part: _Part) -> PlacedRequest:
    request_id = answer.headers.get("x-request-id", "")
    if not re.fullmatch("[0-9A-Z]{26}", request_id):
        words = "The answer is a 201 without an X-Request-Id of the service."
        raise unexpected(201, words, maybe_accepted=True)
    call_ids = [f"call_{request_id}_{index:05}" for index in range(part.count)]
    replayed = answer.headers.get("idempotency-replayed") == "true"
    return PlacedRequest(request_id, call_ids, replayed, part.key)


def _with(error: OutboundCallsError, **fields: object) -> OutboundCallsError:
    return OutboundCallsError(replace(error.failure, **fields))  # type: ignore[arg-type]


def _shift(problem: Problem, start: int) -> Problem:
    """Turns a pointer into a part into one into the whole list."""
    found = re.match(r"/(\d+)", problem.pointer or "")
    if found is None or problem.pointer is None:
        return problem
    return replace(problem, pointer=f"/{int(found[1]) + start}{problem.pointer[found.end():]}")


def split(texts: Sequence[bytes]) -> list[tuple[bytes, int]]:
    """Splits calls into bodies of at most so many calls and bytes. It depends on nothing but the calls."""
    parts: list[list[bytes]] = [[]]
    size = 2
    for text in texts:
        if parts[-1] and (len(parts[-1]) >= PART_CALLS or size + len(text) + 1 > PART_BYTES):
            parts.append([])
            size = 2
        parts[-1].append(text)
        size += len(text) + 1
    return [(b"[" + b",".join(part) + b"]", len(part)) for part in parts]
