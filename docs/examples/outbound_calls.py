"""
Places calls through Outbound Calls, and verifies its events. Python 3.9 or newer, without packages.
The Idempotency-Key is made before the first try and kept through all tries, so no retry calls anybody twice.

    calls = OutboundCalls("https://calls.example.com", token)
    placed = calls.place_call({"phone_number": "+12025550123", "agent_id": "agent_sales"})
    request = calls.wait_for_request(placed["request_id"])
"""

import base64, hmac, http.client, itertools, json, random, re, secrets, time, urllib.error, urllib.request

# Limits of one request. A list is always split in the same way, so that a repeat under its key has the same parts.
PART_CALLS, PART_BYTES = 10_000, 4 * 1024 * 1024


class OutboundCallsError(Exception):
    """A request that did not succeed. If `maybe_accepted`, repeat it only under `key`, within 24 hours."""

    def __init__(self, problem, **fields):
        self.detail = problem.get("detail", "The answer has no detail.")
        self.errors = problem.get("errors") or []  # each with a pointer into the calls, a header or a parameter
        self.accepted = []  # the parts of place_calls before the one that failed
        self.__dict__.update(fields)  # status (0: no answer), request_id, key, maybe_accepted, retry_after in seconds
        super().__init__(f"{self.status or 'no answer'}: {self.detail}")


class OutboundCalls:
    """A client. `seconds` bounds all tries of one request, `try_seconds` a silence within one try."""

    def __init__(self, base_url, token, tries=8, seconds=120, try_seconds=35, delay=0.5):
        if not re.match(r"https://[^@]+$|http://(localhost|127(\.\d+){3}|\[::1\])(:\d+)?(/|$)", base_url):
            raise ValueError("base_url must be https; plain http only to this machine")
        self.base_url, self.token = base_url.rstrip("/"), token
        self.tries, self.seconds, self.try_seconds, self.delay = tries, seconds, try_seconds, delay
        self.opener = urllib.request.build_opener(_NoRedirects)

    def place_call(self, call, key=None, **options):
        """Places one call. Options: not_before (RFC 3339), urgent, campaign. Raises OutboundCallsError."""
        return self._place("/v1/calls", json.dumps(call).encode(), 1, _check_key(key), options)

    def place_calls(self, calls, key=None, **options):
        """Places any number of calls, in parts. Returns the parts; the same list and key repeat the same parts."""
        key, accepted, start = _check_key(key), [], 0
        for index, (body, count) in enumerate(_split(calls)):
            try:
                accepted.append(self._place("/v1/calls/batch", body, count, f"{key}.{index}", options))
            except OutboundCallsError as error:
                error.key, error.accepted = key, accepted
                error.maybe_accepted |= bool(accepted)  # a new key would call their people twice
                for one in (one for one in error.errors if "pointer" in one):
                    one["pointer"] = re.sub(r"^/(\d+)", lambda found: f"/{int(found[1]) + start}", one["pointer"])
                raise
            start += count
        return accepted

    def wait_for_request(self, request_id, seconds=600):
        """Waits until all calls of a request have ended. Raises TimeoutError, or OutboundCallsError."""
        end, delay = time.time() + seconds, 1.0
        while time.time() < end:
            try:
                found, after = self._send("GET", f"/v1/requests/{request_id}", None, {}, 200)[1], 0
                if found["finished"]:
                    return found
            except OutboundCallsError as error:
                if error.status != 404 or not error.retry_after:  # a young request may not be known yet
                    raise
                after = error.retry_after
            time.sleep(max(0, min(max(delay, after), end - time.time())))
            delay = min(30, delay * 1.5)
        raise TimeoutError(f"{request_id} was not finished within {seconds} s")

    def _place(self, path, body, count, key, options):
        names = {"not_before": "Call-Not-Before", "campaign": "Call-Campaign", "urgent": "Call-Priority"}
        headers = {names[name]: "urgent" if value is True else value for name, value in options.items() if value}
        answered, _ = self._send("POST", path, body, {**headers, "Idempotency-Key": key}, 201)
        request_id = answered.get("x-request-id", "")
        call_ids = [f"call_{request_id}_{index:05}" for index in range(count)]
        replayed = answered.get("idempotency-replayed") == "true"
        return {"request_id": request_id, "call_ids": call_ids, "replayed": replayed, "key": key}

    def _send(self, method, path, body, headers, expected):
        headers = {**headers, "Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        end, maybe_accepted = time.time() + min(self.seconds, 82_800), False  # a key lives 24 hours
        for number in itertools.count(1):
            status, answered, found = self._try(self.base_url + path, dict(data=body, headers=headers, method=method))
            request_id = answered.get("x-request-id", "")
            if status == expected and re.fullmatch("[0-9A-Z]{26}", request_id) and (found or expected == 201):
                return answered, found
            status = 0 if status == expected else status  # it was cut off: Python takes it for whole
            # A later refusal says nothing of an earlier try without an answer.
            maybe_accepted |= expected == 201 and not (400 <= status < 500 and status != 408)
            after = int(re.sub(r"\D.*", "", answered.get("retry-after", "")) or 0)  # not of a date
            delay = max(after, min(20, self.delay * 2 ** (number - 1)) * random.uniform(0.5, 1))
            is_repeatable = (status in (0, 429) or status >= 500) and number < self.tries and time.time() + delay <= end
            time.sleep(delay if is_repeatable else 0)
            if not is_repeatable or time.time() > end:  # the machine may have slept longer than it should
                fields = dict(request_id=request_id, key=headers.get("Idempotency-Key"), retry_after=after)
                raise OutboundCallsError(found, status=status, maybe_accepted=maybe_accepted, **fields)

    def _try(self, url, request):
        try:
            try:
                answer = self.opener.open(urllib.request.Request(url, **request), timeout=self.try_seconds)
            except urllib.error.HTTPError as error:
                answer = error
            with answer:
                text = answer.read(8 * 1024 * 1024)
        except (OSError, http.client.HTTPException):
            return 0, {}, {}
        try:
            found = json.loads(text or b"{}")
        except ValueError:  # it was cut off, or is of something between
            found = {}
        return answer.status, answer.headers, found if isinstance(found, dict) else {}


def verify_event(headers, body, secret):
    """Returns an event with its id. `body` is the bytes as they came. Raises ValueError if it is not authentic."""
    given = {name.lower(): value for name, value in headers.items()}
    event_id, sent_at, signatures = (given.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    signed = f"{event_id}.{sent_at}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))  # anybody can sign with an empty one
    right = b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256"))
    is_signed = any(hmac.compare_digest(right, one.encode()) for one in signatures.split())  # in constant time
    if len(key) < 24 or not is_signed or abs(time.time() - int(sent_at)) > 300:
        raise ValueError("The event is not signed with this secret, or not of the last five minutes.")
    return {**json.loads(body), "id": event_id}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):  # it would send the token to another address
        return None


def _check_key(key):
    key = secrets.token_hex(16) if key is None else key
    if not re.fullmatch(r"[!-+\--~]([ -+\--~]{0,238}[!-+\--~])?", key):
        raise ValueError("key must be 1 to 240 printable ASCII characters without a comma or outer spaces")
    return key


def _split(calls):
    parts, size = [[]], 2
    for text in (json.dumps(call).encode() for call in calls):
        if parts[-1] and (len(parts[-1]) >= PART_CALLS or size + len(text) + 1 > PART_BYTES):
            parts, size = [*parts, []], 2
        parts[-1].append(text)
        size += len(text) + 1
    return [(b"[" + b",".join(part) + b"]", len(part)) for part in parts]
