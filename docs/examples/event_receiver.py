"""
Takes events of Outbound Calls. Python 3.9 or newer, without packages.
EVENTS_SECRET=whsec_… PORT=8080 python3 event_receiver.py
"""

import base64, hmac, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["EVENTS_SECRET"].removeprefix("whsec_"))
# Ids of the events that were handled. Yours belong into a database: these end with the process.
handled = set()


class Receiver(BaseHTTPRequestHandler):
    timeout = 15  # seconds for a request, as they are taken one after another

    def do_POST(self):
        # A body that is cut does not verify.
        body = self.rfile.read(max(0, min(int(self.headers.get("content-length", 0)), 65_536)))
        event_id, sent_at, signatures = (self.headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
        right = b"v1," + base64.b64encode(hmac.digest(KEY, f"{event_id}.{sent_at}.".encode() + body, "sha256"))
        # In constant time. A time more than five minutes away is refused.
        is_signed = any(hmac.compare_digest(right, one.encode()) for one in signatures.split())
        is_right = is_signed and abs(time.time() - int(sent_at)) <= 300
        if is_right and event_id not in handled:
            print(body.decode(), flush=True)  # your part, in one transaction with noting the id
            handled.add(event_id)
        self.send_response(204 if is_right else 401)  # whatever is not 2xx is tried again
        self.end_headers()


server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver)
print("ready", flush=True)
server.serve_forever()
