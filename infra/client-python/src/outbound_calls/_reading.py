"""What is not placing: requests and calls, waiting, cancelling, and the client's own account."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlencode

from ._errors import Failure, OutboundCallsError
from ._http import Request
from ._models import Cancelled, ListedRequest, RequestStatus, SentFile, read_model
from ._placing import Sender, part_key
from ._sending import Sending, Sleep, Steps, read_json, send, unexpected

Model = TypeVar("Model")

# Seconds between two looks at a request: the first wait, and the longest.
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 30.0
# A look within fewer seconds would only say that there was none.
_SHORTEST_LOOK = 0.02
PAGE = 200


@dataclass(frozen=True)
class Asked:
    """A request that is answered with JSON."""

    method: str
    path: str
    query: Mapping[str, object] | None = None
    body: Mapping[str, Any] | None = None
    status: int = 200
    is_once: bool = False


def ask(sender: Sender, asked: Asked, timeout: float | None) -> Steps[Mapping[str, Any]]:
    query = {name: value for name, value in (asked.query or {}).items() if value is not None}
    path = f"{asked.path}?{urlencode(query)}" if query else asked.path
    headers = {"Authorization": f"Bearer {sender.token}"}
    body = None
    if asked.body is not None:
        headers["Content-Type"], body = "application/json", json.dumps(asked.body).encode()
    request = Request(asked.method, path, headers, body)
    answer = yield from send(request, Sending(sender.bounds, timeout, (asked.status,), is_once=asked.is_once))
    return read_json(answer)


def ask_model(sender: Sender, model: type[Model], asked: Asked, timeout: float | None) -> Steps[Model]:
    return to_model(model, (yield from ask(sender, asked, timeout)))


def to_model(model: type[Model], found: object) -> Model:
    try:
        return read_model(model, found)
    except TypeError:
        raise unexpected(200, f"The answer is no {model.__name__}.") from None


def ask_page(
    sender: Sender, model: type[Model], listed: tuple[Asked, str], timeout: float | None
) -> Steps[tuple[list[Model], str | None]]:
    """Asks for one page. `listed` has the name of its list."""
    asked, name = listed
    found = yield from ask(sender, asked, timeout)
    items = found.get(name)
    if not isinstance(items, list):
        raise unexpected(200, f"The answer has no {name}.")
    return [to_model(model, one) for one in items], found.get("cursor")


def wait_for_request(sender: Sender, request_id: str, timeout: float) -> Steps[RequestStatus]:
    end = time.time() + timeout
    delay, failing_since, last = _FIRST_WAIT, None, None
    once = replace(sender, bounds=replace(sender.bounds, tries=1))
    while True:
        looked_at, after = time.time(), 0.0
        if looked_at >= end:
            raise _timed_out(request_id, timeout, last) from last
        try:
            asked = Asked("GET", f"/v1/requests/{request_id}")
            found = yield from ask_model(once, RequestStatus, asked, end - looked_at)
            if found.finished:
                return found
            failing_since, last = None, None
        except OutboundCallsError as error:
            if not _may_come(error):
                raise
            last, after = error, error.retry_after or 0
            failing_since = None if error.status == 404 else failing_since or looked_at
        left = end - time.time()
        if left > _SHORTEST_LOOK and failing_since and time.time() - failing_since >= sender.bounds.timeout:
            # A service that answers nothing for as long as any request is repeated is not waited for.
            assert last is not None
            raise last
        if left > _SHORTEST_LOOK:
            yield Sleep(min(left, max(delay, after)))
        if end - time.time() <= _SHORTEST_LOOK:
            raise _timed_out(request_id, timeout, last) from last
        delay = min(_LONGEST_WAIT, delay * 1.5)


def _may_come(error: OutboundCallsError) -> bool:
    """True for an error after which the request may still be found: no answer, or a 404 that says when to ask again."""
    is_on_its_way = error.status == 404 and error.retry_after is not None
    return error.type in ("unavailable", "not_sent") or is_on_its_way


def _timed_out(request_id: str, timeout: float, last: OutboundCallsError | None) -> OutboundCallsError:
    said = f" The last look: {last}" if last else ""
    words = f"The request was not finished within {timeout:g} s.{said}"
    status = last.status if last else None
    return OutboundCallsError(Failure("timed_out", words, status=status, request_id=request_id))


def cancel_request(
    sender: Sender, request_id: str, indexes: Sequence[int] | None, timeout: float | None
) -> Steps[Cancelled]:
    cancelled, ordered, cursor = 0, None, None
    while True:
        body = {"indexes": indexes, "cursor": cursor}
        given = {name: value for name, value in body.items() if value is not None}
        asked = Asked("POST", f"/v1/requests/{request_id}/cancel", body=given)
        found = yield from ask(sender, asked, timeout)
        cancelled += int(found.get("cancelled", 0))
        ordered = found.get("ordered") if ordered is None else ordered
        cursor = found.get("cursor")
        if cursor is None:
            return Cancelled(cancelled, ordered)


def cancel_call(sender: Sender, call_id: str, timeout: float | None) -> Steps[None]:
    yield from ask(sender, Asked("POST", f"/v1/calls/{call_id}/cancel", body={}), timeout)


def find_request(sender: Sender, key: str, timeout: float | None) -> Steps[ListedRequest | None]:
    """Finds the request of a key, or the first part of a list's."""
    end = time.time() + (sender.bounds.timeout if timeout is None else timeout)
    for one in (key, part_key(key, 0)):
        asked = Asked("GET", "/v1/requests", {"idempotency_key": one})
        left = max(0.0, end - time.time())
        found, _ = yield from ask_page(sender, ListedRequest, (asked, "requests"), left)
        if found:
            return found[0]
    return None


def find_sent_file(sender: Sender, file: str, timeout: float | None) -> Steps[SentFile | None]:
    asked = Asked("POST", "/v1/sent-files/find", body={"file": file})
    found = yield from ask(sender, asked, timeout)
    sent = found.get("sent")
    return None if sent is None else to_model(SentFile, sent)


def delete_receiver(sender: Sender, name: str, timeout: float | None) -> Steps[None]:
    """Deletes a receiver. A repeat after a lost answer finds nothing more, which is no error."""
    end = time.time() + (sender.bounds.timeout if timeout is None else timeout)
    tries = 0
    while True:
        tries += 1
        once = replace(sender, bounds=replace(sender.bounds, tries=1))
        asked = Asked("DELETE", f"/v1/receivers/{name}")
        try:
            yield from ask(once, asked, max(0.0, end - time.time()))
            return
        except OutboundCallsError as error:
            if error.status == 404 and tries > 1:
                return
            wait = max(sender.bounds.delay * 2 ** (tries - 1), error.retry_after or 0)
            is_over = tries >= sender.bounds.tries or time.time() + wait >= end
            if error.type not in ("unavailable", "not_sent") or is_over:
                raise
        yield Sleep(wait)
