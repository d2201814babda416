import { describePythonLibrary } from "../contracts/python-library.ts";
import { describeEventReceiver } from "../contracts/event-receiver.ts";

// A machine without python3 fails here: it cannot run everything that is shown.
describeEventReceiver("python3", "docs/examples/event_receiver.py");
describePythonLibrary("sync");
describePythonLibrary("async");
