"""
One HTTP/1.1 request and its answer, as bytes: what the blocking and the asyncio connection have in common.

Each request has a connection of its own, so it is certain whether a byte of it has left: an error before the first byte is
`NotSent`, every one after it is `NoAnswer`.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

_ANSWER_MAX = 8 * 1024 * 1024


@dataclass(frozen=True)
class Request:
    method: str
    path: str  # with the query
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # by names in small letters
    body: bytes


@dataclass(frozen=True)
class NotSent:
    """Nothing left this machine. `is_repeatable`: another try may end otherwise."""

    error: Exception
    where: str
    is_repeatable: bool = True


@dataclass(frozen=True)
class NoAnswer:
    """Something may have left, and no answer came, or a part of one."""

    error: Exception


Outcome = Answer | NotSent | NoAnswer


class Address:
    """The service's address. Raises ValueError if a token would be sent without encryption, or the address is none."""

    def __init__(self, base_url: object):
        words = "base_url must be an address such as https://calls.example.com; plain http only to this machine"
        if not isinstance(base_url, str) or not base_url.isascii() or re.search(r"[\x00-\x20\x7f]", base_url):
            raise ValueError(words)
        try:
            parts = urlsplit(base_url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise ValueError(words) from None
        is_local = host in ("localhost", "::1") or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None
        if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_local)):
            raise ValueError(words)
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("base_url must have no user, query or fragment")
        self.is_encrypted = parts.scheme == "https"
        self.host = host
        self.port = port or (443 if self.is_encrypted else 80)
        self.path = parts.path.rstrip("/")
        bracketed = f"[{host}]" if ":" in host else host
        self.host_header = bracketed if port is None else f"{bracketed}:{port}"

    @property
    def is_literal(self) -> bool:
        """True if the host needs no look-up."""
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            return False
        return True

    def not_sent(self, error: Exception) -> NotSent:
        # A certificate that is not trusted stays so.
        is_repeatable = not isinstance(error, ssl.SSLCertVerificationError)
        return NotSent(error, f"{self.host}:{self.port}", is_repeatable)

    def to_bytes(self, request: Request) -> bytes:
        body = request.body or b""
        headers = {
            "Host": self.host_header,
            "Connection": "close",
            "Accept": "application/json, application/problem+json",
            "Accept-Encoding": "identity",
            **request.headers,
        }
        if request.body is not None or request.method in ("POST", "PUT"):
            headers["Content-Length"] = str(len(body))
        lines = [f"{request.method} {self.path}{request.path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
        if any(re.search(r"[\r\n\0]", line) for line in lines):
            raise ValueError("a header holds a line break")
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class Received:
    """The bytes of an answer, as they come."""

    def __init__(self, method: str):
        self._method, self._data = method, bytearray()
        self._end: int | None = None  # the length of the whole, once the head says so
        self._is_chunked = False
        self._is_head_read = False

    def add(self, data: bytes) -> bool:
        """Takes bytes. Returns True once the answer is whole: a server may keep its connection open all the same."""
        self._data += data
        if len(self._data) > _ANSWER_MAX:
            raise OSError("the answer is longer than 8 MiB")
        if not self._is_head_read and b"\r\n\r\n" in self._data:
            self._read_head(self._data.index(b"\r\n\r\n") + 4)
        if self._end is not None:
            return len(self._data) >= self._end
        return self._is_chunked and self._data.endswith(b"0\r\n\r\n") and self._is_parsable()

    def to_answer(self) -> Answer:
        """Parses the answer. Raises HTTPException or OSError if it was cut off."""
        if not self._is_head_read:
            raise http.client.RemoteDisconnected("the answer was cut off")
        parsed = http.client.HTTPResponse(_Bytes(bytes(self._data)), method=self._method)  # type: ignore[arg-type]
        parsed.begin()
        body = parsed.read()  # raises IncompleteRead
        return Answer(parsed.status, {k.lower(): v for k, v in parsed.getheaders()}, body)

    def _read_head(self, end: int) -> None:
        head = bytes(self._data[:end]).decode("latin-1").lower()
        self._is_head_read = True
        length = re.search(r"\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n", head)
        self._is_chunked = re.search(r"\r\ntransfer-encoding:[^\r]*chunked", head) is not None
        has_none = re.match(r"http/1\.\d (204|304)\b", head) is not None
        if has_none:
            self._end = end
        elif length is not None and not self._is_chunked:
            self._end = end + int(length[1])

    def _is_parsable(self) -> bool:
        try:
            self.to_answer()
        except (http.client.HTTPException, OSError, ValueError):
            return False
        return True


class _Bytes:
    """What http.client takes for a socket."""

    def __init__(self, data: bytes):
        self._data = data

    def makefile(self, *_: Any) -> io.BytesIO:
        return io.BytesIO(self._data)


# Errors of a connection and of an answer that cannot be read.
ERRORS = (OSError, http.client.HTTPException, ValueError)
