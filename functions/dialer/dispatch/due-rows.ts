import type { StoredDocument } from "../../../shared/ports/document-kinds.ts";
import type { CallLedger, DialingCall, DuePosition } from "../../../shared/ports/ledger.ts";
import { createBacklogHeads } from "./backlog-heads.ts";
import type { BacklogPage, InFlight } from "./in-flight.ts";
import { readPages } from "./read-pages.ts";

/** Maximum calls under way that are counted. */
const dialingMax = 5_000;
/** Rows of a backlog that are read beyond those dispatched, for the next turns. */
const aheadRows = 5;
type Backlog = StoredDocument<"backlog">;

/** The beginnings of backlogs, as far as one dispatcher has read them. */
export interface DueRows {
  /** Reads the calls under way, and the backlogs in which dispatched rows stood, to see which of them still do. */
  readInFlight(): Promise<void>;
  /**
   * Reads the same, unless the first rows of all these backlogs are dispatched ones that still stand.
   *
   * @returns false if nothing was read
   */
  readInFlightOf(keys: readonly string[]): Promise<boolean>;
  /**
   * Reads rows that are due and were not dispatched: as many of each backlog as it needs; and the heads of `unknown`.
   *
   * @param needs the number of rows, by backlog
   */
  read(
    needs: ReadonlyMap<string, number>,
    unknown: readonly string[],
    now: number,
  ): Promise<Map<string, DuePosition[]>>;
  /** Looks at what was read again, after some of it was dispatched. */
  seeAgain(): void;
  /** Has these heads read again. */
  forget(keys: Iterable<string>): void;
  /** Forgets the heads of backlogs whose documents are gone. */
  forgetGone(): void;
  /** True if a row of the backlog that was not dispatched is due by then, or may be. */
  mayBeDue(backlog: Backlog, by: number): boolean;
  /** True if the head has to be read before that is known. */
  isUnknown(backlog: Backlog, now: number): boolean;
}

/** The facts that backlogs are read by. */
interface Known {
  inFlight: InFlight;
  /** Returns a backlog's document; a backlog without one is not looked at. */
  documentOf(key: string): Backlog | undefined;
  /** True for a call under way whose request must have ended. */
  isOver?(call: DialingCall): boolean;
}

export function createDueRows(
  { inFlight, documentOf, isOver }: Known,
  { ledger, clock }: { ledger: Pick<CallLedger, "due" | "dialing">; clock: { now(): number } },
): DueRows {
  const heads = createBacklogHeads();
  /** The backlogs as this look has read them. */
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
