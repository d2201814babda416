"""
Takes events of Outbound Calls. Python 3.9 or newer, without packages.
EVENTS_SECRET=whsec_… PORT=8080 python3 event_receiver.py
"""

import base64, hashlib, hmac, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["EVENTS_SECRET"].removeprefix("whsec_"))
# Ids of the events that were handled. Yours belong into a database: these end with the process.
handled = set()


class Receiver(BaseHTTPRequestHandler):
    timeout = 15  # seconds for a request, as they are taken one after another

    def do_POST(self):
        self.send_response(self.take())
        self.end_headers()

    def take(self):
        length = int(self.headers.get("content-length", "-1"))
        if not 0 <= length <= 65_536:
            return 413
        body = self.rfile.read(length)
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        event_id, sent_at, signatures = (self.headers.get(name, "") for name in names)
        signed = f"{event_id}.{sent_at}.".encode() + body
        right = b"v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest())
        # In constant time. A time more than five minutes away is refused.
        if not any(hmac.compare_digest(right, one.encode()) for one in signatures.split()):
            return 401
        if abs(time.time() - int(sent_at)) > 300:
            return 401
        if event_id not in handled:
            print(body.decode(), flush=True)  # your part, in one transaction with noting the id
        handled.add(event_id)
        return 204


server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver)
print("ready", flush=True)
server.serve_forever()
