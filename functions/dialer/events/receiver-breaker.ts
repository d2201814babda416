import type { Receiver } from "../../../shared/dial-plan/receivers.ts";
import { receiverBreakerOf } from "../../../shared/documents/breakers.ts";
import { forgetFailures } from "../breakers/breaker-counts.ts";
import { closeBreaker, openBreaker } from "../breakers/circuit-breaker.ts";
import { type Probe, takeProbe } from "../breakers/probes.ts";
import type { DialerDeps } from "../context.ts";
import type { EventAnswer } from "./post-event.ts";

/** Failures in a row that open a receiver's breaker. */
const failuresMax = 10;
const failuresLifeMs = 86_400_000;
/** Answer of a receiver that is gone for good: its breaker opens at once. */
const goneStatus = 410;

/** The circuit breaker of one receiver, as read for one message. */
export interface ReceiverBreaker {
  isOpen: boolean;
  /** Takes the probe of the open breaker. Undefined: another message has it, or its time has not come. */
  takeProbe(): Promise<Probe | undefined>;
  /** Counts an answer, and opens or closes the breaker accordingly. Never throws. */
  note(answer: EventAnswer): Promise<void>;
}

/** @throws if the breaker cannot be read */
export async function readReceiverBreaker(
  { name }: Receiver,
  deps: DialerDeps,
): Promise<ReceiverBreaker> {
  const { documents } = deps;
  const key = receiverBreakerOf(name);
  const keys = [{ kind: "breaker", key } as const, { kind: "failures", key } as const];
  const read = await documents.read(keys);
  const standing = read.get("breaker", key);
  const failures = read.get("failures", key)?.value ?? {};
  /** True while what is told is a probe of the open breaker. */
  let isProbing = standing?.value.state === "open";
  /** True if failures are counted that an answer ends. */
  let isCounting = Object.keys(failures).length > 0;
  const breaker: ReceiverBreaker = {
    isOpen: isProbing,
    takeProbe: async () => (standing === undefined ? undefined : takeProbe([standing], deps)),
    async note(answer) {
      try {
        if (isTaken(answer)) {
          if (isProbing) await closeBreaker(key, read, deps);
          else if (isCounting) {
            isCounting = false;
            await forgetFailures(key, await documents.read([{ kind: "failures", key }]), deps);
          }
          if (isProbing) breaker.isOpen = false;
          isProbing = false;
        } else if (!isProbing) {
          isCounting = true;
          if (!(await isOverBy(answer, key, deps))) return;
          breaker.isOpen = true;
          await openBreaker(key, codeOf(answer), "receiver", read, deps);
        }
      } catch {
        // An answer that is not counted only delays the breaker.
      }
    },
  };
  return breaker;
}

/** Counts a failure. Resolves to true if the breaker must be opened. */
async function isOverBy(
  answer: EventAnswer,
  key: string,
  { documents, clock }: DialerDeps,
): Promise<boolean> {
  if ("status" in answer && answer.status === goneStatus) return true;
  const expiresAt = clock.now() + failuresLifeMs;
  const counters = await documents.add({ kind: "failures", key }, { inRow: 1 }, expiresAt);
  return (counters["inRow"] ?? 0) >= failuresMax;
}

/** True if the receiver has taken the event. */
export function isTaken(answer: EventAnswer): boolean {
  return "status" in answer && answer.status >= 200 && answer.status < 300;
}

/** Returns the code of an answer for logs and the breaker, such as `http_503` or `time_out`. */
export function codeOf(answer: EventAnswer): string {
  return "status" in answer ? `http_${answer.status}` : answer.error.toLowerCase();
}
