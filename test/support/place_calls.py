"""
Runs the Python package for tests. Reads a task from each line of stdin: {url, token, client: "sync" | "async", bounds,
jobs: [{call | calls | wait | event | method | story, ...}]}. Prints a line for each: {results, said}, which are what its jobs
returned, in order, and what Python printed to stderr.
A job that fails without an answer is repeated under the key of its error, as a user would.
"""

import asyncio, gc, io, json, os, sys, time, traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, is_dataclass

sys.path.insert(0, os.environ.get("OUTBOUND_CALLS_PYTHON", "infra/client-python/src"))
import outbound_calls
from outbound_calls import AsyncOutboundCalls, OutboundCalls, OutboundCallsError, verify_event

# Of the current task.
options, is_async = {}, False


def plain(value):
    if is_dataclass(value):
        return {name: one for name, one in asdict(value).items() if name != "raw"}
    return [plain(one) for one in value] if isinstance(value, list) else value


def fields_of(error):
    names = ("type", "status", "detail", "idempotency_key", "maybe_accepted", "request_id", "retry_after")
    cause = error.__cause__
    lists = {"errors": [plain(one) for one in error.errors], "accepted": [plain(one) for one in error.accepted]}
    said = {"message": str(error), "cause": cause and type(cause).__name__}
    return {**{name: getattr(error, name) for name in names}, **lists, **said}


def bound(client, job, key):
    """Returns the method of a job, and its arguments."""
    if "wait" in job:
        return client.wait_for_request, [job["wait"]], job.get("options", {})
    if "method" in job:
        return getattr(client, job["method"]), job.get("args", []), job.get("options", {})
    more = {**job.get("options", {}), **({} if key is None else {"idempotency_key": key})}
    if "calls" in job:
        return client.place_calls, [job["calls"]], more
    return client.place_call, [job["call"]], more


def next_try(job, error):
    """Returns the job as its user repeats it, or None."""
    if not isinstance(error, OutboundCallsError) or job.get("patience", 0) <= 0 or error.status == 422:
        return None
    return {**job, "patience": job["patience"] - 1}


def told(error):
    if isinstance(error, asyncio.CancelledError):
        return {"error": "CancelledError", "message": "CancelledError"}
    if isinstance(error, OutboundCallsError):
        return {"error": fields_of(error)}
    if isinstance(error, (ValueError, TypeError)):
        return {"error": type(error).__name__, "message": str(error)}
    raise error


def run(client, job, key=None):
    try:
        if "event" in job:
            return plain(verify_event(job["headers"], job["event"].encode(), job["secret"]))
        method, args, more = bound(client, job, key or job.get("key"))
        found = method(*args, **more)
        return plain(list(found) if hasattr(found, "__next__") else found)
    except Exception as error:
        again = next_try(job, error)
        return told(error) if again is None else run(client, again, error.idempotency_key)


async def run_async(client, job, key=None):
    try:
        if "event" in job:
            return run(client, job)
        method, args, more = bound(client, job, key or job.get("key"))
        found = method(*args, **more)
        return plain([one async for one in found] if hasattr(found, "__anext__") else await found)
    except Exception as error:
        again = next_try(job, error)
        return told(error) if again is None else await run_async(client, again, error.idempotency_key)


class Detours:
    """Sends each try of a story to where its fault is: a dead port, an unknown host, or the server, told by a header."""

    def __init__(self, kind, coming, dead_port):
        self.kind, self.coming, self.seen = kind, coming, []
        self.dead = outbound_calls._http.Address(f"http://127.0.0.1:{dead_port}")
        self.unknown = outbound_calls._http.Address("http://localhost:1")
        self.unknown.host = "nowhere.invalid"

    def take(self, client, request):
        fault = self.coming.pop(0) if self.coming else None
        if fault is not None:
            self.seen.append(fault)
        address = {"dead port": self.dead, "unknown host": self.unknown}.get(fault, client._address)
        headers = {**request.headers, **({} if fault is None else {"X-Fault": fault})}
        return self.kind(address, None), outbound_calls._http.Request(request.method, request.path, headers, request.body)


def story_of(job, dead_port):
    """Requests one after another under one key, by one client: what each one saw and came to."""
    results, seen = [], []

    def patched(client, coming):
        detours = Detours(real, coming, dead_port)
        detours.seen = seen

        class Detoured:
            def __init__(self, *_):
                pass

            def attempt(self, request, seconds):
                connection, told_request = detours.take(client, request)
                return connection.attempt(told_request, seconds)

        return Detoured

    module = outbound_calls._async_client if is_async else outbound_calls._client
    name = "AsyncConnection" if is_async else "BlockingConnection"
    real = getattr(module, name)
    client = (AsyncOutboundCalls if is_async else OutboundCalls)(**options)
    for coming in job["story"]:
        setattr(module, name, patched(client, list(coming)))
        try:
            result = asyncio.run(run_async(client, job)) if is_async else run(client, job)
        finally:
            setattr(module, name, real)
        results.append({"seen": list(seen), "error": result.get("error")})
    return results


async def cancelled(client, job):
    """A job whose task is cancelled after so many seconds."""
    working = asyncio.ensure_future(run_async(client, job))
    await asyncio.sleep(job["cancel_after"])
    working.cancel()
    try:
        return await working
    except asyncio.CancelledError as error:
        return told(error)


def timed(job):
    """Runs a job by a client of its own, and tells how long it took and what its user sees."""
    begun = time.monotonic()
    given = {**options, **job.get("client_options", {})}
    try:
        if "cancel_after" in job:
            result = asyncio.run(cancelled(AsyncOutboundCalls(**given), job))
        else:
            result = run(OutboundCalls(**given), job)
    except Exception as error:
        result = told(error)
    return {"seconds": time.monotonic() - begun, "result": result}


async def run_all(jobs):
    client, limit = AsyncOutboundCalls(**options), asyncio.Semaphore(8)

    async def one(job):
        async with limit:
            return await run_async(client, job)

    return await asyncio.gather(*map(one, jobs))


def results_of(task):
    jobs = task["jobs"]
    if any("story" in job for job in jobs):
        return [story_of(job, task["dead_port"]) for job in jobs]
    if task.get("timed"):
        return [timed(job) for job in jobs]
    if is_async:
        return asyncio.run(run_all(jobs))
    shared = OutboundCalls(**options)
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda job: run(shared, job), jobs))


for line in sys.stdin:
    task = json.loads(line)
    options = {"base_url": task["url"], "token": task["token"], **task.get("bounds", {})}
    is_async = task.get("client") == "async"
    sys.stderr = io.StringIO()
    results = None
    try:
        results = results_of(task)
    except BaseException:
        traceback.print_exc()
    gc.collect()  # warns of what this task has left open
    print(json.dumps({"results": results, "said": sys.stderr.getvalue()}), flush=True)
