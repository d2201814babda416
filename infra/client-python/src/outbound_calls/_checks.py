"""Checks of what a program passes, before anything is sent. Each error names the argument, and never shows the value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from unicodedata import category
from urllib.parse import quote

from ._http import Address

# RFC 3339 with seconds and an offset, as the service takes it.
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def check_client(base_url: object, token: object, seconds: Mapping[str, object], tries: object) -> Address:
    address = Address(base_url)
    if not isinstance(token, str) or not re.fullmatch(r"[!-~]+", token):
        raise ValueError("token must be a token: printable ASCII without spaces")
    for name, value in seconds.items():
        check_seconds(name, value)
    if not isinstance(tries, int) or isinstance(tries, bool) or tries < 1:
        raise ValueError("tries must be a whole number from 1")
    return address


def check_seconds(name: str, value: object) -> None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not value >= 0:  # type: ignore[operator]
        raise ValueError(f"{name} must be a number of seconds from 0")


def check_timeout(value: object) -> None:
    if value is not None:
        check_seconds("timeout", value)


def check_key(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[!-+\--~]([ -+\--~]{0,238}[!-+\--~])?", value):
        words = "1 to 240 printable ASCII characters without a comma, and without spaces at its ends"
        raise ValueError(f"idempotency_key must be {words}")
    return value


def check_request_id(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}", value):
        raise ValueError("request_id must be the 26 characters of an X-Request-Id")
    return value


def check_call_id(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"call_[0-9A-Za-z_]{1,60}", value):
        raise ValueError("call_id must be a call's id, such as call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000")
    return value


def check_receiver(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,31}", value):
        words = "1 to 32 of a to z, 0 to 9, - and _, and begin with a letter or digit"
        raise ValueError(f"name must be {words}")
    return value


def to_instant(name: str, value: object) -> str:
    """Returns a time as RFC 3339. A datetime without a time zone would be of no certain time."""
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise ValueError(f"{name} must have a time zone: a datetime with tzinfo, or a text of RFC 3339")
        return value.isoformat(timespec="microseconds")
    if not isinstance(value, str) or not _INSTANT.fullmatch(value):
        raise ValueError(f"{name} must be a datetime with a time zone, or a text such as 2026-11-21T09:00:00Z")
    return value


def place_headers(not_before: object, urgent: object, campaign: object) -> dict[str, str]:
    headers: dict[str, str] = {}
    if not_before is not None:
        headers["Call-Not-Before"] = to_instant("not_before", not_before)
    if not isinstance(urgent, bool):
        raise ValueError("urgent must be True or False")
    if urgent:
        headers["Call-Priority"] = "urgent"
    if campaign is not None:
        headers["Call-Campaign"] = _campaign_header(campaign)
    return headers


def _campaign_header(name: object) -> str:
    """A name beyond ASCII is encoded as RFC 8187 does: UTF-8''Fr%C3%BChling."""
    is_name = isinstance(name, str) and 1 <= len(name) <= 64 and name.strip(" ") == name
    if not is_name or any(one != " " and category(one)[0] in "CZ" for one in str(name)):
        raise ValueError("campaign must be 1 to 64 characters, without spaces at its ends or control characters")
    text = str(name)
    if text.isascii() and not text.upper().startswith("UTF-8'"):
        return text
    return f"UTF-8''{quote(text, safe='')}"


def to_call(value: object) -> bytes:
    if not isinstance(value, Mapping):
        raise TypeError("call must be a mapping, such as a dict")
    # A text beyond ASCII would be three times as long with escapes, and too long for the service.
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # an unpaired surrogate, which the service refuses by its pointer
        return json.dumps(value).encode()


def to_calls(value: object) -> list[bytes]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise TypeError("calls must be a sequence of calls")
    return [to_call(one) for one in value]


def check_indexes(value: object) -> list[int] | None:
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise ValueError("indexes must be a sequence of whole numbers from 0")
    listed: list[Any] = list(value)
    if not all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in listed):
        raise ValueError("indexes must be a sequence of whole numbers from 0")
    return listed
