import { createHmac, timingSafeEqual } from "node:crypto";
import { hourMs, minuteMs } from "#shared/lib/units.ts";

/** Time for which a confirmation may place its call for the first time. */
export const confirmMsMax = 10 * minuteMs;
/** Time for which the service remembers an Idempotency-Key, at least from its confirmation on. */
const keyMsMin = 24 * hourMs;
/** Time for which a call that was sent may be sent again: less than the key lives. */
const resendMsMax = 23 * hourMs;
/** Maximum calls that are remembered. */
const callsMax = 1_000;
const codePattern = /^call-([0-9a-z]{1,12})-([\w-]{32})$/;

/** A confirmation and its call. */
export interface Offer {
  code: string;
  /** Time of the confirmation, in milliseconds since the epoch. */
  at: number;
  /** True if a request with the call was sent, and may have been accepted. */
  isSent: boolean;
  /** The request that is under way. */
  sending?: Promise<Sent> | undefined;
  /** The accepted call. */
  sent?: Sent | undefined;
}

/** A call that the service has accepted. */
export interface Sent {
  requestId: string | null;
  isReplay: boolean;
}

/**
 * Creates the confirmations of calls. A confirmation is the time, and a MAC of the time and the call's body. So it is
 * valid only for this call, and still valid after a restart. It is the call's Idempotency-Key.
 */
export function createConfirmations({ token, now }: { token: string; now(): number }) {
  const offers = new Map<string, Offer>();

  function codeAt(body: string, at: number): string {
    const mac = createHmac("sha256", token).update(JSON.stringify(["place_call", at, body]));
    return `call-${at.toString(36)}-${mac.digest("base64url").slice(0, 32)}`;
  }

  function remember(body: string, offer: Offer): Offer {
    offers.set(body, offer);
    for (const oldest of offers.keys()) {
      if (offers.size <= callsMax) break;
      offers.delete(oldest);
    }
    return offer;
  }

  return {
    /**
     * Returns the confirmation of a call. While an earlier confirmation may still place the call, it is returned
     * again, so that two of them cannot place it twice. `before` is the confirmation under which the same call was
     * sent before.
     */
    offer(body: string): { offer: Offer; before?: Offer | undefined } {
      const known = offers.get(body);
      const age = known === undefined ? Infinity : now() - known.at;
      if (known !== undefined && known.sent === undefined) {
        if (age < (known.isSent ? resendMsMax : confirmMsMax)) return { offer: known };
      }
      const before = known?.isSent === true ? known : undefined;
      const at = Math.max(now(), (known?.at ?? 0) + 1);
      return { offer: remember(body, { code: codeAt(body, at), at, isSent: false }), before };
    },

    /**
     * Returns the offer of a confirmation, or why it places nothing. `forgotten`: it has ended, and the service may no longer
     * know whether its call was sent.
     */
    find(body: string, code: string): Offer | "unknown" | "ended" | "forgotten" {
      const known = offers.get(body);
      const [, time = ""] = codePattern.exec(code) ?? [];
      const at = Number.parseInt(time, 36);
      if (!Number.isSafeInteger(at) || !isSame(code, codeAt(body, at))) return "unknown";
      const isKnown = known?.code === code;
      const isSent = known?.isSent === true;
      const age = now() - at;
      if (age >= keyMsMin) return "forgotten";
      // One confirmation may be older than a restart and one newer. The first that is used places the call.
      if (isSent && !isKnown) return "ended";
      if (age >= (isSent ? resendMsMax : confirmMsMax)) return "ended";
      return isKnown ? known : remember(body, { code, at, isSent: false });
    },
  };
}
export type Confirmations = ReturnType<typeof createConfirmations>;

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
