import { listDocuments, readRow, readRows } from "#test/support/reads.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Bulk } from "#functions/operator/bulk.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import { type CallState, states } from "#shared/calls/states.ts";
import { enterState, requireReview } from "#shared/calls/transitions.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { createMemoryJournal } from "#test/support/memory-journal.ts";
import { tokens } from "#test/support/environment.ts";
import { expectDeclared } from "#test/support/operator-answers.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

type Api = ReturnType<typeof createTestApi>;
type Answer = Bulk & { errors: { pointer: string }[] };

const minute = 60_000;
/** More answers than any work here takes, so that an endless one fails. */
const answersMax = 200;

async function ask(api: Api, path: string, body: object) {
  const response = await api.app.request(
    `/operator${path}`,
    jsonRequest(tokens.operator, "POST", body),
  );
  const text = await response.text();
  const { status } = response;
  expectDeclared("post", path, { status, text });
  const answer: Answer = JSON.parse(text);
  return { status, answer };
}

/** Works to the end. `between` runs after each answer. */
async function work(api: Api, body: object, between = async (_answer: Bulk) => {}) {
  const total = { found: 0, done: 0, refused: 0, answers: 0, ids: new Set<string>(), at: "" };
  let cursor: string | undefined;
  for (let failures = 0; total.answers < answersMax;) {
    const { status, answer } = await ask(api, "/bulk", { ...body, cursor });
    if (status === 503 && failures++ < 5) continue; // the same request again
    expect(status).toBe(200);
    total.answers += 1;
    total.found += answer.found;
    total.done += answer.done;
    total.refused += Object.values(answer.refused).reduce((sum, one) => sum + one, 0);
    total.ids.add(answer.bulk_id);
    total.at = answer.counted_at;
    cursor = answer.cursor;
    if (cursor === undefined) return total;
    await between(answer);
  }
  throw new Error("the work does not end");
}

/** Creates an API whose ledger has calls of agents in states since their acceptance, one a minute, the first one the newest. */
async function createFilledApi(calls: readonly { state: CallState; agent: string }[]) {
  const journal = new Map<string, string>();
  const api = createTestApi({ journal: createMemoryJournal(journal) });
  const now = Date.now();
  const rows = calls.map(({ state, agent }, n) => {
    const acceptedAt = now - (n + 1) * minute;
    const request = { phone_number: "+12025550123", agent_id: agent };
    return rowIn(state, aCall({ acceptedAt, request, first: "request" }), { at: acceptedAt });
  });
  await writeRows(rows, api.ledger, api.documents);
  const read = async () => {
    const found = await readRows(
      api.ledger,
      rows.map(({ id }) => id),
    );
    return rows.flatMap(({ id }) => found.get(id) ?? []);
  };
  return { api, rows, read, journal };
}

/** Writes the change of a row. */
async function change(api: Api, row: CallRow | undefined, next: CallRow | undefined) {
  if (row === undefined || next === undefined) throw new Error("the row does not change so");
  expect(await api.ledger.write([{ next, seen: row.version }])).toEqual([true]);
  return next;
}

/** Sends a call of unknown outcome to review now. */
function review(api: Api, row: CallRow | undefined) {
  const write = { version: randomVersion(), at: Date.now() };
  return change(api, row, row && requireReview(row, 0, write));
}

/** Takes the calls that are on the queue, each with the calls that it replaces. */
async function queuedCalls(api: Api) {
  const messages = await Promise.all(
    api.queue.take().map(async ({ open }): Promise<unknown> => JSON.parse(await open())),
  );
  return messages.map((message) => {
    const { requestId, ancestors }: { requestId: string; ancestors: string[] } = Object(message);
    return { requestId, replaces: ancestors.at(-1) ?? "" };
  });
}

const many = (count: number, state: CallState, agent = "agent_1") =>
  Array.from({ length: count }, () => ({ state, agent }));
const inState = (rows: readonly CallRow[], state: CallState) =>
  rows.filter((row) => row.state === state).length;

