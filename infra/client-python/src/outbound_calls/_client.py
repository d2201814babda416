"""
The blocking client.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, TypeVar

from ._base import Base
from ._checks import (
    check_call_id,
    check_indexes,
    check_key,
    check_receiver,
    check_request_id,
    check_seconds,
    check_timeout,
    to_call,
    to_calls,
    to_instant,
)
from ._connections import BlockingConnection
from ._http import Outcome
from ._models import (
    CallState,
    CallStatus,
    Cancelled,
    Delivery,
    ListedRequest,
    PlacedCalls,
    PlacedRequest,
    Receiver,
    RequestedCall,
    RequestStatus,
    ResultStatus,
    SentFile,
    SentPart,
    Token,
    Usage,
)
from ._placing import place_call, place_calls
from ._reading import (
    PAGE,
    Asked,
    ask,
    ask_model,
    ask_page,
    cancel_call,
    cancel_request,
    delete_receiver,
    find_request,
    find_sent_file,
    wait_for_request,
)
from ._sending import Attempt, Steps

Model = TypeVar("Model")


class OutboundCalls(Base):
    """
    A client of Outbound Calls. It holds no connection, and threads may share it.

        calls = OutboundCalls("https://calls.example.com", token)
        placed = calls.place_call({"phone_number": "+12025550123", "agent_id": "agent_sales"})
        request = calls.wait_for_request(placed.request_id)

    Each method repeats what had no answer, ends within its `timeout`, and raises OutboundCallsError in the end. A wrong
    argument raises ValueError or TypeError by its name, and then nothing was sent.
    """

    def place_call(
        self,
        call: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        not_before: datetime | str | None = None,
        urgent: bool = False,
        campaign: str | None = None,
        timeout: float | None = None,
    ) -> PlacedRequest:
        """
        Places one call. Every try has the same Idempotency-Key, so that no try calls anybody twice.

        idempotency_key: names the request for 24 hours. Set it to an id of your own, such as that of the appointment, if
            your process may end before the answer. Default: a random one.
        not_before: no call is dialed before this time: a datetime with a time zone, or a text of RFC 3339.
        """
        placing = self._placing(idempotency_key, (not_before, urgent, campaign), timeout)
        return self._run(place_call(self._sender, to_call(call), placing))

    def place_calls(
        self,
        calls: Sequence[Mapping[str, Any]],
        *,
        idempotency_key: str | None = None,
        not_before: datetime | str | None = None,
        urgent: bool = False,
        campaign: str | None = None,
        timeout: float | None = None,
    ) -> PlacedCalls:
        """
        Places any number of calls, in parts of at most 10,000 and 4 MiB, one after another. A part is accepted whole or not
        at all. The same list under the same key has the same parts, and calls nobody twice. `timeout` is that of the whole.
        """
        placing = self._placing(idempotency_key, (not_before, urgent, campaign), timeout)
        return self._run(place_calls(self._sender, to_calls(calls), placing))

    def get_request(self, request_id: str, *, timeout: float | None = None) -> RequestStatus:
        """Reads the status of a request, with its first calls."""
        asked = Asked("GET", f"/v1/requests/{check_request_id(request_id)}")
        return self._model(RequestStatus, asked, timeout)

    def get_call(self, call_id: str, *, timeout: float | None = None) -> CallStatus:
        """Reads one call with its history."""
        return self._model(CallStatus, Asked("GET", f"/v1/calls/{check_call_id(call_id)}"), timeout)

    def find_request(self, idempotency_key: str, *, timeout: float | None = None) -> ListedRequest | None:
        """
        Finds the request of a key of the last 24 hours; of a list the request of its first part. None: nothing was accepted
        under it up to now. If it is None, or `known` is False, repeat under the same key: a request that is not known yet may
        never come, and a list may have been accepted in part.
        """
        check_timeout(timeout)
        return self._run(find_request(self._sender, check_key(idempotency_key), timeout))

    def wait_for_request(self, request_id: str, *, timeout: float = 600) -> RequestStatus:
        """
        Waits until all calls of a request have ended, or wait for an operator. Ends within `timeout`, with an error of the
        type "timed_out" whose cause is the last error. Passes over a service that does not answer, for as long as the
        client's own `timeout`.
        """
        check_seconds("timeout", timeout)
        return self._run(wait_for_request(self._sender, check_request_id(request_id), timeout))

    def cancel_call(self, call_id: str, *, timeout: float | None = None) -> None:
        """Cancels one waiting call, such as a promised call-back. It may be repeated."""
        check_timeout(timeout)
        self._run(cancel_call(self._sender, check_call_id(call_id), timeout))

    def cancel_request(
        self, request_id: str, *, indexes: Sequence[int] | None = None, timeout: float | None = None
    ) -> Cancelled:
        """Cancels the waiting calls of a request, or those of `indexes`. It may be repeated."""
        check_timeout(timeout)
        checked = check_indexes(indexes)
        return self._run(cancel_request(self._sender, check_request_id(request_id), checked, timeout))

    def list_calls(
        self,
        request_id: str,
        *,
        state: CallState | None = None,
        result: ResultStatus | None = None,
        timeout: float | None = None,
    ) -> Iterator[RequestedCall]:
        """Yields the calls of a request, or those in a state or with a result. `timeout` is that of each page."""
        is_filtered = state is not None or result is not None
        path = f"/v1/requests/{check_request_id(request_id)}{'/calls' if is_filtered else ''}"
        asked = Asked("GET", path, {"state": state, "result": result})
        return self._pages(RequestedCall, (asked, "calls"), timeout)

    def list_requests(
        self,
        *,
        start: str | None = None,
        to: str | None = None,
        campaign: str | None = None,
        timeout: float | None = None,
    ) -> Iterator[ListedRequest]:
        """Yields the client's requests, newest first, of days or instants such as 2026-11-21."""
        asked = Asked("GET", "/v1/requests", {"from": start, "to": to, "campaign": campaign})
        return self._pages(ListedRequest, (asked, "requests"), timeout)

    def get_token(self, *, timeout: float | None = None) -> Token:
        """Returns whose token the client sends, and what it may do."""
        return self._model(Token, Asked("GET", "/v1/me"), timeout)

    def get_usage(
        self,
        *,
        start: str | None = None,
        to: str | None = None,
        group_by: Literal["day", "agent", "campaign"] = "day",
        timeout: float | None = None,
    ) -> Usage:
        """Sums the client's calls, their seconds and cost, from one day in UTC to another, at most 31."""
        asked = Asked("GET", "/v1/usage", {"from": start, "to": to, "group_by": group_by})
        return self._model(Usage, asked, timeout)

    def add_opt_outs(
        self,
        phone_numbers: Sequence[str],
        *,
        scope: Literal["deployment", "client"] = "deployment",
        reason: str = "opt_out",
        timeout: float | None = None,
    ) -> int:
        """Puts numbers onto the do-not-call list. Returns how many."""
        check_timeout(timeout)
        if isinstance(phone_numbers, str):
            raise TypeError("phone_numbers must be a sequence of numbers")
        body = {"phone_numbers": list(phone_numbers), "scope": scope, "reason": reason}
        found = self._run(ask(self._sender, Asked("POST", "/v1/do-not-call", body=body), timeout))
        return int(found.get("added", 0))

    def list_receivers(self, *, timeout: float | None = None) -> list[Receiver]:
        """Lists the client's own receivers of events."""
        found, _ = self._page(Receiver, (Asked("GET", "/v1/receivers"), "receivers"), timeout)
        return found

    def put_receiver(
        self,
        name: str,
        url: str,
        *,
        types: Sequence[str] | None = None,
        echo: Sequence[str] = (),
        requests_per_second: float = 20,
        timeout: float | None = None,
    ) -> Receiver:
        """Creates a receiver, or replaces it. It has its secret only when it is created."""
        body: dict[str, Any] = {"url": url, "echo": list(echo), "requests_per_second": requests_per_second}
        if types is not None:
            body["types"] = list(types)
        asked = Asked("PUT", f"/v1/receivers/{check_receiver(name)}", body=body)
        return self._model(Receiver, asked, timeout)

    def delete_receiver(self, name: str, *, timeout: float | None = None) -> None:
        """Removes a receiver. Its pending events are not delivered."""
        check_timeout(timeout)
        self._run(delete_receiver(self._sender, check_receiver(name), timeout))

    def rotate_secret(self, name: str, *, timeout: float | None = None) -> Receiver:
        """Makes a new secret. It is not repeated after a lost answer: each rotation ends the secret before the last."""
        asked = Asked("POST", f"/v1/receivers/{check_receiver(name)}/rotate-secret", is_once=True)
        return self._model(Receiver, asked, timeout)

    def test_receiver(self, name: str, *, timeout: float | None = None) -> str:
        """Sends a signed `receiver.test` event. Returns its id."""
        check_timeout(timeout)
        asked = Asked("POST", f"/v1/receivers/{check_receiver(name)}/test", status=202)
        found = self._run(ask(self._sender, asked, timeout))
        return str(found.get("event_id"))

    def replay_receiver(
        self, name: str, *, start: datetime | str, until: datetime | str, timeout: float | None = None
    ) -> None:
        """Delivers events again, of calls accepted in this time. Once a minute for each receiver."""
        check_timeout(timeout)
        body = {"from": to_instant("start", start), "until": to_instant("until", until)}
        path = f"/v1/receivers/{check_receiver(name)}/replay"
        self._run(ask(self._sender, Asked("POST", path, body=body, status=202, is_once=True), timeout))

    def list_deliveries(self, name: str, *, timeout: float | None = None) -> Iterator[Delivery]:
        """Yields the tries to deliver events to a receiver, newest first."""
        asked = Asked("GET", f"/v1/receivers/{check_receiver(name)}/deliveries")
        return self._pages(Delivery, (asked, "deliveries"), timeout)

    def find_sent_file(self, file: str, *, timeout: float | None = None) -> SentFile | None:
        """Finds a file of leads by the SHA-256 of its sorted numbers. None: your client has not sent it."""
        check_timeout(timeout)
        return self._run(find_sent_file(self._sender, file, timeout))

    def start_sent_file(
        self,
        file: str,
        *,
        campaign: str,
        parts: Sequence[Mapping[str, Any]],
        again: int | None = None,
        timeout: float | None = None,
    ) -> SentFile:
        """
        Begins to send a file, or continues it. `parts` are the `digest` and the number of `calls` of each. A file that
        was sent is refused, unless `again` names the round after which it is sent once more.
        """
        body: dict[str, Any] = {"file": file, "campaign": campaign, "parts": list(parts)}
        if again is not None:
            body["again"] = again
        return self._model(SentFile, Asked("POST", "/v1/sent-files", body=body), timeout)

    def mark_sent_part(
        self,
        file: str,
        *,
        round: int,
        index: int,
        state: Literal["planned", "begun", "sent", "refused"],
        content: str | None = None,
        attempt: str | None = None,
        left_out: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> SentPart:
        """
        Notes that a part is sent next ("begun", with `content` and `attempt`), was accepted ("sent", with `request_id`), or
        was certainly not accepted ("refused", with `attempt`; "planned").
        """
        given = {"content": content, "attempt": attempt, "left_out": left_out, "request_id": request_id}
        body: dict[str, Any] = {"file": file, "round": round, "index": index, "state": state}
        body |= {name: value for name, value in given.items() if value is not None}
        return self._model(SentPart, Asked("POST", "/v1/sent-files/parts", body=body), timeout)

    def _run(self, steps: Steps[Model]) -> Model:
        outcome: Outcome | None = None
        connection = BlockingConnection(self._address, self._context)
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return end.value
            outcome = None
            try:
                if isinstance(step, Attempt):
                    outcome = connection.attempt(step.request, step.seconds)
                else:
                    time.sleep(step.seconds)
            except BaseException as error:  # such as KeyboardInterrupt: the key's memory must know of it
                steps.throw(error)
                raise

    def _model(self, model: type[Model], asked: Asked, timeout: float | None) -> Model:
        check_timeout(timeout)
        return self._run(ask_model(self._sender, model, asked, timeout))

    def _page(
        self, model: type[Model], listed: tuple[Asked, str], timeout: float | None
    ) -> tuple[list[Model], str | None]:
        check_timeout(timeout)
        return self._run(ask_page(self._sender, model, listed, timeout))

    def _pages(self, model: type[Model], listed: tuple[Asked, str], timeout: float | None) -> Iterator[Model]:
        check_timeout(timeout)  # at once, not at the first item
        return self._all_pages(model, listed, timeout)

    def _all_pages(self, model: type[Model], listed: tuple[Asked, str], timeout: float | None) -> Iterator[Model]:
        (asked, name), cursor = listed, None
        while True:
            query = {**(asked.query or {}), "limit": PAGE, "cursor": cursor}
            items, cursor = self._page(model, (replace(asked, query=query), name), timeout)
            yield from items
            if cursor is None:
                return
