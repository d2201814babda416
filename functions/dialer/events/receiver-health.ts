import type { Receiver } from "#shared/dial-plan/receivers.ts";
import { nextIntervalMs } from "#shared/policy/breaker-causes.ts";
import { receiverBreakerOf } from "#shared/policy/breakers.ts";
import type { ClientReceiverHealth } from "#shared/ports/receiver-kinds.ts";
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
import { receiverKeyOf } from "./receiver-lease.ts";
import { dayMs } from "#shared/lib/units.ts";

/** Failures in a row after which a receiver is down: the dial plan's or a client's. */
export const failuresMax = 10;
const failuresLifeMs = dayMs;
/** Status of a receiver that is gone permanently. */
const goneStatus = 410;

/** The health of a receiver, as read for one message: it takes its events, or is down. */
export interface ReceiverHealth {
  /** True if only probes are delivered. */
  isDown: boolean;
  /** True if it is down and one event may be delivered now as the probe. */
  isProbeDue: boolean;
  /** Takes the probe. Undefined: another message has the probe, or its time has not come. */
  takeProbe(): Promise<Probe | undefined>;
  /** Counts an answer, by which the receiver may be down or up again. Never throws. */
  record(answer: EventAnswer): Promise<void>;
  /** Returns the state that the end of the turn stores, of a client's own receiver. */
  stored?(): { health: ClientReceiverHealth | undefined };
}

/** Names the documents of the health of a receiver of the dial plan. */
export function healthKeysOf({ name }: Receiver) {
  const key = receiverBreakerOf(name);
  return [{ kind: "breaker", key } as const, { kind: "counters", key } as const];
}

/** Returns the health of a receiver of the dial plan, from documents that were read. */
export function receiverHealthIn(
  read: DocumentsRead,
  { name }: Receiver,
  deps: Pick<DialerDeps, "documents" | "clock" | "random" | "memory" | "log">,
): ReceiverHealth {
  const { documents } = deps;
  const key = receiverBreakerOf(name);
  const current = read.get("breaker", key);
  const failures = read.get("counters", key)?.value ?? {};
  /** True while the delivered event is a probe of the open breaker. */
  let isProbing = current?.value.state === "open";
  /** True if failures are counted, so that an answer must reset them. */
  let isCounting = Object.keys(failures).length > 0;
  const health: ReceiverHealth = {
    isDown: isProbing,
    isProbeDue: isProbing && (current?.value.probeAt ?? 0) <= deps.clock.now(),
    async takeProbe() {
      const probe = createProbe(undefined, deps);
      return current !== undefined && (await probe.take([current])) ? probe : undefined;
    },
    async record(answer) {
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
          if (isProbing) health.isDown = false;
          isProbing = false;
        } else if (!isProbing) {
          isCounting = true;
          if (!(await isOverBy(answer, key, deps))) return;
          health.isDown = true;
          const sentAt = deps.clock.now();
          await openBreaker(key, { cause: "receiver", code: codeOf(answer), sentAt }, deps);
        }
      } catch {
        // An uncounted answer only delays the breaker.
      }
    },
  };
  return health;
}

/** Reads the health and the speeds of receivers of the dial plan. */
export function readHealth(
  receivers: readonly string[],
  documents: Pick<DialerDeps["documents"], "read">,
): Promise<DocumentsRead> {
  return documents.read(
    receivers.flatMap((name) => [
      { kind: "breaker", key: receiverBreakerOf(name) } as const,
      receiverKeyOf(name),
    ]),
  );
}

/** Returns since when a receiver of the dial plan is down, and the time of its next probe. Undefined: it is not. */
export function findDown(
  name: string,
  read: DocumentsRead,
): { since: number; probeAt: number } | undefined {
  const {
    state,
    openedAt = 0,
    probeAt = 0,
  } = read.get("breaker", receiverBreakerOf(name))?.value ?? {};
  return state === "open" ? { since: openedAt, probeAt } : undefined;
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

/** Returns the time from one probe of a receiver that is down to the next. Default: to the first one. */
export function nextProbeMs(intervalMs = 0): number {
  return nextIntervalMs("receiver", intervalMs);
}

/** True if the receiver is gone permanently, which opens its breaker at once. */
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