describe("an action on all calls that fit a filter", () => {
  it("refuses an empty filter, a state that it is not for, and a redial of what may be placed", async () => {
    const api = createTestApi();
    for (const [body, pointer] of [
      [{ action: "cancel", filter: {} }, "/filter"],
      [{ action: "cancel", filter: { until: new Date().toISOString() } }, "/filter"],
      [{ action: "cancel", filter: { agent_id: "a", state: "PLACED" } }, "/filter/state"],
      [{ action: "redial", filter: { agent_id: "a" } }, "/filter/state"],
      [{ action: "redial", filter: { state: "NEEDS_REVIEW" } }, "/not_placed"],
      [{ action: "cancel", filter: { agent_id: "a" }, cursor: "bm90" }, "/cursor"],
      [{ action: "cancel", filter: { agent_id: "a", phone_number: "+1202" } }, "/filter"],
    ] as const) {
      const { status, answer } = await ask(api, "/bulk", body);
      expect([body, status]).toEqual([body, 422]);
      expect(answer.errors[0]?.pointer).toContain(pointer);
    }
  });

  it(
    "counts first, then acts part by part on these calls alone, and is in the audit log",
    inSlowTier,
    async () => {
      const { api, read, journal } = await createFilledApi([
        ...many(120, "WAITING"),
        ...many(5, "WAITING", "agent_2"),
        ...many(3, "NEEDS_REVIEW"),
      ]);
      const body = { action: "cancel", filter: { agent_id: "agent_1" } };
      const counted = await work(api, { ...body, dry_run: true });
      expect(counted).toMatchObject({ found: 120, done: 0, refused: 0 });
      expect(inState(await read(), "WAITING")).toBe(125);
      const done = await work(api, body);
      expect(done).toMatchObject({ found: 120, done: 120, refused: 0 });
      const rows = await read();
      expect([inState(rows, "WAITING"), inState(rows, "NEEDS_REVIEW")]).toEqual([5, 3]);
      const cancelled = rows.filter(({ state }) => state === "CANCELLED");
      const [first] = cancelled;
      // A restore does not bring them back.
      const kept = [...journal.values()].join();
      expect(cancelled.filter(({ id }) => !kept.includes(requestIdOf(id)))).toEqual([]);
      expect(first?.history.at(-1)).toMatchObject({ state: "CANCELLED", by: "operator" });
      const entries = (await listDocuments(api.documents, "audit", { limit: 99 })).map(
        ({ value }) => value,
      );
      expect(done.ids.size).toBe(1);
      const [id = ""] = done.ids;
      expect(entries.every(({ action }) => action === "bulk_cancel")).toBe(true);
      expect(entries.every(({ target }) => target.startsWith(`bulk ${id}: agent_id agent_1`))).toBe(
        true,
      );
      expect(entries.reduce((sum, { count = 0 }) => sum + count, 0)).toBe(120);
    },
  );

  it("leaves what it has not reached when it is aborted", async () => {
    const { api, read } = await createFilledApi(many(120, "NEEDS_REVIEW"));
    const body = { action: "placed", filter: { reason: "r" } };
    const first = (await ask(api, "/bulk", body)).answer;
    const second = (await ask(api, "/bulk", { ...body, cursor: first.cursor })).answer;
    expect([second.done, second.found]).toEqual([45, 45]);
    const rows = await read();
    expect([inState(rows, "PLACED"), inState(rows, "NEEDS_REVIEW")]).toEqual([45, 75]);
  });

  it("catches no call that was accepted after it began", async () => {
    const { api } = await createFilledApi(many(60, "WAITING"));
    const later: CallRow[] = [];
    await work(api, { action: "cancel", filter: { agent_id: "agent_1" } }, async () => {
      const acceptedAt = Date.now() + 1000;
      const request = { phone_number: "+12025550123", agent_id: "agent_1" };
      const row = rowIn("WAITING", aCall({ acceptedAt, request, first: "request" }));
      later.push(row);
      await writeRows([row], api.ledger, api.documents);
    });
    const rows = await readRows(
      api.ledger,
      later.map(({ id }) => id),
    );
    expect(inState([...rows.values()], "WAITING")).toBe(later.length);
    expect(later.length).toBeGreaterThan(0);
  });

  it("leaves a call that must be reviewed only after the others were counted", async () => {
    const calls = [...many(3, "NEEDS_REVIEW"), ...many(1, "UNKNOWN")];
    const { api, rows, read } = await createFilledApi(calls);
    const body = { action: "redial", filter: { state: "NEEDS_REVIEW" }, not_placed: true };
    const counted = await work(api, { ...body, dry_run: true });
    expect(counted.found).toBe(3);
    await review(api, rows[3]);
    const done = await work(api, { ...body, counted_at: counted.at });
    expect(done).toMatchObject({ found: 3, done: 3, refused: 0, at: counted.at });
    const after = await read();
    expect([inState(after, "REDIALED"), inState(after, "NEEDS_REVIEW")]).toEqual([3, 1]);
    expect(await queuedCalls(api)).toHaveLength(3);
    expect((await work(api, { ...body, dry_run: true })).found).toBe(1);
  });

  it("leaves a call that must be reviewed only after its first part", async () => {
    const calls = [...many(3, "NEEDS_REVIEW"), ...many(1, "UNKNOWN")];
    const { api, rows, read } = await createFilledApi(calls);
    const body = { action: "placed", filter: { client: "crm" }, limit: 1 };
    let isReviewed = false;
    const done = await work(api, body, async () => {
      if (!isReviewed) await review(api, rows[3]);
      isReviewed = true;
    });
    expect(done).toMatchObject({ found: 3, done: 3, refused: 0 });
    const after = await read();
    expect([inState(after, "PLACED"), inState(after, "NEEDS_REVIEW")]).toEqual([3, 1]);
  });

  it("cancels what waited when it was counted and waits again, but not for a reason that is new", async () => {
    const { api, rows, read } = await createFilledApi(many(2, "WAITING"));
    const body = { action: "cancel", filter: { client: "crm" } };
    const counted = await work(api, { ...body, dry_run: true });
    const waits = { reason: "later", dueAt: Date.now() };
    const again = rows.map((row) =>
      enterState(row, { state: "WAITING", ...waits }, { version: randomVersion(), at: Date.now() }),
    );
    for (const [n, next] of again.entries()) await change(api, rows[n], next);
    const filter = { ...body.filter, reason: "later" };
    const later = await work(api, { ...body, filter, counted_at: counted.at });
    expect(later).toMatchObject({ found: 0, done: 0 });
    const done = await work(api, { ...body, counted_at: counted.at });
    expect(done).toMatchObject({ found: 2, done: 2, refused: 0 });
    expect(inState(await read(), "CANCELLED")).toBe(2);
  });

  it("redials each call once when two operators do it at a time", async () => {
    const { api, read } = await createFilledApi(many(70, "REJECTED"));
    const body = { action: "redial", filter: { state: "REJECTED" } };
    const both = await Promise.all([work(api, body), work(api, body)]);
    for (const { done, refused, found } of both) expect(done + refused).toBe(found);
    await expectOneRedialEach(api, await read());
    expect(inState(await read(), "REDIALED")).toBe(70);
  });

  it("leaves a call whose number is erased while it is redialed", async () => {
    const { api, rows, read } = await createFilledApi(many(2, "REJECTED"));
    const erased = firstOf(rows);
    const body = { action: "redial", filter: { state: "REJECTED" } };
    const { cursor } = (await ask(api, "/bulk", body)).answer;
    const write = api.ledger.write.bind(api.ledger);
    let isErased = false;
    api.ledger.write = async (changes) => {
      if (!isErased) {
        isErased = true;
        const next = { ...erased, request: null, version: randomVersion() };
        await write([{ next, seen: erased.version }]);
      }
      return write(changes);
    };
    const { answer } = await ask(api, "/bulk", { ...body, cursor });
    expect(answer).toMatchObject({ done: 1, refused: { erased: 1 } });
    expect((await read()).map(({ state }) => state)).toEqual(["REJECTED", "REDIALED"]);
    await expectOneRedialEach(api, await read());
  });

  it("makes the calls of a try that ended between its writes and its messages", async () => {
    const { api, read } = await createFilledApi(many(3, "REJECTED"));
    const body = { action: "redial", filter: { state: "REJECTED" } };
    const { cursor } = (await ask(api, "/bulk", body)).answer;
    const [write, send] = [api.ledger.write.bind(api.ledger), api.queue.send.bind(api.queue)];
    api.ledger.write = async (changes) => {
      api.ledger.write = write;
      // The repeated request has read its rows when an earlier try writes them, and ends.
      api.queue.send = () => Promise.reject(new Error("the client has hung up"));
      expect((await ask(api, "/bulk", { ...body, cursor })).status).toBe(503);
      api.queue.send = send;
      return write(changes);
    };
    const { answer } = await ask(api, "/bulk", { ...body, cursor });
    expect(answer).toMatchObject({ done: 3, refused: {} });
    await expectOneRedialEach(api, await read());
  });

  it(
    "keeps its promises beside single acts, repeated requests and a failing queue",
    inSlowTier,
    async () => {
      const aStep = fc.constantFrom("nothing", "single", "repeat", "fail");
      const someCalls = fc.array(
        fc.record({
          state: fc.constantFrom<CallState>("REJECTED", "NEEDS_REVIEW", "WAITING", "EXPIRED"),
          agent: fc.constantFrom("agent_1", "agent_2"),
        }),
        { minLength: 1, maxLength: 40 },
      );
      const works = fc.constantFrom(
        { action: "redial", filter: { state: "REJECTED" } },
        {
          action: "redial",
          filter: { state: "NEEDS_REVIEW", agent_id: "agent_1" },
          not_placed: true,
        },
        { action: "redial", filter: { state: "EXPIRED", client: "crm" } },
        { action: "cancel", filter: { agent_id: "agent_1" } },
        { action: "close", filter: { agent_id: "agent_2" } },
        { action: "placed", filter: { state: "NEEDS_REVIEW" } },
      );
      const plan = { calls: someCalls, body: works, steps: fc.array(aStep, { maxLength: 12 }) };
      await fc.assert(
        fc.asyncProperty(
          fc.record({ ...plan, limit: fc.integer({ min: 1, max: 9 }) }),
          async (one) => {
            const { api, rows, read } = await createFilledApi(one.calls);
            const steps = [...one.steps];
            const send = api.queue.send.bind(api.queue);
            let failures = 0;
            api.queue.send = async (message, delaySeconds) => {
              if (failures-- > 0) throw new Error("the queue is down");
              await send(message, delaySeconds);
            };
            const body = { ...one.body, limit: one.limit };
            const total = await work(api, body, async ({ cursor }) => {
              const step = steps.shift();
              if (step === "fail") failures = 3;
              if (step === "repeat") await ask(api, "/bulk", { ...body, cursor });
              if (step === "single")
                await actOnOne(api, rows[steps.length % rows.length]?.id ?? "");
            });
            failures = 0;
            expect(total.done + total.refused).toBe(total.found);
            await expectOneRedialEach(api, await read());
            const after = await read();
            for (const [n, row] of after.entries()) {
              const before = rows[n];
              if (before === undefined || !isMeant(before, one.body)) continue;
              // Nothing that fits is left as it was.
              expect(states[row.state].actions).toEqual([]);
            }
          },
        ),
        { numRuns: perTier({ quick: 6, long: 60 }) },
      );
    },
  );
});

