import type { Call } from "../../../shared/calls/call.ts";
import type { DocumentsRead } from "../../../shared/documents/documents.ts";
import { documentsFor } from "./documents-for.ts";
import type { ReadyDeps } from "../dialer.ts";

/** How old the orders and breakers may be by which a call goes. */
const documentsAgeMsMax = 5_000;

/**
 * The documents that bear on a delivery's calls, read anew where they will be more than 5 s old at the moment for which
 * they are asked, as a call may be dialed minutes after its delivery began, or where this process has opened a breaker
 * since. Their age counts from when they were asked for.
 */
export function createFreshDocuments(
  calls: readonly Call[],
  first: { read: DocumentsRead; askedAt: number; breakersOpened: number },
  deps: ReadyDeps,
): (at: number) => Promise<DocumentsRead> {
  const { clock, memory } = deps;
  let last = { ...first, read: Promise.resolve(first.read) };
  return (at) => {
    const now = clock.now();
    // A clock that has been set back tells no age.
    const isOld = now < last.askedAt || at - last.askedAt > documentsAgeMsMax;
    const { breakersOpened } = memory;
    if (isOld || breakersOpened !== last.breakersOpened) {
      const read = documentsFor(calls, { numbers: true }, deps);
      const asked = { read, askedAt: now, breakersOpened };
      last = asked;
      asked.read.catch(() => {
        if (last === asked) last = { ...asked, askedAt: -Infinity }; // who asks next asks anew
      });
    }
    return last.read;
  };
}
