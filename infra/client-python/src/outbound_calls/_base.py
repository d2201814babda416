"""What both clients are made of."""

from __future__ import annotations

import ssl

from ._checks import check_client, check_key, check_timeout, place_headers
from ._connections import create_context
from ._keys import KeyMemory
from ._placing import Placing, Sender, new_key
from ._sending import Bounds


class Base:
    """
    base_url: the service's address, with the stage on AWS. Plain http is for this machine alone.
    timeout: seconds after which a method has ended, with all tries and waits; of lists, for each page. At most 23 hours.
    try_timeout: seconds of one try. The service answers within 30 s or not at all.
    tries: tries in all. delay: the wait after the first, which doubles with each, up to delay_max.
    ssl_context: instead of the default one, such as for a private authority.
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        timeout: float = 120,
        try_timeout: float = 35,
        tries: int = 8,
        delay: float = 0.5,
        delay_max: float = 20,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        seconds = {"timeout": timeout, "try_timeout": try_timeout, "delay": delay, "delay_max": delay_max}
        self._address = check_client(base_url, token, seconds, tries)
        self._context = create_context(self._address, ssl_context)
        self._sender = Sender(token, Bounds(tries=tries, **seconds), KeyMemory())

    def _placing(
        self, idempotency_key: str | None, when: tuple[object, object, object], timeout: float | None
    ) -> Placing:
        check_timeout(timeout)
        key = new_key() if idempotency_key is None else check_key(idempotency_key)
        return Placing(place_headers(*when), key, idempotency_key is None, timeout)
