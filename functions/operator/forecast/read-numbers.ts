import { hashedNumberOf } from "#shared/calls/ids.ts";
import type { Call } from "#shared/calls/call-request.ts";
import { doNotCallKeyOf } from "#shared/policy/controls.ts";
import type { DocumentKey, DocumentsRead } from "#shared/ports/document-kinds.ts";
import { giveWay, mapInSlices } from "#shared/lib/slices.ts";
import { toRead } from "#shared/ports/unreadable.ts";
import { allHashesOf, type NumberHashes } from "#shared/telephony/phone-number.ts";
import type { RouteDeps } from "#functions/api/http/context.ts";
import { UnreachableError } from "#functions/api/http/port-limits.ts";
import type { PlanWithSchedule } from "./queued.ts";
import { rareNumberKeys } from "#shared/rules/gates.ts";
import { listKeys } from "#shared/rules/rule.ts";

/** Numbers whose documents are read in one go, and at the same time: four documents a number and key. */
const numbersAtOnce = 500;
const readsAtOnce = 4;
/** Time after which no further numbers are read: a gateway waits for 30 s. */
const readMsMax = 12_000;

/** A call whose number is read, and the client that makes it. */
type NumberCall = Pick<Call, "client" | "mode" | "request">;

/** Documents of numbers. Numbers that are missing in `hashes` were not read. */
export interface NumbersRead {
  /** Do-not-call entries, caps and erasures of the numbers. */
  documents: DocumentsRead;
  hashes: ReadonlyMap<string, NumberHashes>;
  /** Times at which the numbers were called, in milliseconds since the epoch. */
  caps: ReadonlyMap<string, readonly number[]>;
}

/**
 * Reads the do-not-call entries and caps of all numbers, in batches and in the order of the calls, until the time limit
 * or until the ledger fails.
 *
 * @param of.hasMore true if there may be entries for one client's calls, or erasures
 */
export async function readNumbers(
  calls: readonly NumberCall[],
  { plans, hasMore }: { plans: readonly PlanWithSchedule[]; hasMore: boolean },
  deps: RouteDeps,
): Promise<NumbersRead> {
  const { documents, clock, hashKeys } = deps;
  const byNumber = [...Map.groupBy(calls, hashedNumberOf)];
  const numbers = await mapInSlices(byNumber, ([number, all]) => ({
    number,
    of: allHashesOf(number, hashKeys),
    all,
  }));
  const isCapped = cappedBy(plans);
  const hashes = new Map<string, NumberHashes>();
  const caps = new Map<string, readonly number[]>();
  /** The documents of numbers by hash, with which all their keys begin. */
  const parts = new Map<string, DocumentsRead>();
  const readSome = async (some: typeof numbers) => {
    const keys = some.flatMap(({ of, all }): DocumentKey[] => {
      const { asked } = of;
      const ofCaps = all.some(isCapped) ? asked : [];
      const ofClients = onceEach(all).map((call) => ({ call, hashes: of }));
      return [
        ...asked.map(doNotCallKeyOf),
        ...ofCaps.map((key) => ({ kind: "cap", key }) as const),
        ...(hasMore ? listKeys(rareNumberKeys, ofClients, clock.now()) : []),
      ];
    });
    const read = await documents.read(keys);
    for (const { number, of } of some) {
      hashes.set(number, of);
      for (const hash of of.asked) parts.set(hash, read);
      caps.set(number, timesIn(of.asked, read));
    }
  };
  const endsAt = clock.now() + readMsMax;
  const step = numbersAtOnce * readsAtOnce;
  for (let start = 0; start < numbers.length && clock.now() < endsAt; start += step) {
    const batches = Array.from({ length: readsAtOnce }, (_, n) => {
      const from = start + n * numbersAtOnce;
      return numbers.slice(from, from + numbersAtOnce);
    });
    const reads: Promise<boolean>[] = [];
    for (const batch of batches.filter(({ length }) => length > 0)) {
      const read = hasSucceeded(readSome(batch));
      read.catch(() => undefined); // it may fail before all of them are waited for
      reads.push(read);
      await giveWay();
    }
    if (!(await Promise.all(reads)).every(Boolean)) break;
  }
  return {
    documents: toRead((kind, key) => parts.get(key.split(" ", 1)[0] ?? "")?.find(kind, key)),
    hashes,
    caps,
  };
}

/** Resolves to false if the ledger failed. */
async function hasSucceeded(read: Promise<void>): Promise<boolean> {
  try {
    await read;
    return true;
  } catch (error) {
    if (error instanceof UnreachableError) return false;
    throw error;
  }
}

/** Returns one call of each client. */
function onceEach(calls: readonly NumberCall[]): NumberCall[] {
  return [...new Map(calls.map((call) => [call.client, call])).values()];
}

/** Returns a function that tells if a cap of one of the plans applies to a call. */
function cappedBy(plans: readonly PlanWithSchedule[]): (call: NumberCall) => boolean {
  return ({ client, mode, request }) =>
    plans.some(({ table, schedule }) => {
      const route = table.find({ client, mode, agentId: request.agent_id });
      return route !== undefined && schedule.capsOf(request, route).caps.length > 0;
    });
}

/** Returns the times at which a number was called, each call once. */
function timesIn(hashes: readonly string[], read: DocumentsRead): number[] {
  const latest = new Map<string, number>();
  for (const { call, at } of hashes.flatMap((hash) => read.get("cap", hash)?.value.entries ?? []))
    latest.set(call, Math.max(at, latest.get(call) ?? 0));
  return [...latest.values()];
}
