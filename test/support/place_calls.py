"""
Runs docs/examples/outbound_calls.py for a test. Reads one JSON from stdin:
{url, token, jobs: [{call | calls | wait | event, ...}]}. Prints one JSON: what each job returned, in order.
A job that fails without an answer is repeated under the key of its error, as a user would.
"""

import json, sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, "docs/examples")
from outbound_calls import OutboundCalls, OutboundCallsError, verify_event

task = json.load(sys.stdin)
client = OutboundCalls(task["url"], task["token"], **task.get("bounds", {}))


def fields_of(error):
    names = ("status", "key", "maybe_accepted", "request_id", "errors", "accepted", "retry_after")
    return {name: getattr(error, name) for name in names}


def run(job, key=None):
    key = key or job.get("key")
    try:
        if "event" in job:
            return verify_event(job["headers"], job["event"].encode(), job["secret"])
        if "wait" in job:
            return client.wait_for_request(job["wait"])
        if "calls" in job:
            return client.place_calls(job["calls"], key, **job.get("options", {}))
        return client.place_call(job["call"], key, **job.get("options", {}))
    except OutboundCallsError as error:
        if job.get("patience", 0) > 0 and error.status != 422:
            return run({**job, "patience": job["patience"] - 1}, error.key)
        return {"error": fields_of(error)}
    except (ValueError, TimeoutError) as error:
        return {"error": type(error).__name__}


with ThreadPoolExecutor(8) as pool:
    print(json.dumps(list(pool.map(run, task["jobs"]))))