function isMeant(row: CallRow, { action, filter }: { action: string; filter: object }): boolean {
  const { state, agent_id }: { state?: string; agent_id?: string } = filter;
  const meant = state ?? (action === "cancel" ? "WAITING" : "NEEDS_REVIEW");
  return row.state === meant && (agent_id === undefined || row.agentId === agent_id);
}

/** Does what another operator may do with one call meanwhile. */
async function actOnOne(api: Api, id: string): Promise<void> {
  const found = await readRow(api.ledger, id);
  const [first] = found === undefined ? [] : states[found.state].actions;
  const body = first === "resolve" ? { outcome: "placed" } : {};
  if (first === undefined) return;
  // A redial that the queue did not take is repeated, as its answer says.
  for (let tries = 0; tries < 5; tries++) {
    const { status } = await ask(api, `/calls/${id}/${first}`, body);
    if (status !== 503) return;
  }
}

/** Checks that each redialed row has one new call on the queue, however often it is there, and no other row has any. */
async function expectOneRedialEach(api: Api, rows: readonly CallRow[]): Promise<void> {
  const made = new Map<string, Set<string>>();
  for (const { requestId, replaces } of await queuedCalls(api)) {
    made.set(replaces, new Set([...(made.get(replaces) ?? []), `call_${requestId}_00000`]));
  }
  for (const { id, state, redialedAs } of rows) {
    const expected = state === "REDIALED" ? [redialedAs] : [];
    expect([id, [...(made.get(id) ?? [])]]).toEqual([id, expected]);
  }
}
