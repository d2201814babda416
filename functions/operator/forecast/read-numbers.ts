import { hashedNumberOf } from "#shared/calls/ids.ts";
import type { Call } from "#shared/calls/call-request.ts";
import type { DocumentKey, DocumentsRead } from "#shared/ports/document-kinds.ts";
import { toRead } from "#shared/ports/found-documents.ts";
import { giveWay, mapInSlices } from "#shared/lib/slices.ts";
import { type NumberHashes } from "#shared/telephony/number-hashes.ts";
import type { RouteDeps } from "#functions/api/http/context.ts";
import { UnreachableError } from "#functions/api/http/port-limits.ts";
import type { PlanWithSchedule } from "./queued.ts";
import { calledAt, capKeys, numberKeys, rareNumberKeys } from "#shared/rules/gates.ts";
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
 * @param of.hasClientEntries true if there may be entries for one client's calls, or erasures
 */
export async function readNumbers(
  calls: readonly NumberCall[],
  { plans, hasClientEntries }: { plans: readonly PlanWithSchedule[]; hasClientEntries: boolean },
  deps: RouteDeps,
): Promise<NumbersRead> {
  const { documents, clock } = deps;
  const byNumber = [...Map.groupBy(calls, hashedNumberOf)];
  const numbers = await mapInSlices(byNumber, ([number, all]) => ({
    number,
    of: deps.numbers.all(number),
    all,
  }));
  const hashes = new Map<string, NumberHashes>();
  const caps = new Map<string, readonly number[]>();
  /** The documents of numbers by hash, with which all their keys begin. */
  const parts = new Map<string, DocumentsRead>();
  const readSome = async (some: typeof numbers) => {
    const keys = some.flatMap(({ of, all }): DocumentKey[] => {
      const ofClients = onceEach(all).map((call) => ({ call, hashes: of }));
      return [
        ...listKeys(numberKeys, [{ hashes: of }], clock.now()),
        ...keysOfCaps(all, of.asked, plans),
        ...(hasClientEntries ? listKeys(rareNumberKeys, ofClients, clock.now()) : []),
      ];
    });
    const read = await documents.read(keys);
    for (const { number, of } of some) {
      hashes.set(number, of);
      for (const hash of of.asked) parts.set(hash, read);
      caps.set(number, calledAt(of.asked, read));
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

/** Names the documents of the caps of a number, where a plan has one for one of its calls. */
function keysOfCaps(
  calls: readonly NumberCall[],
  hashes: readonly string[],
  plans: readonly PlanWithSchedule[],
): DocumentKey[] {
  for (const { client, mode, request } of calls) {
    for (const { table, schedule } of plans) {
      const route = table.find({ client, mode, agentId: request.agent_id });
      const keys = route === undefined ? [] : capKeys({ request, hashes }, route, { schedule });
      if (keys.length > 0) return keys;
    }
  }
  return [];
}
