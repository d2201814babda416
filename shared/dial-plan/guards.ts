import { type ClientOfMode, isTestClient, realClientOf } from "../calls/ids.ts";
import * as z from "../lib/zod.ts";

/** Maximum of `waiting`: an answer of the ledger holds so many positions of a backlog. */
const waitingMax = 20_000;

export const guardLimits = {
  /** Maximum calls that are accepted in one day, UTC. */
  callsPerDay: z.int().check(z.minimum(1), z.maximum(10_000_000)),
  /** Maximum calls that wait. */
  waiting: z.int().check(z.minimum(1), z.maximum(waitingMax)),
};

/** Limits of a client, above which its calls are refused. */
const guardSchema = z
  .strictObject({
    callsPerDay: z.optional(guardLimits.callsPerDay),
    waiting: z.optional(guardLimits.waiting),
  })
  .check(
    z.refine(
      ({ callsPerDay, waiting }) => callsPerDay !== undefined || waiting !== undefined,
      "must have callsPerDay, waiting or both",
    ),
  );
export type Guard = z.infer<typeof guardSchema>;

/** A client, or `*`. Test calls have the entry of their real client. */
export const realClient = z.string().check(
  z.minLength(1),
  z.refine((name) => !isTestClient(name), 'must not begin with "test:"'),
);

/** The dial plan's `guards`: limits by client; `*` is every client without an entry, each by itself. */
export const guardsSchema = z
  .record(realClient, guardSchema)
  .check(z.refine((guards) => Object.keys(guards).length > 0, "must name a client, or *"));

/** Returns the limits of a client; undefined if it has none. Test calls count for themselves, up to the same limits. */
export function findGuard(
  client: ClientOfMode,
  { guards = {} }: { guards?: Record<string, Guard> | undefined },
): Guard | undefined {
  const name = realClientOf(client);
  return Object.hasOwn(guards, name) ? guards[name] : guards["*"];
}

/** Returns the limits that keep to both: of each, the lower one. */
export function strictest(one: Guard | undefined, other: Guard | undefined): Guard | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const lower = (name: keyof Guard) => {
    const limit = Math.min(one[name] ?? Infinity, other[name] ?? Infinity);
    return limit === Infinity ? {} : { [name]: limit };
  };
  return { ...lower("callsPerDay"), ...lower("waiting") };
}
