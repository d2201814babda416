import { type CallRow, goesAhead, waitingLaneOf } from "#shared/calls/call-row.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { ConflictError, onConflict, retry } from "#shared/lib/retry.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** The fields of a row that say in which backlog it waits. */
type BacklogRow = Pick<CallRow, "client" | "mode" | "agentId" | "isUrgent" | "tries">;

/** Interval after which a writer renews a backlog's document. Dispatchers read backlogs used in the last 30 s. */
const renewedEveryMs = 10_000;
const writeTries = 3;

/**
 * Makes sure that dispatchers read the backlogs of rows about to be written: the documents must show a use within the
 * last ten seconds. Beside an urgent backlog stands the other one of its client and agent, which has their answers.
 *
 * @throws if a document cannot be written. Then no row may be written
 */
export async function ensureBacklogs(
  rows: readonly BacklogRow[],
  deps: Pick<DialerDeps, "documents" | "clock" | "random" | "memory">,
): Promise<void> {
  const { documents, clock, random, memory } = deps;
  const now = clock.now();
  const known = memory.ledger.backlogsUsedAt;
  const isKnown = (key: string) => now - (known.get(key) ?? -Infinity) <= renewedEveryMs;
  let needed = new Map(
    rows
      .flatMap(({ client, mode, agentId, ...level }) => {
        const other = { client, mode, agentId, isUrgent: false };
        return goesAhead(level) ? [{ ...other, isUrgent: true }, other] : other;
      })
      .map((row) => [waitingLaneOf(row), row] as const)
      .filter(([key]) => !isKnown(key)),
  );
  if (needed.size === 0) return;
  await retry(async () => {
    const read = await documents.read(
      [...needed.keys()].map((key) => ({ kind: "backlog", key }) as const),
    );
    for (const key of needed.keys()) {
      const usedAt = read.get("backlog", key)?.value.usedAt;
      if (usedAt !== undefined && now - usedAt <= renewedEveryMs) known.set(key, usedAt);
    }
    const changes = [...needed].flatMap(([key, of]) => {
      if (isKnown(key)) return [];
      const current = read.get("backlog", key);
      const value = current?.value ?? newBacklog(of, now);
      const next = {
        kind: "backlog" as const,
        key,
        version: random.version(),
        value: { ...value, usedAt: now },
        expiresAt: null,
      };
      return { next, seen: current?.version ?? null };
    });
    const written = changes.length === 0 ? [] : await documents.write(changes);
    for (const [index, { next }] of changes.entries()) {
      if (written[index] === true) known.set(next.key, now);
    }
    needed = new Map([...needed].filter(([key]) => !isKnown(key)));
    if (needed.size > 0)
      throw new ConflictError("a backlog's document was changed by others each time");
  }, onConflict(writeTries));
}

function newBacklog({ client, mode, agentId, isUrgent }: Omit<BacklogRow, "tries">, now: number) {
  return {
    client,
    mode,
    agentId,
    usedAt: now,
    answers: null,
    ...(isUrgent ? { isUrgent } : {}),
  } satisfies StoredDocument<"backlog">["value"];
}
