import type { DialOutcome } from "./provider.ts";
import { createTable } from "./provider-http.ts";

/** Outcomes by the SIP status of the callee's side. */
const outcomes = /* @__PURE__ */ createTable<
  "placed" | "rejected" | "account_refused" | "forbidden"
>(
  // The phone has rung, or may have: not answered (408, 480), cancelled (487), busy or declined.
  ["placed", "408 480 486 487 600 603 607 608"],
  // No such number.
  ["rejected", "404 410 484 604"],
  ["account_refused", "401 402 407"],
  ["forbidden", "403"],
);

/**
 * Returns the outcome of a SIP status of the callee's side (RFC 3261, section 21). Other statuses are unknown, as
 * exchanges answer many of them after the phone has rung.
 */
export function toSipOutcome(status: string): DialOutcome {
  const code = /^\d{3}$/.test(status) ? `sip_${status}` : "sip";
  const kind = outcomes.get(status) ?? "unknown";
  if (kind === "placed") return { kind };
  return kind === "rejected" ? { kind, code, blamesNumber: true } : { kind, code };
}
