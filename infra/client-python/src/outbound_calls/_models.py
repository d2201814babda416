"""What the service answers, as dataclasses. Fields that a later version adds are in `raw`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar

CallState = Literal[
    "WAITING", "DIALING", "UNKNOWN", "NEEDS_REVIEW", "PLACED", "REJECTED", "EXPIRED", "CANCELLED", "REDIALED"
]
ResultStatus = Literal[
    "live", "completed", "no_answer", "busy", "declined", "voicemail", "failed", "invalid", "blocked", "unknown"
]
Raw = Mapping[str, Any]


def _raw() -> Any:
    return field(default_factory=dict[str, Any], repr=False, compare=False)


def _nested(of: type, **default: Any) -> Any:
    return field(metadata={"of": of}, **default)


@dataclass(frozen=True)
class PlacedRequest:
    """An accepted request: each of its calls is dialed once, at a permitted hour, or you can see why not."""

    request_id: str
    call_ids: list[str]  # in the order in which the calls were passed
    replayed: bool  # an earlier request, or an earlier try of this one, had been accepted under the key
    idempotency_key: str  # after place_calls, the one of the part


@dataclass(frozen=True)
class PlacedCalls:
    """All accepted parts of a list of calls."""

    requests: list[PlacedRequest]
    call_ids: list[str]
    replayed: bool  # every part had been accepted before
    idempotency_key: str  # the key of the whole, under which to repeat it


@dataclass(frozen=True)
class Cancelled:
    cancelled: int  # waiting calls that this has cancelled
    ordered: int | None  # calls that the cancellation ends in all; None if no request can have the id


@dataclass(frozen=True)
class Cost:
    amount: str
    currency: str
    raw: Raw = _raw()


@dataclass(frozen=True)
class Result:
    """How a placed call ended."""

    status: ResultStatus
    human: bool | None = None
    word: str | None = None
    answered_at: str | None = None
    ended_at: str | None = None
    seconds: float | None = None
    cost: Cost | None = _nested(Cost, default=None)
    raw: Raw = _raw()


@dataclass(frozen=True)
class CallBack:
    """The outcome of a callee's wish to be called back. `by`: `service`, or `nobody`, and then `reason` says why."""

    by: str
    at: str | None = None
    call_id: str | None = None
    reason: str | None = None
    raw: Raw = _raw()


@dataclass(frozen=True)
class Try:
    id: str
    state: CallState
    reason: str
    due_at: str | None = None
    result: Result | None = _nested(Result, default=None)
    raw: Raw = _raw()


@dataclass(frozen=True)
class RequestedCall:
    """A call of a request."""

    id: str
    index: int
    state: CallState
    reason: str
    due_at: str | None = None
    result: Result | None = _nested(Result, default=None)
    tries: list[Try] | None = _nested(Try, default=None)
    call_back: CallBack | None = _nested(CallBack, default=None)
    raw: Raw = _raw()


@dataclass(frozen=True)
class Step:
    """A step of a call's history."""

    at: str
    state: CallState
    reason: str
    due_at: str | None = None
    number: int | None = field(default=None, metadata={"name": "try"})  # of the try
    raw: Raw = _raw()


@dataclass(frozen=True)
class CallStatus:
    """One call, with its history."""

    id: str
    index: int
    state: CallState
    reason: str
    request_id: str
    accepted_at: str
    history: list[Step] = _nested(Step)
    due_at: str | None = None
    result: Result | None = _nested(Result, default=None)
    tries: list[Try] | None = _nested(Try, default=None)
    call_back: CallBack | None = _nested(CallBack, default=None)
    not_before: str | None = None
    urgent: bool | None = None
    campaign: str | None = None
    split: str | None = None
    redial_of: str | None = None
    redialed_as: str | None = None
    raw: Raw = _raw()


@dataclass(frozen=True)
class Counts:
    """Numbers of calls."""

    by_state: Mapping[str, int]
    by_result: Mapping[str, int]
    promised: int | None = None
    raw: Raw = _raw()


