import { hash } from "node:crypto";
import type { DialerDeps } from "../runtime/context.ts";
import { writeLease } from "../runtime/lease.ts";

/** Maximum lanes, where there are more deliveries: a request of 10,000 calls takes a lane for twenty seconds on AWS. */
const lanesMax = 10;
/** Time after which a lane is free again though nobody has given it back: its process has died. */
const laneMsMax = 120_000;
/** Delays of a message for which there was no lane. A hundred of them are hours. */
const firstSeconds = 5;
const secondsMax = 120;

/**
 * Takes one of the lanes in which a client's large requests are split, until it is disposed of.
 *
 * @returns undefined if other deliveries have all of them
 */
export async function takeSplitLane(
  client: string,
  deps: Pick<DialerDeps, "documents" | "clock" | "random" | "consumers">,
): Promise<AsyncDisposable | undefined> {
  const own = lanesOf(client, deps.consumers);
  const read = await deps.documents.read(own);
  const free = own.filter(({ kind, key }) => read.get(kind, key) === undefined);
  // Deliveries that find the same lanes free begin with different lanes.
  const start = Math.floor(deps.random.fraction() * free.length);
  for (const name of [...free.slice(start), ...free.slice(0, start)]) {
    const lease = { ...name, value: {}, expiresAt: deps.clock.now() + laneMsMax };
    const taken = await writeLease(lease, null, deps);
    if (taken === undefined) continue;
    const end = () => deps.documents.remove([{ ...name, seen: taken.version }]);
    return { [Symbol.asyncDispose]: () => end().catch(() => undefined) };
  }
  return undefined;
}

/**
 * Returns a client's lanes: of all, those that come first by a hash, so that hardly two clients have the same. Half of
 * the deliveries are lanes, as turns and single calls of all clients need deliveries too; half of the lanes are a
 * client's, so that others' requests are split meanwhile.
 *
 * @param consumers concurrent deliveries of the call queue
 */
function lanesOf(client: string, consumers: number) {
  const count = Math.min(lanesMax, Math.max(1, Math.floor(consumers / 2)));
  return Array.from({ length: count }, (_, n) => `split:${n}`)
    .map((key) => ({ kind: "lease" as const, key, place: hash("sha256", `${client} ${key}`) }))
    .toSorted((one, other) => (one.place < other.place ? -1 : 1))
    .slice(0, Math.ceil(count / 2))
    .map(({ kind, key }) => ({ kind, key }));
}

/** Returns the seconds after which a message without a lane is delivered again. */
export function secondsWithoutLane(attempt: number): number {
  return Math.min(firstSeconds * 2 ** (attempt - 1), secondsMax);
}
