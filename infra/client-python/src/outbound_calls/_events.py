"""Events of the service, signed according to Standard Webhooks."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Union

from ._models import CallBack, CallState, Counts, Raw, Result, read_model

CallEventType = Literal[
    "call.placed",
    "call.answered",
    "call.ended",
    "call.rejected",
    "call.expired",
    "call.cancelled",
    "call.needs_review",
    "call.reviewed",
    "call.opt_out",
    "call.call_back",
]
_CALL_EVENTS = frozenset(CallEventType.__args__)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class CallEventData:
    id: str
    request_id: str
    index: int
    sequence: int
    agent_id: str
    state: CallState
    reason: str
    attempt: int
    result: Result | None = field(default=None, metadata={"of": Result})
    echo: Mapping[str, str] = field(default_factory=dict[str, str])
    not_before: str | None = None
    urgent: bool | None = None
    campaign: str | None = None
    split: str | None = None
    test: bool | None = None
    number: int | None = field(default=None, metadata={"name": "try"})  # of the try
    tries_left: int | None = None
    call_back: CallBack | None = field(default=None, metadata={"of": CallBack})
    raw: Raw = field(default_factory=dict[str, Any], repr=False, compare=False)


@dataclass(frozen=True)
class RequestFinishedData:
    request_id: str
    accepted_at: str
    total: int
    counts: Counts = field(metadata={"of": Counts})
    test: bool | None = None
    raw: Raw = field(default_factory=dict[str, Any], repr=False, compare=False)


@dataclass(frozen=True)
class CallEvent:
    """`id` is the event's, the same on every try: drop an event whose id you have handled."""

    id: str
    type: CallEventType
    timestamp: str
    data: CallEventData


@dataclass(frozen=True)
class RequestFinishedEvent:
    id: str
    type: Literal["request.finished"]
    timestamp: str
    data: RequestFinishedData


@dataclass(frozen=True)
class TestEvent:
    """The event that `test_receiver` sends."""

    __test__ = False  # no test of pytest

    id: str
    type: Literal["receiver.test"]
    timestamp: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class UnknownEvent:
    """An event of a type that a later version has added. Answer it 2xx, or it is sent again for days."""

    id: str
    type: Literal["unknown"]
    sent_type: str
    timestamp: str
    data: Mapping[str, Any]


Event = Union[CallEvent, RequestFinishedEvent, TestEvent, UnknownEvent]


def verify_event(headers: Mapping[str, str], body: bytes, secrets: str | Sequence[str]) -> Event:
    """
    Verifies the signature of an event in constant time, and that it was sent within the last five minutes.

    body: the bytes as they came. secrets: the receiver's secret; while it is rotated, the new one and the former.
    Raises ValueError if the event is forged, changed or old, or a secret is malformed: answer 401.
    """
    if not isinstance(body, (bytes, bytearray)):
        raise TypeError("body must be the bytes as they came")
    given = {name.lower(): value for name, value in headers.items()}
    event_id, sent_at, signatures = (given.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    signed = f"{event_id}.{sent_at}.".encode() + bytes(body)
    listed = [secrets] if isinstance(secrets, str) else list(secrets)
    keys = [_to_key(text) for one in listed for text in one.split(",")]
    right = [b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256")) for key in keys]
    # Every pair is compared, each in constant time.
    matches = [hmac.compare_digest(one, two.encode()) for one in right for two in signatures.split()]
    is_recent = re.fullmatch(r"\d{1,12}", sent_at) is not None and abs(time.time() - int(sent_at)) <= 300
    if not any(matches) or not is_recent:
        raise ValueError("The event is not signed with this secret, or not of the last five minutes.")
    return _read_event(event_id, json.loads(body))


def _to_key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) < 24:  # anybody can sign with an empty one
        raise ValueError("secrets must be whsec_ and 24 or more bytes in base64")
    return key


def _read_event(event_id: str, found: Any) -> Event:
    sent = str(found.get("type"))
    timestamp, data = str(found.get("timestamp", "")), found.get("data", {})
    try:
        if sent in _CALL_EVENTS:
            kind: Any = sent
            return CallEvent(event_id, kind, timestamp, read_model(CallEventData, data))
        if sent == "request.finished":
            return RequestFinishedEvent(event_id, sent, timestamp, read_model(RequestFinishedData, data))
    except TypeError:  # it lacks a field: of another version, and authentic all the same
        return UnknownEvent(event_id, "unknown", sent, timestamp, data)
    if sent == "receiver.test":
        return TestEvent(event_id, sent, timestamp, data)
    return UnknownEvent(event_id, "unknown", sent, timestamp, data)
