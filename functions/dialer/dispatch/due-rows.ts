import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import type { CallLedger, DialingCall, DuePosition } from "#shared/ports/ledger.ts";
import { createBacklogHeads } from "./backlog-heads.ts";
import type { BacklogPage, InFlight } from "./in-flight.ts";
import { readPages } from "./read-pages.ts";

/** Maximum counted calls under way. */
const dialingMax = 5_000;
/** Rows of a backlog that are read in addition to dispatched ones. */
const aheadRows = 5;
type Backlog = StoredDocument<"backlog">;

/** The first rows of backlogs that one dispatcher has read. */
export interface DueRows {
  /** Reads the calls under way, and the backlogs with dispatched rows, to see which of these still wait. */
  readInFlight(): Promise<void>;
  /**
   * Reads the same, unless the first rows of all these backlogs are dispatched and still wait.
   *
   * @returns false if nothing was read
   */
  readInFlightOf(keys: readonly string[]): Promise<boolean>;
  /**
   * Reads due, undispatched rows, as many of each backlog as needed, and the heads of `unknown`.
   *
   * @param needs the number of rows, by backlog
   */
  read(
    needs: ReadonlyMap<string, number>,
    unknown: readonly string[],
    now: number,
  ): Promise<Map<string, DuePosition[]>>;
  /** Updates heads from the rows already read, after some were dispatched. */
  seeAgain(): void;
  /** Makes later ticks read these heads again. */
  forget(keys: Iterable<string>): void;
  /** Forgets the heads of removed backlogs. */
  forgetGone(): void;
  /** True if an undispatched row of the backlog is due by then, or may be. */
  mayBeDue(backlog: Backlog, by: number): boolean;
  /** True if the head must be read to know that. */
  isUnknown(backlog: Backlog, now: number): boolean;
}

/** Dependencies of reading backlogs. */
interface DueFacts {
  inFlight: InFlight;
  /** Returns a backlog's document. Backlogs without one are not read. */
  documentOf(key: string): Backlog | undefined;
  /** True if the request of a call under way must have ended. */
  isOver?(call: DialingCall): boolean;
}

export function createDueRows(
  { inFlight, documentOf, isOver }: DueFacts,
  { ledger, clock }: { ledger: Pick<CallLedger, "due" | "dialing">; clock: { now(): number } },
): DueRows {
  const heads = createBacklogHeads();
  /** The backlogs as read by this tick. */
  let pages: ReadonlyMap<string, BacklogPage> = new Map();
  const isFree = ({ id }: DuePosition) => !inFlight.isSent(id);

  function see(): void {
    const now = clock.now();
    for (const [key, page] of pages) {
      inFlight.seeBacklog(key, page, now);
      const backlog = documentOf(key);
      if (backlog === undefined) continue;
      heads.see(backlog, page.rows.find(isFree) ?? (page.isCut ? undefined : null));
    }
  }
  const dueIn = (key: string, now: number) =>
    (pages.get(key)?.rows ?? []).filter(({ id, dueAt }) => dueAt <= now && !inFlight.isSent(id));

  async function readInFlight(isWanted: (key: string) => boolean): Promise<void> {
    const sent = [...inFlight.sentIn()].filter(([key]) => isWanted(key));
    const needs = new Map(sent.map(([key, count]) => [key, count * 2 + aheadRows]));
    const [dialing, read] = await Promise.all([
      ledger.dialing(dialingMax),
      readPages(needs, ledger),
    ]);
    inFlight.seeDialing(dialing, isOver);
    pages = read;
    see();
  }

  return {
    readInFlight: () => readInFlight(() => true),
    async readInFlightOf(keys) {
      const first = await readPages(new Map(keys.map((key) => [key, 1])), ledger);
      const stands = (key: string) => first.get(key)?.rows.every(isFree) === false;
      const gone = new Set(keys.filter((key) => !stands(key)));
      if (gone.size === 0) return false;
      await readInFlight((key) => gone.has(key));
      return true;
    },
    async read(needs, unknown, now) {
      const isRead = (key: string, count: number) =>
        pages.get(key)?.isCut === false || dueIn(key, now).length >= count;
      const wanted = new Map(unknown.map((key) => [key, 1]));
      for (const [key, count] of needs) {
        if (!isRead(key, count)) wanted.set(key, count + (inFlight.sentIn().get(key) ?? 0));
      }
      const read = await readPages(wanted, ledger);
      pages = new Map([...pages, ...read]);
      see();
      return new Map([...needs].map(([key, count]) => [key, dueIn(key, now).slice(0, count)]));
    },
    seeAgain: see,
    forget: heads.forget,
    forgetGone: () => heads.keep((key) => documentOf(key) !== undefined),
    mayBeDue: heads.mayBeDue,
    isUnknown: heads.isUnknown,
  };
}
