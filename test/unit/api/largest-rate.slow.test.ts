import { expect, it } from "vitest";
import { compactJournal, purgeJournal } from "#functions/dialer/sweep/compact-journal.ts";
import { replayJournal } from "#functions/dialer/sweep/replay-journal.ts";
import { writeBudgets } from "#functions/api/actions/write-budgets.ts";
import { withCalls } from "#shared/calls/ids.ts";
import { dayMs, hourMs, minuteMs } from "#shared/lib/units.ts";
import { cancellationKeyOf } from "#shared/policy/cancellation-orders.ts";
import { isPart } from "#shared/ports/journal.ts";
import { createTestApi } from "#test/support/api.ts";
import { acceptedId, aRequestId } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { suspendedAt } from "#test/support/document-values.ts";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { createMemoryJournal } from "#test/support/memory-journal.ts";

const start = Date.parse("2026-06-01T10:00Z");
/** Writes of a token in a minute, of each kind that stops calls: these have no budget. Ten a second are more than one sends. */
const atMost = 600;
const usual = 30;
/** Minutes at the largest rate, and hours thereafter with a usual minute each. */
const busyMinutes = 3;
const hours = 26;
/** Time of a request to the object store. Upkeep reads five objects at once, and has five seconds of a minute. */
const objectMs = 30;
const readsAtOnce = 5;
const upkeepMs = 5_000;

/** A service whose object store takes its time with upkeep and restores. */
function createBench() {
  const clock = { now: start };
  const entries = new Map<string, string>();
  const memory = createMemoryJournal(entries);
  const api = createTestApi({ journal: memory, now: () => clock.now });
  const pass = <Answer>(ms: number, answer: Promise<Answer>) => {
    clock.now += ms;
    return answer;
  };
  const journal: typeof memory = {
    append: (name, body) => pass(objectMs, memory.append(name, body)),
    list: (query) => pass(objectMs, memory.list(query)),
    read: (name) => pass(objectMs / readsAtOnce, memory.read(name)),
    remove: (names) => pass(objectMs, memory.remove(names)),
  };
  const numbers = { next: 0 };
  let journalAfter: string | null = null;
  return {
    api,
    clock,
    entries,
    journal,
    send: async (method: string, path: string, token: string, body: object) =>
      (await api.app.request(path, jsonRequest(token, method, body))).status,
    nextNumber: () => `+1${2_012_000_000 + numbers.next++}`,
    /** Takes upkeep's turn of a minute at the journal. */
    async upkeep() {
      const within = (ms: number) => {
        const endAt = clock.now + ms;
        return { isOver: () => clock.now >= endAt };
      };
      const deps = { journal, clock: { ...api.deps.clock, sleep: () => Promise.resolve() } };
      ({ journalAfter } = await compactJournal({ journalAfter }, within(upkeepMs), deps));
      await purgeJournal(within(upkeepMs), deps);
    },
  };
}

/** Has a client with all rights write for a minute. Returns the requests that it cancelled. */
async function writeForAMinute(bench: ReturnType<typeof createBench>, times: number) {
  const { clock, send, nextNumber } = bench;
  const begunAt = clock.now;
  const ids: string[] = [];
  for (let n = 0; n < writeBudgets.receivers.max / (busyMinutes * 2); n++) {
    const receiver = { url: `https://example.com/${n}`, types: ["call.ended"] };
    expect(await send("PUT", "/v1/receivers/main", tokens.crmEvents, receiver)).toBe(200);
  }
  for (let n = 0; n < times; n++) {
    clock.now = begunAt + Math.floor((n * minuteMs) / times);
    const id = acceptedId(withCalls(aRequestId(clock.now), 1));
    ids.push(id);
    expect(await send("POST", `/v1/requests/${id}/cancel`, tokens.crmDesk, {})).toBe(200);
    const phone_numbers = [nextNumber()];
    expect(await send("POST", "/v1/do-not-call", tokens.crmOptOut, { phone_numbers })).toBe(200);
  }
  clock.now = begunAt + minuteMs;
  return ids;
}

it(
  "a token that writes as fast as it may leaves a journal that upkeep keeps up with and a restore soon applies",
  { timeout: 600_000 },
  async () => {
    const bench = createBench();
    const { clock, entries, journal } = bench;
    const singles = () => [...entries.keys()].filter((name) => !isPart(name));
    const cancelled: string[] = [];
    for (let minute = 0; minute < busyMinutes; minute++) {
      cancelled.push(...(await writeForAMinute(bench, atMost)));
      await bench.upkeep();
      clock.now = Math.ceil(clock.now / minuteMs) * minuteMs;
    }
    // Pages that others have replaced are gone at once. Receivers are entries of their own, as they have a budget.
    const kept = 90 * busyMinutes;
    expect(singles().length).toBeLessThanOrEqual(kept);
    clock.now += hourMs;
    await bench.upkeep();
    expect(singles().length).toBeLessThan(100); // too few for a part
    for (let hour = 0; hour < hours; hour++) {
      cancelled.push(...(await writeForAMinute(bench, usual)));
      await bench.upkeep();
      clock.now = Math.ceil(clock.now / hourMs) * hourMs;
    }
    // Parts are as many as their bytes are: of half a megabyte, or of some hours.
    const bytes = [...entries.values()].reduce((sum, { length }) => sum + length, 0);
    expect(entries.size - singles().length).toBeLessThanOrEqual((2 * bytes) / 500_000 + hours);
    expect(singles().length).toBeLessThanOrEqual(2 * 2 * usual + 40);

    // A restore of all of it reads parts, and ends within a minute.
    const restored = createDialerBench();
    const restore = suspendedAt(start, { state: "confirmed", epoch: 5, at: start, by: "ops" });
    let replayed: Awaited<ReturnType<typeof replayJournal>> = { isJournalDone: false };
    const begunAt = clock.now;
    while (replayed.isJournalDone !== true) {
      const deps = { ...restored.deps, journal };
      replayed = await replayJournal({ ...restore, ...replayed }, deps);
    }
    expect(clock.now - begunAt).toBeLessThan(minuteMs);
    const keys = cancelled.map((request) => cancellationKeyOf({ request }));
    const read = await restored.documents.read(keys);
    expect(keys.filter(({ kind, key }) => read.get(kind, key) === undefined)).toEqual([]);

    // After 45 days without a write nothing is left.
    for (let day = 0; day < 47; day++) {
      clock.now += dayMs;
      await bench.upkeep();
    }
    expect([...entries.keys()]).toEqual([]);
  },
);
