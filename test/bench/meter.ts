import { AsyncLocalStorage } from "node:async_hooks";
import type { Documents } from "#shared/ports/documents.ts";
import type { CallLedger, Change } from "#shared/ports/ledger.ts";

/** Counted quantities, by their names in the report's `counts`. */
export type Counted = Record<string, number>;
export type Meter = ReturnType<typeof createMeter>;

/** Counts the requests to the engines by the stage of the call. */
export function createMeter() {
  const stages = new AsyncLocalStorage<string>();
  let counted = new Map<string, Counted>();
  return {
    add(what: string, amount = 1): void {
      const stage = stages.getStore() ?? "other";
      const counts = counted.get(stage) ?? {};
      counts[what] = (counts[what] ?? 0) + amount;
      counted.set(stage, counts);
    },
    /** Counts the requests of `work` for `stage`, unless an inner stage counts them. */
    at: <Result>(stage: string, work: () => Result): Result => stages.run(stage, work),
    /** Returns the counts since the last `take`, by stage. */
    take(): Map<string, Counted> {
      const taken = counted;
      counted = new Map();
      return taken;
    },
  };
}

/** Names the purpose of a write of rows by the states that they carry. */
function stageOf(changes: readonly Change[]): string {
  const stages = new Set(
    changes.map(({ next }) => {
      if (next.state === "DIALING") return "claim";
      return next.claims.length > 0 ? "settle" : "decide";
    }),
  );
  const [only, ...others] = stages;
  return only === undefined || others.length > 0 ? "claim and settle" : only;
}

/**
 * Wraps the dialer's ports so that reads, claims, settlements and document writes are stages of their own.
 * Counts `trips`, the calls of both ports.
 */
export function withStages(
  { ledger, documents }: { ledger: CallLedger; documents: Documents },
  meter: Meter,
): { ledger: CallLedger; documents: Documents } {
  const trip = <Result>(stage: string, work: () => Promise<Result>): Promise<Result> =>
    meter.at(stage, () => {
      meter.add("trips");
      return work();
    });
  return {
    ledger: {
      ...ledger,
      read: (ids) => trip("read", () => ledger.read(ids)),
      write: (changes) => trip(stageOf(changes), () => ledger.write(changes)),
      due: (query) => trip("read", () => ledger.due(query)),
    },
    documents: {
      ...documents,
      read: (keys) => trip("read", () => documents.read(keys)),
      list: (kind, query) => trip("read", () => documents.list(kind, query)),
      write: (changes) => trip("documents", () => documents.write(changes)),
      add: (document, counters, expiresAt) =>
        trip("documents", () => documents.add(document, counters, expiresAt)),
      exchange: (document, exchange) =>
        trip("documents", () => documents.exchange(document, exchange)),
      storeTime: () => trip("read", () => documents.storeTime()),
      takePermits: (document, pace, request) =>
        trip("documents", () => documents.takePermits(document, pace, request)),
    },
  };
}

/** Adds up the counts of several stages. */
export function sumOf(counts: Iterable<Counted>): Counted {
  const sum: Counted = {};
  for (const one of counts) {
    for (const [what, amount] of Object.entries(one)) sum[what] = (sum[what] ?? 0) + amount;
  }
  return sum;
}

/** Combines each count of `a` with the same count of `b` by `put`. */
export function combined(a: Counted, b: Counted, put: (a: number, b: number) => number): Counted {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...names].map((name) => [name, put(a[name] ?? 0, b[name] ?? 0)]));
}

/** A queue's message, as sent. */
export interface Sent {
  body: string;
  /** Time at which its delay is over, in milliseconds since the epoch. */
  readyAt: number;
}

/** Takes the oldest messages off a queue whose delay is over by `readyBy`, at most `count`. */
export function takeReady(waiting: Sent[], count: number, readyBy: number): Sent[] {
  const taken = new Set(waiting.filter(({ readyAt }) => readyAt <= readyBy).slice(0, count));
  const left = waiting.filter((one) => !taken.has(one));
  waiting.splice(0, waiting.length, ...left);
  return [...taken];
}

const unitBytes = 64 * 1024;

/** Returns the billed units: queues bill every started 64 KB. */
export function unitsOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / unitBytes));
}
