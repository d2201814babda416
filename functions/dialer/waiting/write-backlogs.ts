import type { ReadyDeps } from "../dialer.ts";
import { type Backlog, type BacklogValue, type Horizon, marksAfter, type Turn } from "./marks.ts";

/** An empty backlog's document ends when nobody has used it for so long. */
const unusedMs = 2 * 3_600_000;

/**
 * Writes what was seen of backlogs. One in which nothing waits, and that nobody has used for two hours, ends: its
 * document expires at once.
 *
 * @returns by their keys those that nobody had changed since they were read, as they were written
 */
export async function writeBacklogs(
  changes: readonly { document: Backlog; value: BacklogValue }[],
  { documents, clock, random }: ReadyDeps,
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
 * Calls rows up once the marks of their backlogs have been moved past them: before that, whoever else calls up the same
 * rows would take as many of the account's places, and nobody would use them. Marks are taken back where the queue does
 * not take the hints.
 *
 * @param changes backlogs as they were read, and what else is to be written of them
 * @param send takes places for rows and sends their hints; answers with those that the queue has acknowledged
 * @returns the keys of the backlogs that nobody had changed since they were read
 */
export async function markAndSend(
  turns: readonly Turn[],
  changes: readonly { document: Backlog; value: BacklogValue }[],
  horizon: Horizon,
  send: (turns: readonly Turn[]) => Promise<readonly Turn[]>,
  deps: ReadyDeps,
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
