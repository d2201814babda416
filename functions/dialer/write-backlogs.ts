import type { ReadyDeps } from "./dialer.ts";
import { type Backlog, type BacklogValue, marksAfter, type Turn } from "./marks.ts";
import type { Read } from "./read-backlogs.ts";

/** An empty backlog's document ends when nobody has used it for so long. */
const unusedMs = 2 * 3_600_000;

/** Moves the marks past what the queue has acknowledged, and notes when each backlog is next to be looked at. */
export async function writeBacklogs(
  reads: readonly Read[],
  sent: readonly Turn[],
  deps: ReadyDeps,
): Promise<void> {
  const now = deps.clock.now();
  const whole = reads.filter(({ isWhole }) => isWhole);
  const later = await deps.ledger.due({
    backlogs: whole.map(({ document, last }) => ({ key: document.key, after: last })),
    until: Number.MAX_SAFE_INTEGER,
    each: 1,
  });
  const laterDueAt = new Map(whole.map(({ document }, i) => [document.key, later[i]?.[0]?.dueAt]));
  const bySent = Map.groupBy(sent, ({ backlog }) => backlog);
  const changes = reads.map(({ document, fresh, pending, skipped, isWhole }) => {
    const own = bySent.get(document.key) ?? [];
    const hasRows = fresh.length > 0 || pending > 0 || skipped || !isWhole;
    const nextDueAt = hasRows ? now : (laterDueAt.get(document.key) ?? null);
    const value = { ...document.value, ...marksAfter(document.value, own, now), nextDueAt };
    return { document, changes: { ...value, visitedAt: now }, isEmpty: nextDueAt === null };
  });
  await writeSeen(changes, deps);
}

/**
 * Writes what a sweep has seen of backlogs, again once where a writer has renewed a document meanwhile. An empty
 * backlog that nobody has used for two hours ends: its document expires at once.
 */
export async function writeSeen(
  seen: readonly { document: Backlog; changes: BacklogValue; isEmpty: boolean }[],
  { documents, clock, random }: ReadyDeps,
): Promise<void> {
  const now = clock.now();
  let left = seen;
  for (let tries = 0; tries < 2 && left.length > 0; tries++) {
    const writes = left.map(({ document, changes, isEmpty }) => {
      const { usedAt } = document.value;
      const hasEnded = isEmpty && now - usedAt > unusedMs;
      const value = { ...changes, usedAt };
      const next = {
        ...document,
        version: random.version(),
        value,
        expiresAt: hasEnded ? now : null,
      };
      return { next, seen: document.version };
    });
    const written = await documents.write(writes);
    const refused = left.filter((_, index) => written[index] !== true);
    if (refused.length === 0) return;
    const read = await documents.read(refused.map(({ document }) => document));
    left = refused.flatMap((one) => {
      const document = read.get("backlog", one.document.key);
      return document === undefined ? [] : { ...one, document };
    });
  }
}
