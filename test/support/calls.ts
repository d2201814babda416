import { randomBytes } from "node:crypto";
import type { Call } from "../../shared/call.ts";

/** A call of its own id, with every field there is. */
export function aCall(more: Partial<Call> = {}): Call {
  return {
    id: `call_${randomBytes(16).toString("hex")}`,
    requestId: "req_1",
    client: "crm",
    acceptedAt: 1_000_000,
    request: {
      phone_number: "+12025550123",
      agent_id: "agent_sales",
      context: { name: 'Zoë "Z" O’Neil\n</Stream> \u0000 😀' },
      timezone: "America/New_York",
    },
    ...more,
  };
}
