import type { DialerDeps } from "../context.ts";
import { type Backlog, type BacklogValue, type Horizon, marksAfter, type Turn } from "./marks.ts";

/** Time without use after which an empty backlog's document ends. */
const unusedMs = 2 * 3_600_000;

/**
 * Writes the observed changes of backlogs. A backlog without waiting rows that was not used for two hours
 * ends: its document expires at once.
 *
 * @returns the written documents by key, without those that another writer had changed since they were read
 */
export async function writeBacklogs(
  changes: readonly { document: Backlog; value: BacklogValue }[],
  { documents, clock, random }: DialerDeps,
): Promise<Map<string, Backlog>> {
  const now = clock.now();
  const writes = changes.map(({ document, value }) => {
    const hasEnded = value.nextDueAt === null && now - value.usedAt > unusedMs;
    const expiresAt = hasEnded ? now : null;
    return {
      next: { ...document, version: random.version(), value, expiresAt },
      seen: document.version,
    };
  });
  const written = writes.length === 0 ? [] : await documents.write(writes);
  return new Map(
    writes.flatMap(({ next }, index) => (written[index] === true ? [[next.key, next]] : [])),
  );
}

/**
 * Moves the marks of backlogs past these rows, then calls the rows up. The marks come first, as another
 * writer calling up the same rows would waste as many of the account's places. Marks are moved back for rows
 * whose hints the queue refuses.
 *
 * @param changes backlogs as read, and their other changes
 * @param send takes places for rows, sends their hints and returns the rows that the queue has acknowledged
 * @returns the keys of the backlogs that no other writer had changed since they were read
 */
export async function markAndSend(
  turns: readonly Turn[],
  changes: readonly { document: Backlog; value: BacklogValue }[],
  horizon: Horizon,
  send: (turns: readonly Turn[]) => Promise<readonly Turn[]>,
  deps: DialerDeps,
): Promise<Set<string>> {
  const marksWith = ({ key, value }: Backlog, called: readonly Turn[]) => {
    const own = called.filter(({ backlog }) => backlog === key);
    return marksAfter(value.marks, own, horizon);
  };
  const marked = await writeBacklogs(
    changes.map(({ document, value }) => ({
      document,
      value: { ...value, marks: marksWith(document, turns) },
    })),
    deps,
  );
  const mine = turns.filter(({ backlog }) => marked.has(backlog));
  let sent: readonly Turn[] = [];
  try {
    sent = await send(mine);
  } finally {
    const ids = new Set(sent.map(({ id }) => id));
    const left = new Set(mine.filter(({ id }) => !ids.has(id)).map(({ backlog }) => backlog));
    const back = changes.flatMap(({ document }) => {
      const standing = left.has(document.key) ? marked.get(document.key) : undefined;
      if (standing === undefined) return [];
      const marks = marksWith(document, sent);
      return { document: standing, value: { ...standing.value, marks } };
    });
    await writeBacklogs(back, deps);
  }
  return new Set(marked.keys());
}
