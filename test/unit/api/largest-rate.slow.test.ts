import { expect, it } from "vitest";
import { compactJournal, purgeJournal } from "#functions/dialer/sweep/compact-journal.ts";
import { replayJournal } from "#functions/dialer/sweep/replay-journal.ts";
import { writeBudgets } from "#functions/api/actions/write-budgets.ts";
import { withCalls } from "#shared/calls/ids.ts";
import { dayMs, hourMs, minuteMs } from "#shared/lib/units.ts";
import { cancellationKeyOf } from "#shared/policy/controls.ts";
import { isPart, timeOfEntry } from "#shared/ports/journal.ts";
import { createTestApi } from "#test/support/api.ts";
import { acceptedId, aRequestId } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { suspendedAt } from "#test/support/document-values.ts";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { createMemoryJournal } from "#test/support/memory-journal.ts";

const start = Date.parse("2026-06-01T10:00Z");
/** Writes of a token in a minute. Those that stop calls have no budget: ten of each a second are more than one sends. */
const ordersAMinute = 600;
const optOutsAMinute = 600;
/** The hours that are simulated, and the minutes of each in which the token writes. */
const hours = 30;
const busyMinutes = 2;
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

/** Has a client with all rights write for a minute as fast as it may. Returns the requests that it cancelled. */
async function writeForAMinute({ clock, send, nextNumber }: ReturnType<typeof createBench>) {
  const begunAt = clock.now;
  const ids: string[] = [];
  const perHour = Math.ceil(writeBudgets.receivers.max / busyMinutes);
  for (let n = 0; n < perHour; n++) {
    const receiver = { url: `https://example.com/${n}`, types: ["call.ended"] };
    expect(await send("PUT", "/v1/receivers/main", tokens.crmEvents, receiver)).toBe(200);
  }
  for (let n = 0; n < Math.max(ordersAMinute, optOutsAMinute); n++) {
    clock.now = begunAt + Math.floor((n * minuteMs) / ordersAMinute);
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
    const cancelled: string[] = [];
    const singles: number[] = [];
    const parts: number[] = [];
    for (let hour = 0; hour < hours; hour++) {
      const hourEndsAt = clock.now + hourMs;
      for (let minute = 0; minute < busyMinutes; minute++) {
        cancelled.push(...(await writeForAMinute(bench)));
        await bench.upkeep();
        // Upkeep takes from the next minute only what it needs.
        expect(clock.now % minuteMs).toBeLessThan(2 * upkeepMs);
        clock.now = Math.ceil(clock.now / minuteMs) * minuteMs;
      }
      while (clock.now < hourEndsAt) {
        clock.now += 10 * minuteMs;
        await bench.upkeep();
      }
      clock.now = hourEndsAt;
      const names = [...entries.keys()];
      singles.push(names.filter((name) => !isPart(name)).length);
      parts.push(names.filter(isPart).length);
    }
    // Entries that are not in parts do not become more: they are of the last two hours.
    const ownMax = 61 * busyMinutes * 2 + 100;
    expect(Math.max(...singles.slice(2))).toBeLessThanOrEqual(2 * ownMax);
    // Parts are as many as their bytes are: of half a megabyte, or of an hour.
    const bytes = [...entries.values()].reduce((sum, { length }) => sum + length, 0);
    const grown = (parts.at(-1) ?? 0) - (parts[2] ?? 0);
    expect(grown).toBeLessThanOrEqual((2 * bytes) / 500_000 + hours);

    // A restore of all of it reads parts, and ends within minutes.
    const bench2 = createDialerBench();
    const restore = suspendedAt(start, { state: "confirmed", epoch: 5, at: start, by: "ops" });
    let replayed: Awaited<ReturnType<typeof replayJournal>> = { isJournalDone: false };
    const begunAt = clock.now;
    while (replayed.isJournalDone !== true) {
      const time = { isOver: () => false };
      replayed = await replayJournal({ ...restore, ...replayed }, time, {
        ...bench2.deps,
        journal,
      });
    }
    expect(clock.now - begunAt).toBeLessThan(minuteMs);
    const keys = cancelled.map((request) => cancellationKeyOf({ request }));
    const read = await bench2.documents.read(keys);
    expect(keys.filter(({ kind, key }) => read.get(kind, key) === undefined)).toEqual([]);

    // After 45 days without a write nothing is left.
    for (let day = 0; day < 47; day++) {
      clock.now += dayMs;
      await bench.upkeep();
    }
    expect([...entries.keys()].filter((name) => timeOfEntry(name) < clock.now)).toEqual([]);
  },
);
