import type { Call } from "../../../shared/calls/call-request.ts";
import type { ControlDocuments } from "../../../shared/policy/restore.ts";
import { readControlDocuments } from "./read-controls.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Maximum age of the orders and breakers that a request relies on. */
const documentsAgeMsMax = 5_000;

/**
 * Returns a function that reads the documents of a delivery's calls again if they would be more than 5 s old
 * at the requested time, as a call may be dialed minutes after its delivery began, or if this process has
 * opened or closed a breaker since. Age counts from the start of the read.
 */
export function createFreshDocuments(
  calls: readonly Call[],
  first: { read: ControlDocuments; askedAt: number; breakersChanged: number },
  deps: DialerDeps,
): (at: number) => Promise<ControlDocuments> {
  const { clock, memory } = deps;
  let last = { ...first, read: Promise.resolve(first.read) };
  return (at) => {
    const now = clock.now();
    // After the clock was set back, the age is unknown.
    const isOld = now < last.askedAt || at - last.askedAt > documentsAgeMsMax;
    const { breakersChanged } = memory;
    if (isOld || breakersChanged !== last.breakersChanged) {
      const read = readControlDocuments(calls, { numbers: true }, deps);
      const asked = { read, askedAt: now, breakersChanged };
      last = asked;
      asked.read.catch(() => {
        if (last === asked) last = { ...asked, askedAt: -Infinity }; // the next caller reads again
      });
    }
    return last.read;
  };
}
