import * as z from "../lib/zod.ts";

/** Kinds of documents of the guards. No call has any of them unless the dial plan has a guard. */
export const guardKinds = {
  /**
   * Key: client or account, and a day. `calls`: those that count towards its `callsPerDay`; `refused`: how often the
   * limit was met. Key: account, call, and a day. `calls`: how often the call was counted again. See day-counts.ts.
   */
  "day-counts": () => z.record(z.string(), z.number()),
  /** Key: a writer, and a time. Its writes of that minute or hour, by kind. See write-counts.ts. */
  "write-counts": () => z.record(z.string(), z.number()),
  /** Key: a writer, a minute and a page. Names: entries of the journal, each once. See gathered-entries.ts. */
  gathered: () => z.record(z.string(), z.number()),
  /** Key: client. Its waiting calls, as counted when its guard `waiting` was last in doubt. */
  "client-waiting": () =>
    z.looseObject({
      waiting: z.number(),
      /** Time of the count, and the calls that the client's day had then. */
      at: z.number(),
      calls: z.number(),
    }),
  /** Key: agent. What its calls' latest results say of it. See result-watch.ts. */
  "agent-results": () =>
    z.looseObject({
      /** The latest answered calls, the oldest first: `s` for a short one, `l` for a long one. */
      answered: z.string(),
      /** Number of the latest calls in a row that were blocked, by caller id. */
      blocked: z.record(z.string(), z.number()),
      /** Time of the last pause. Results of calls that were claimed before do not count. */
      since: z.number(),
    }),
  /** Key: account, as in routes. Numbers of its pools that were blocked, or rest. See caller-ids.ts. */
  "caller-ids": () =>
    z.looseObject({
      numbers: z.record(
        z.string(),
        z.looseObject({
          /** Number of its latest calls in a row that were blocked. */
          blocked: z.number(),
          restsUntil: z.number(),
          /** Time at which it last began to rest. Results of calls that were claimed before do not count. */
          since: z.number(),
        }),
      ),
    }),
} as const;
