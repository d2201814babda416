import { errorForLog } from "#shared/lib/log.ts";
import { withMethods } from "#shared/lib/with-methods.ts";
import type { Addition } from "#shared/ports/documents.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Time for which counts wait for others, to share a statement with them. */
const batchMs = 1_000;

/**
 * Batches what one invocation adds to counters. Callbacks come one by one, and each would write a document of its own.
 * If a batch fails, only its counts are too low.
 */
export function batchCounts({
  documents,
  clock,
  log,
}: Pick<DialerDeps, "documents" | "clock" | "log">) {
  let batch = new Map<string, Addition>();
  async function flush(): Promise<void> {
    const additions = [...batch.values()];
    batch = new Map();
    if (additions.length === 0) return;
    await documents.addAll(additions).catch((error: unknown) => {
      log("warning", "counts.update_failed", {
        count: additions.length,
        error: errorForLog(error),
      });
    });
  }
  return {
    flush,
    documents: withMethods(documents, {
      async addAll(additions) {
        if (batch.size === 0 && additions.length > 0) void clock.sleep(batchMs).then(flush);
        for (const addition of additions) {
          const name = JSON.stringify([addition.kind, addition.key]);
          batch.set(name, sumOf(addition, batch.get(name)));
        }
      },
    }),
  };
}

function sumOf(addition: Addition, before: Addition | undefined): Addition {
  if (before === undefined) return addition;
  const counters = { ...before.counters };
  for (const [name, count] of Object.entries(addition.counters))
    counters[name] = (counters[name] ?? 0) + count;
  return { ...addition, counters, expiresAt: Math.max(before.expiresAt, addition.expiresAt) };
}
