import type { DialOutcome } from "./dialing-provider.ts";

/** Outcomes by the SIP status of the callee's side. */
const outcomes: ReadonlyMap<string, "placed" | "rejected" | "account_refused" | "forbidden"> =
  new Map([
    // The phone has rung, or may have: nobody answered (408, 480), hung up (487), busy or declined.
    ...["408", "480", "486", "487", "600", "603", "607", "608"].map(
      (status) => [status, "placed"] as const,
    ),
    // No such number.
    ...["404", "410", "484", "604"].map((status) => [status, "rejected"] as const),
    ...["401", "402", "407"].map((status) => [status, "account_refused"] as const),
    ["403", "forbidden"],
  ]);

/**
 * Returns the outcome of a SIP status of the callee's side (RFC 3261, section 21). An unlisted status is
 * unknown: an exchange answers many of them after the phone has rung.
 */
export function outcomeOfSip(status: string): DialOutcome {
  const code = /^\d{3}$/.test(status) ? `sip_${status}` : "sip";
  const kind = outcomes.get(status) ?? "unknown";
  return kind === "placed" ? { kind } : { kind, code };
}