@dataclass(frozen=True)
class RequestStatus:
    """The status of a request, with its first calls."""

    id: str
    accepted_at: str
    total: int
    calls: list[RequestedCall] = _nested(RequestedCall)
    counts: Counts | None = _nested(Counts, default=None)
    finished: bool | None = None
    not_before: str | None = None
    urgent: bool | None = None
    campaign: str | None = None
    test: bool | None = None
    cursor: str | None = None
    raw: Raw = _raw()


@dataclass(frozen=True)
class ListedRequest:
    """A request of list_requests."""

    id: str
    accepted_at: str
    total: int
    known: bool
    counts: Counts | None = _nested(Counts, default=None)  # of requests of at most 10 calls, as finished
    finished: bool | None = None
    not_before: str | None = None
    urgent: bool | None = None
    campaign: str | None = None
    redial_of: str | None = None
    raw: Raw = _raw()


@dataclass(frozen=True)
class UsageSums:
    accepted: int
    placed: int
    answered: int
    seconds: int
    cost: list[Cost] = _nested(Cost)
    day: str | None = None
    agent_id: str | None = None
    campaign: str | None = None
    raw: Raw = _raw()


@dataclass(frozen=True)
class Usage:
    """Numbers, seconds and cost of the client's calls."""

    start: str = field(metadata={"name": "from"})
    to: str
    read_from: str
    rows_left_out: int
    total: UsageSums = _nested(UsageSums)
    rows: list[UsageSums] = _nested(UsageSums)
    raw: Raw = _raw()


@dataclass(frozen=True)
class Token:
    """Whose token the client sends, and what it may do."""

    token_id: str
    client: str
    mode: Literal["real", "test"]
    calls_as: str
    agents: list[str]
    rights: list[str]
    raw: Raw = _raw()


@dataclass(frozen=True)
class Receiver:
    """A receiver of events. It has a secret only when it is created or its secret is rotated."""

    name: str
    url: str
    types: list[str]
    echo: list[str]
    requests_per_second: float
    created_at: str
    rotated_at: str | None = None
    former_secret_until: str | None = None
    rotate_secret: bool = False
    secret: str | None = field(default=None, repr=False)
    raw: Raw = _raw()


@dataclass(frozen=True)
class Delivery:
    """One try to deliver an event to a receiver."""

    at: str
    event_id: str
    type: str
    ms: int
    status: int | None = None
    error: str | None = None
    number: int | None = field(default=None, metadata={"name": "try"})  # of the try
    raw: Raw = _raw()


@dataclass(frozen=True)
class SentPart:
    """A part of a file of leads, which one request sends under the part's idempotency_key."""

    index: int
    calls: int  # leads of the part, with those that are left out
    idempotency_key: str
    state: Literal["planned", "begun", "sent"]
    is_lost: bool  # its answer was lost too long ago to repeat it: say by "sent" or "planned" whether it was accepted
    left_out: str  # base64 of a bit for each lead that its request leaves out
    begun_at: str | None = None
    request_id: str | None = None
    raw: Raw = _raw()


@dataclass(frozen=True)
class SentFile:
    """A file of leads, with what is known of each part."""

    campaign: str
    round: int  # how often it was sent, from 1
    at: str  # when this round began
    is_finished: bool
    parts: list[SentPart] = _nested(SentPart)
    raw: Raw = _raw()


Model = TypeVar("Model")


def read_model(model: type[Model], found: object) -> Model:
    """Reads an answer. Raises TypeError if it lacks a field."""
    if not isinstance(found, Mapping):
        raise TypeError(f"{model.__name__} must be an object")
    values: dict[str, Any] = {}
    for one in fields(model):  # type: ignore[arg-type] # each of these is a dataclass
        name = one.metadata.get("name", one.name)
        if one.name == "raw":
            # A secret is shown only by its own field, whose owner meant to read it.
            values["raw"] = {key: value for key, value in found.items() if key != "secret"}
        elif name in found:
            values[one.name] = _read_value(one.metadata.get("of"), found[name])
    return model(**values)


def _read_value(of: type | None, value: Any) -> Any:
    if of is None or value is None:
        return value
    return [read_model(of, one) for one in value] if isinstance(value, list) else read_model(of, value)
