"""Connections that send one request: a blocking one, and one of asyncio. No proxy of the environment is used."""

from __future__ import annotations

import asyncio
import queue
import socket
import ssl
import threading
import time
from typing import Any

from ._http import ERRORS, Address, NoAnswer, Outcome, Received, Request

_TIME_IS_OVER = "the time is over"


def create_context(address: Address, given: ssl.SSLContext | None) -> ssl.SSLContext | None:
    return (given or ssl.create_default_context()) if address.is_encrypted else None


class BlockingConnection:
    def __init__(self, address: Address, context: ssl.SSLContext | None):
        self._address, self._context = address, context

    def attempt(self, request: Request, seconds: float) -> Outcome:
        """Sends a request and reads its answer within so many seconds, however slowly its bytes come."""
        end = time.monotonic() + seconds
        try:
            connected = self._connect(end)
        except ERRORS as error:
            return self._address.not_sent(error)
        with connected:
            try:
                connected.settimeout(_left(end))
            except OSError as error:
                return self._address.not_sent(error)
            try:
                connected.sendall(self._address.to_bytes(request))  # within the timeout in all
                received = Received(request.method)
                while True:
                    connected.settimeout(_left(end))
                    data = connected.recv(65_536)
                    if not data or received.add(data):
                        return received.to_answer()
            except ERRORS as error:
                return NoAnswer(error)

    def _connect(self, end: float) -> socket.socket:
        failure: OSError = OSError("the host has no address")
        for family, kind, protocol, _, address in self._resolve(end):
            connecting = socket.socket(family, kind, protocol)
            try:
                connecting.settimeout(_left(end))
                connecting.connect(address)
                connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return self._encrypt(connecting, end)
            except OSError as error:
                connecting.close()
                failure = error
                if isinstance(error, ssl.SSLCertVerificationError):
                    break
        raise failure

    def _encrypt(self, connecting: socket.socket, end: float) -> socket.socket:
        if self._context is None:
            return connecting
        connecting.settimeout(_left(end))
        return self._context.wrap_socket(connecting, server_hostname=self._address.host)

    def _resolve(self, end: float) -> list[Any]:
        host, port = self._address.host, self._address.port
        if self._address.is_literal:
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        # The system's look-up knows no time limit, so it has a thread that may outlast this request.
        found: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def look_up() -> None:
            try:
                found.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
            except Exception as error:
                found.put(error)

        threading.Thread(target=look_up, daemon=True).start()
        try:
            addresses = found.get(timeout=_left(end))
        except queue.Empty:
            raise TimeoutError(f"looking up {host}: {_TIME_IS_OVER}") from None
        if isinstance(addresses, OSError):
            raise addresses
        if isinstance(addresses, Exception):  # a name that no look-up takes
            raise OSError(str(addresses)) from addresses
        return addresses


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError(_TIME_IS_OVER)
    return left


class AsyncConnection:
    def __init__(self, address: Address, context: ssl.SSLContext | None):
        self._address, self._context = address, context

    async def attempt(self, request: Request, seconds: float) -> Outcome:
        """Sends a request and reads its answer within so many seconds. A cancellation closes the connection."""
        sent = [False]
        try:
            return await asyncio.wait_for(self._exchange(request, sent), seconds)
        except (asyncio.TimeoutError, *ERRORS) as error:
            over = TimeoutError(_TIME_IS_OVER) if isinstance(error, asyncio.TimeoutError) else error
            return NoAnswer(over) if sent[0] else self._address.not_sent(over)

    async def _exchange(self, request: Request, sent: list[bool]) -> Outcome:
        host, port = self._address.host, self._address.port
        name = None if self._context is None else host
        reader, writer = await asyncio.open_connection(host, port, ssl=self._context, server_hostname=name)
        try:
            data = self._address.to_bytes(request)
            sent[0] = True
            writer.write(data)
            await writer.drain()
            received = Received(request.method)
            while True:
                chunk = await reader.read(65_536)
                if not chunk or received.add(chunk):
                    return received.to_answer()
        finally:
            writer.transport.abort()
