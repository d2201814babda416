import type { Receiver } from "#shared/dial-plan/receivers.ts";
import { receiverBreakerOf } from "#shared/policy/breakers.ts";
import type { ClientReceiverBreaker } from "#shared/ports/receiver-kinds.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import {
  answerBreaker,
  openBreaker,
  createProbe,
  type Probe,
} from "../breakers/circuit-breaker.ts";
import { writeFailures } from "../breakers/failure-counters.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { EventAnswer } from "../runtime/post-event.ts";
import { dayMs } from "#shared/lib/units.ts";

/** Failures in a row that open a receiver's breaker: the dial plan's or a client's. */
export const failuresMax = 10;
const failuresLifeMs = dayMs;
/** Status of a receiver that is gone for good. */
const goneStatus = 410;

/** The circuit breaker of one receiver, as read for one message. */
export interface ReceiverBreaker {
  isOpen: boolean;
  /** True if the breaker is open and one event may be delivered now as its probe. */
  isProbeDue: boolean;
  /** Takes the probe of the open breaker. Undefined: another message has the probe, or its time has not come. */
  takeProbe(): Promise<Probe | undefined>;
  /** Counts an answer, and opens or closes the breaker accordingly. Never throws. */
  note(answer: EventAnswer): Promise<void>;
  /** Returns the state that the end of the turn stores, of a client's own receiver. */
  stored?(): { breaker: ClientReceiverBreaker | undefined };
}

/** Names the documents of a receiver's breaker. */
export function breakerKeysOf({ name }: Receiver) {
  const key = receiverBreakerOf(name);
  return [{ kind: "breaker", key } as const, { kind: "counters", key } as const];
}

/** Returns the breaker of a receiver from documents that were read. */
export function receiverBreakerIn(
  read: DocumentsRead,
  { name }: Receiver,
  deps: Pick<DialerDeps, "documents" | "clock" | "random" | "memory" | "log">,
): ReceiverBreaker {
  const { documents } = deps;
  const key = receiverBreakerOf(name);
  const current = read.get("breaker", key);
  const failures = read.get("counters", key)?.value ?? {};
  /** True while the delivered event is a probe of the open breaker. */
  let isProbing = current?.value.state === "open";
  /** True if failures are counted, so that an answer must reset them. */
  let isCounting = Object.keys(failures).length > 0;
  const breaker: ReceiverBreaker = {
    isOpen: isProbing,
    isProbeDue: isProbing && (current?.value.probeAt ?? 0) <= deps.clock.now(),
    async takeProbe() {
      const probe = createProbe(undefined, deps);
      return current !== undefined && (await probe.take([current])) ? probe : undefined;
    },
    async note(answer) {
      try {
        if (isTaken(answer)) {
          if (isProbing && current !== undefined) {
            const sentAt = deps.clock.now(); // the probe's, as an open breaker permits nothing else
            await answerBreaker(current, { isPlaced: true, sentAt }, deps);
          }
          if (isCounting) {
            isCounting = false;
            const counted = await documents.read([{ kind: "counters", key }]);
            const stored = counted.get("counters", key);
            if (stored !== undefined) await writeFailures(stored, {}, deps);
          }
          if (isProbing) breaker.isOpen = false;
          isProbing = false;
        } else if (!isProbing) {
          isCounting = true;
          if (!(await isOverBy(answer, key, deps))) return;
          breaker.isOpen = true;
          const sentAt = deps.clock.now();
          await openBreaker(key, { cause: "receiver", code: codeOf(answer), sentAt }, deps);
        }
      } catch {
        // An uncounted answer only delays the breaker.
      }
    },
  };
  return breaker;
}

/** Counts a failure. Resolves to true if the breaker must be opened. */
async function isOverBy(
  answer: EventAnswer,
  key: string,
  { documents, clock }: Pick<DialerDeps, "documents" | "clock">,
): Promise<boolean> {
  if (isGone(answer)) return true;
  const expiresAt = clock.now() + failuresLifeMs;
  const counters = await documents.add({ kind: "counters", key }, { inRow: 1 }, expiresAt);
  return (counters["inRow"] ?? 0) >= failuresMax;
}

/** True if the receiver is gone for good, which opens its breaker at once. */
export function isGone(answer: EventAnswer): boolean {
  return "status" in answer && answer.status === goneStatus;
}

/** True if the receiver has taken the event. */
export function isTaken(answer: EventAnswer): boolean {
  return "status" in answer && answer.status >= 200 && answer.status < 300;
}

/** Returns the code of an answer for logs and the breaker, such as `http_503` or `time_out`. */
export function codeOf(answer: EventAnswer): string {
  return "status" in answer ? `http_${answer.status}` : answer.error.toLowerCase();
}
