import * as z from "zod";
import { typeNames, type Route } from "../providers/index.ts";
import type { Call, CallRequest } from "./call.ts";
import { requestIdOf } from "./ids.ts";

/**
 * Where a call stands. WAITING has a due time; DIALING has been claimed by one holder, who alone may dial; UNKNOWN may
 * have been placed; NEEDS_REVIEW waits for a person's decision; the others are final. REDIALED: an operator has had
 * another call made in its stead.
 */
export const callStates = [
  "WAITING",
  "DIALING",
  "UNKNOWN",
  "NEEDS_REVIEW",
  "PLACED",
  "REJECTED",
  "EXPIRED",
  "CANCELLED",
  "REDIALED",
] as const;
export type CallState = (typeof callStates)[number];

/** The backlog of rows that somebody must look after: claims under way, and calls of unknown outcome. */
export const watchBacklog = "watch";

/** One step of a call's story, in which no number, name or context stands. */
export interface HistoryEntry {
  at: number;
  state: CallState;
  reason: string;
  /** Until when it waits, where it does. */
  dueAt?: number | undefined;
  /** The operator who did it, by the token's id. */
  by?: string | undefined;
}

/**
 * The ledger's row of one call. Times are milliseconds since the epoch. A row that another version of this code wrote
 * may have further fields: whoever changes a row spreads it, so that they are kept.
 */
export interface CallRow {
  id: string;
  /** Random, and fresh with every write: whoever writes names the version that it has read. */
  version: string;
  state: CallState;
  /** Why it stands there: a code of reasons.ts, or the provider's own. */
  reason: string;
  /** WAITING: the backlog of its client and agent. DIALING and UNKNOWN: `watch`. Others: null. */
  backlog: string | null;
  /**
   * WAITING: the earliest moment at which the call itself may go. DIALING: when the claim lapses into UNKNOWN.
   * UNKNOWN: the next look-up or the review, whichever comes first.
   */
  dueAt: number | null;
  /** The versions of its claims since it last surely was not placed, oldest first: each may be settled PLACED. */
  claims: string[];
  /** How often it has been claimed: backoff grows with it. */
  attempt: number;
  /** Sent once more to an idempotent provider: what is answered to it may be about that second request alone. */
  resent: boolean;
  /** When it was last claimed: its request was sent then or some seconds later, if at all. */
  claimedAt: number | null;
  /** When its outcome was first unknown. */
  unknownSince: number | null;
  /** How often its provider was asked for it in vain. */
  misses: number;
  /** What the client posted, so that an operator can redial it; null once it is placed. */
  request: CallRequest | null;
  /** Ids of the calls in whose stead it is made, the first one first. */
  ancestors: string[];
  /** The route it was last claimed for. */
  route: Route | null;
  providerCallId: string | null;
  /** The id of the call that an operator had made in its stead. */
  redialedAs: string | null;
  client: string;
  agentId: string;
  /** Keyed hash and last two digits of the number: all that is kept of it once the call is placed. */
  numberHash: string;
  numberTail: string;
  acceptedAt: number;
  updatedAt: number;
  /** What was written of it, oldest first, but for repetitions. */
  history: HistoryEntry[];
}

const time = z.number().nullable().default(null);
const text = z.string().nullable().default(null);

const rowSchema = z.looseObject({
  state: z.enum(callStates),
  reason: z.string(),
  backlog: text,
  dueAt: time,
  claims: z.array(z.string()).default([]),
  attempt: z.number().default(0),
  resent: z.boolean().default(false),
  claimedAt: time,
  unknownSince: time,
  misses: z.number().default(0),
  request: z
    .looseObject({
      phone_number: z.string(),
      agent_id: z.string(),
      context: z.record(z.string(), z.string()).optional(),
      timezone: z.string().optional(),
    })
    .nullable()
    .default(null),
  ancestors: z.array(z.string()).default([]),
  route: z
    .looseObject({
      type: z.string().refine((type) => typeNames.includes(type)),
      provider: z.string(),
    })
    .nullable()
    .default(null),
  providerCallId: text,
  redialedAs: text,
  client: z.string(),
  agentId: z.string(),
  numberHash: z.string(),
  numberTail: z.string(),
  acceptedAt: z.number(),
  updatedAt: z.number(),
  history: z
    .array(
      z.looseObject({
        at: z.number(),
        state: z.enum(callStates),
        reason: z.string(),
        dueAt: z.number().optional(),
        by: z.string().optional(),
      }),
    )
    .default([]),
});

/**
 * A stored row, or undefined where this version cannot read it: a state or a type of route that only a later version
 * knows.
 */
export function parseRow(id: string, version: string, stored: unknown): CallRow | undefined {
  const { data } = rowSchema.safeParse(stored);
  if (data === undefined) return undefined;
  // A route is read as it was written: the schema of its provider may have become stricter since.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its type is one that is known
  return { ...data, route: data.route as Route | null, id, version };
}

/** Counters that are 0 where they are absent. */
const counters: ReadonlySet<string> = new Set(["attempt", "misses"] satisfies (keyof CallRow)[]);

/** A row as it is stored beside its id and version, without the fields that are read alike where they are absent. */
export function storedRow(row: CallRow): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).filter(([name, value]) => {
      if (name === "id" || name === "version" || value === null || value === false) return false;
      if (value === 0 && counters.has(name)) return false;
      return !(Array.isArray(value) && value.length === 0);
    }),
  );
}

/** The call of a row, or undefined once its number is erased. */
export function callOf(row: CallRow): Call | undefined {
  const { id, client, acceptedAt, request, ancestors } = row;
  if (request === null) return undefined;
  const call = { id, requestId: requestIdOf(id), client, acceptedAt, request };
  return ancestors.length === 0 ? call : { ...call, ancestors };
}

/** The backlog in which calls of a client to an agent wait. */
export function backlogOf({ client, agentId }: Pick<CallRow, "client" | "agentId">): string {
  return JSON.stringify([client, agentId]);
}
