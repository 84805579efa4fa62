"""A model behind an OpenAI-compatible server, using only the standard library."""

from __future__ import annotations

import email.utils
import http.client
import json
import ssl
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from ._errors import ModelError

# All servers accept this many stop sequences.
_STOPS = 4
# The longest wait, in seconds, that a server may ask for before the next attempt.
_LONGEST = 60.0
_RETRIES = 3


class Server:
    """Streams `/v1/chat/completions` from a server. Yields the body in pieces.

    A request is repeated up to three times, after the time that the server asks for (`Retry-After`), if it is refused with
    status 429 or 5xx, or if the connection fails. Once a response has begun, its request is never repeated.
    """

    def __init__(self, address: str, name: str, key: str | None, request: Mapping[str, Any], patience: float) -> None:
        url = urllib.parse.urlsplit(address)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError(f"model={address!r}: the address of a server begins with http:// or https://")
        path = url.path.rstrip("/")
        if not path:
            path = "/v1"
        if not path.endswith("/chat/completions"):
            path += "/chat/completions"
        self._url = url
        self._path = f"{path}?{url.query}" if url.query else path
        self._name = name
        self._key = key
        self._request = dict(request)
        self._patience = patience

    def __call__(
        self, messages: list[Any], *, tools: list[Any] | None = None, stop: list[str] | None = None, grammar: str | None = None
    ) -> Iterator[bytes]:
        """Yields the response in pieces."""
        body: dict[str, Any] = {**self._request, "model": self._name, "messages": messages, "stream": True}
        if tools:
            body["tools"] = tools
        if stop:
            body["stop"] = stop[:_STOPS]
        if grammar:
            body["grammar"] = grammar
        connection, answer = self._answer(json.dumps(body).encode())
        try:
            while piece := answer.read1(65536):
                yield piece
        except (OSError, http.client.HTTPException) as error:
            raise ModelError(f"{self._where()}: the reply broke off: {_words(error)}") from None
        finally:
            connection.close()

    def _answer(self, body: bytes) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        tries = 0
        while True:
            wait: float | None
            connection = self._connection()
            try:
                connection.request("POST", self._path, body, self._headers())
                answer = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                why, wait = _words(error), None
                again = not isinstance(error, ssl.SSLError)
            else:
                if 200 <= answer.status < 300:
                    return connection, answer
                why, again = _refused(answer), answer.status == 429 or answer.status >= 500
                wait = _retry_after(answer.headers.get("retry-after"))
                connection.close()
            wait = 0.5 * 2**tries if wait is None else wait
            if wait > _LONGEST:
                raise ModelError(f"{self._where()}: {why}; it asks to wait for {wait:.0f} s")
            if not again or tries >= _RETRIES:
                raise ModelError(f"{self._where()}: {why}")
            time.sleep(wait)
            tries += 1

    def _connection(self) -> http.client.HTTPConnection:
        host, port = str(self._url.hostname), self._url.port
        if self._url.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=self._patience, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=self._patience)

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        return headers

    def _where(self) -> str:
        # Without user name and password.
        port = f":{self._url.port}" if self._url.port else ""
        return f"{self._url.scheme}://{self._url.hostname}{port}"

    def __repr__(self) -> str:
        return f"Server({self._where()!r}, {self._name!r})"


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _refused(answer: http.client.HTTPResponse) -> str:
    """The error message that a server sends in place of a response."""
    try:
        text = answer.read(4096).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        text = ""
    try:
        said = json.loads(text)
        said = said.get("error", said) if isinstance(said, dict) else said
        text = said.get("message", text) if isinstance(said, dict) else str(said)
    except ValueError:
        pass
    return f"HTTP {answer.status} {answer.reason}: {text.strip()}".rstrip(": ")


def _retry_after(said: str | None) -> float | None:
    if said is None:
        return None
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
