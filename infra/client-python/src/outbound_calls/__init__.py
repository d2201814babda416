"""
Places calls through Outbound Calls, and verifies its events. Python 3.10 or newer, without other packages.
The Idempotency-Key is made before the first try and kept through all tries, so no retry calls anybody twice.
"""

from ._async_client import AsyncOutboundCalls
from ._client import OutboundCalls
from ._errors import (
    ErrorType,
    OutboundCallsError,
    Problem,
    is_not_sent,
    is_refused,
    is_timed_out,
    is_unavailable,
)
from ._events import (
    CallEvent,
    CallEventData,
    Event,
    RequestFinishedData,
    RequestFinishedEvent,
    TestEvent,
    UnknownEvent,
    verify_event,
)
from ._models import (
    CallStatus,
    Cancelled,
    Cost,
    Counts,
    Delivery,
    ListedRequest,
    PlacedCalls,
    PlacedRequest,
    Receiver,
    RequestedCall,
    RequestStatus,
    Result,
    SentFile,
    SentPart,
    Step,
    Token,
    Try,
    Usage,
    UsageSums,
)

__version__ = "0.2.1"
__all__ = [
    "AsyncOutboundCalls",
    "CallEvent",
    "CallEventData",
    "CallStatus",
    "Cancelled",
    "Cost",
    "Counts",
    "Delivery",
    "ErrorType",
    "Event",
    "ListedRequest",
    "OutboundCalls",
    "OutboundCallsError",
    "PlacedCalls",
    "PlacedRequest",
    "Problem",
    "Receiver",
    "RequestFinishedData",
    "RequestFinishedEvent",
    "RequestStatus",
    "RequestedCall",
    "Result",
    "SentFile",
    "SentPart",
    "Step",
    "TestEvent",
    "Token",
    "Try",
    "UnknownEvent",
    "Usage",
    "UsageSums",
    "is_not_sent",
    "is_refused",
    "is_timed_out",
    "is_unavailable",
    "verify_event",
]
