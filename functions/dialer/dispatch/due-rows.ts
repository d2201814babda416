import type { StoredDocument } from "../../../shared/ports/documents.ts";
import {
  type CallLedger,
  comparePositions,
  type DuePosition,
} from "../../../shared/ports/ledger.ts";
import type { BacklogPage, InFlight } from "./in-flight.ts";

/** Maximum calls under way that are counted. */
const dialingMax = 5_000;
/** Rows of a backlog that are read beyond those dispatched, for the next turns. */
const aheadRows = 5;
/** Time since its last use within which a backlog's head is read at each look: its rows may be on their way. */
const usedMs = 30_000;
/** Maximum rows of one page, and rows of a backlog up to which many backlogs are read together. */
const pageRowsMax = 2_000;
const fewRows = 4;
/** A time after every due time. */
const endOfTime = Number.MAX_SAFE_INTEGER;

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

/** @param documentOf returns a backlog's document; a backlog without one is not looked at */
export function createDueRows(
  ledger: Pick<CallLedger, "due" | "dialing">,
  inFlight: InFlight,
  documentOf: (key: string) => Backlog | undefined,
  clock: { now(): number },
): DueRows {
  const heads = createBacklogHeads();
  /** The backlogs as this look has read them. */
  let pages: ReadonlyMap<string, BacklogPage> = new Map();

  function see(some: ReadonlyMap<string, BacklogPage>): void {
    const now = clock.now();
    for (const [key, page] of some) {
      inFlight.seeBacklog(key, page, now);
      const backlog = documentOf(key);
      if (backlog === undefined) continue;
      const next = page.rows.find(({ id }) => !inFlight.isSent(id));
      heads.see(backlog, next ?? (page.isCut ? undefined : null));
    }
  }
  const dueIn = (page: BacklogPage | undefined, now: number) =>
    (page?.rows ?? []).filter(({ id, dueAt }) => dueAt <= now && !inFlight.isSent(id));
  /** True if enough rows of a backlog were read. */
  const hasRead = (key: string, count: number, now: number) => {
    const page = pages.get(key);
    return page !== undefined && (!page.isCut || dueIn(page, now).length >= count);
  };

  async function readInFlight(isWanted: (key: string) => boolean): Promise<void> {
    const needs = new Map(
      [...inFlight.sentIn()]
        .filter(([key]) => isWanted(key))
        .map(([key, count]) => [key, count * 2 + aheadRows]),
    );
    const [dialing, read] = await Promise.all([
      ledger.dialing(dialingMax),
      needs.size === 0 ? new Map<string, BacklogPage>() : readPages(needs, ledger),
    ]);
    inFlight.seeDialing(dialing);
    pages = read;
    see(pages);
  }

  return {
    readInFlight: () => readInFlight(() => true),
    async readInFlightOf(keys) {
      const first = await readPages(new Map(keys.map((key) => [key, 1])), ledger);
      const standsStill = (key: string) =>
        first.get(key)?.rows.some(({ id }) => inFlight.isSent(id)) === true;
      const gone = new Set(keys.filter((key) => !standsStill(key)));
      if (gone.size === 0) return false;
      await readInFlight((key) => gone.has(key));
      return true;
    },
    async read(needs, unknown, now) {
      const wanted = new Map(
        [...needs]
          .filter(([key, count]) => !hasRead(key, count, now))
          .map(([key, count]) => [key, count + (inFlight.sentIn().get(key) ?? 0)]),
      );
      for (const key of unknown) wanted.set(key, 1);
      const read = wanted.size === 0 ? [] : await readPages(wanted, ledger);
      pages = new Map([...pages, ...read]);
      see(pages);
      return new Map(
        [...needs].map(([key, count]) => [key, dueIn(pages.get(key), now).slice(0, count)]),
      );
    },
    seeAgain: () => see(pages),
    forget(keys) {
      for (const key of keys) {
        const backlog = documentOf(key);
        if (backlog !== undefined) heads.see(backlog, undefined);
      }
    },
    forgetGone: () => heads.keep((key) => documentOf(key) !== undefined),
    mayBeDue: heads.mayBeDue,
    isUnknown: heads.isUnknown,
  };
}

/** The rows of a backlog as they were seen last. */
interface Head {
  /** Version of the backlog's document then. */
  version: string;
  /** The first row that was not dispatched. Null: there is none. Undefined: it has to be read. */
  next: DuePosition | null | undefined;
}

/** The heads of all backlogs, as far as one dispatcher has read them. */
interface BacklogHeads {
  /** True if the head of a backlog has to be read before it is known whether one of its rows is due. */
  isUnknown(backlog: Backlog, now: number): boolean;
  /** True if a row of the backlog that was not dispatched is due by then, or may be. */
  mayBeDue(backlog: Backlog, by: number): boolean;
  /** Notes the first row that is left; undefined: it is not known. */
  see(backlog: Backlog, next: DuePosition | null | undefined): void;
  /** Forgets those for which `isKept` does not hold. */
  keep(isKept: (key: string) => boolean): void;
}

function createBacklogHeads(): BacklogHeads {
  const heads = new Map<string, Head>();
  return {
    isUnknown({ key, version, value }, now) {
      const head = heads.get(key);
      if (head?.version !== version || head.next === undefined) return true;
      return now - value.usedAt < usedMs && (head.next === null || head.next.dueAt > now);
    },
    mayBeDue({ key, version }, by) {
      const head = heads.get(key);
      if (head?.version !== version || head.next === undefined) return true;
      return head.next !== null && head.next.dueAt <= by;
    },
    see({ key, version }, next) {
      heads.set(key, { version, next });
    },
    keep(isKept) {
      for (const key of heads.keys()) if (!isKept(key)) heads.delete(key);
    },
  };
}

/**
 * Reads the beginnings of backlogs, as many rows of each as it needs: those that need few in one query, and the others
 * in another.
 *
 * @param needs rows to read, by the backlog's key
 */
async function readPages(
  needs: ReadonlyMap<string, number>,
  ledger: Pick<CallLedger, "due">,
): Promise<Map<string, BacklogPage>> {
  const groups = [
    [...needs].filter(([, count]) => count <= fewRows),
    [...needs].filter(([, count]) => count > fewRows),
  ].filter((group) => group.length > 0);
  const pages = await Promise.all(
    groups.map(async (group): Promise<[string, BacklogPage][]> => {
      const most = Math.max(...group.map(([, count]) => count));
      // One more row tells whether any is left.
      const each = Math.max(2, Math.min(most + 1, Math.floor(pageRowsMax / group.length)));
      const backlogs = group.map(([key]) => ({ key }));
      const found = await ledger.due({ backlogs, until: endOfTime, each });
      return group.map(([key], index) => {
        const rows = found[index] ?? [];
        return [key, { rows: rows.toSorted(comparePositions), isCut: rows.length >= each }];
      });
    }),
  );
  return new Map(pages.flat());
}
