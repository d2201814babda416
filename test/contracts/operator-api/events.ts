import { afterEach, expect, it } from "vitest";
import type { CallEvent } from "#shared/calls/call-event.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { pendingOf, exhaustedOf } from "#shared/events/outbox-rows.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { aCall, aRequestId } from "#test/support/calls.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { type Answer, type OperatorApiBench } from "./setup.ts";
import { removeCurrent } from "#test/support/documents.ts";

const timeOf = (ms: number) => new Date(ms).toISOString();
const breakerOf = (at: number) => ({
  state: "open" as const,
  code: "http_503",
  openedAt: at,
  probeAt: at + 60_000,
  intervalMs: 60_000,
  cause: "receiver" as const,
  room: 0,
  blamed: [],
});
const happened = { sequence: 1, state: "PLACED", reason: "placed", attempt: 1 };
const finished = {
  finished: 1,
  states: { PLACED: 1 },
  results: {},
  calls: 1,
};

/** Calls and requests of the current test. */
const calls: string[] = [];
const requests: string[] = [];

/** Returns the events of one call: one told, one whose tries are used up, one still to be told. */
function eventsAt(
  at: number,
  dueAt = at,
): Record<"delivered" | "exhausted" | "pending", CallEvent> {
  return {
    delivered: { ...happened, type: "call.placed", at },
    exhausted: { ...happened, sequence: 2, type: "call.ended", at, tries: 10, exhausted: true },
    pending: { ...happened, sequence: 3, type: "call.opt_out", at, tries: 1, dueAt },
  };
}

/** Puts a placed call of a client into the ledger, with these events. */
async function tellable(
  api: OperatorApiBench,
  { client = "told-all", acceptedAt = Date.now(), requestId = aRequestId(acceptedAt) },
  events: CallEvent[],
): Promise<CallRow> {
  const call = aCall({ id: toCallId(requestId, 0), requestId, client, acceptedAt });
  const due = events.find(({ dueAt }) => dueAt !== undefined);
  const exhausted = events.find((one) => one.exhausted === true);
  const listed =
    due === undefined
      ? exhausted && { deliverTo: exhaustedOf(client), deliverAt: exhausted.at }
      : { deliverTo: pendingOf(client), deliverAt: due.dueAt ?? 0 };
  const row = { ...rowIn("PLACED", call), events, ...listed };
  await writeRows([row], api.ledger, api.documents);
  calls.push(row.id);
  requests.push(requestId);
  return row;
}

/** Removes what the last test has put into the ledger: the suites of a platform share it. */
function removeAfterEach(api: OperatorApiBench): void {
  afterEach(async () => {
    await api.ledger.purge(calls.splice(0));
    const keys = requests.splice(0).map((key) => ({ kind: "request", key }) as const);
    await removeCurrent(api.documents, ...keys);
  });
}

/** Describes what operators see of the receivers of events. */
export function itShowsReceivers(api: OperatorApiBench): void {
  const { ask, putDocument } = api;
  removeAfterEach(api);

  it("shows each receiver, its breaker and its pending events", async () => {
    const at = Date.now() - 60_000;
    await putDocument("breaker", "receiver:told-all", breakerOf(at));
    const { delivered, exhausted, pending } = eventsAt(at);
    await tellable(api, {}, [delivered, pending]);
    await tellable(api, {}, [eventsAt(at, at + 5_000).pending]);
    await tellable(api, {}, [delivered, exhausted]);
    const { body } = await ask("/events");
    expect(body.receivers).toEqual([
      {
        name: "told-all",
        origin: "http://127.0.0.1:9",
        types: expect.arrayContaining(["call.placed", "request.finished"]),
        breaker: { code: "http_503", opened_at: timeOf(at), probe_at: timeOf(at + 60_000) },
        oldest_due_at: timeOf(at),
        exhausted_calls: 1,
      },
      {
        name: "told-ends",
        origin: "https://told.example.com",
        types: ["call.ended"],
        breaker: null,
        oldest_due_at: null,
        exhausted_calls: 0,
      },
    ]);
    expect(JSON.stringify(body)).not.toMatch(/secret-path/);
    expect(body).not.toHaveProperty("exhausted");
    await putDocument("breaker", "receiver:told-all", { ...breakerOf(at), state: "closed" });
    expect((await ask("/events?receiver=told-all")).body.receivers).toMatchObject([
      { name: "told-all", breaker: null },
    ]);
  });

  it("lists the calls and requests whose tries are used up, page after page", async () => {
    const client = "told-ends";
    const at = Date.now() - 60_000;
    const rows: CallRow[] = [];
    for (let n = 0; n < 3; n++) {
      rows.push(
        await tellable(api, { client }, [eventsAt(at + n).delivered, eventsAt(at + n).exhausted]),
      );
    }
    const [request = "", ...others] = [at, at, at].map(aRequestId);
    requests.push(request, ...others);
    const value = { ...finished, client, acceptedAt: at, finishedAt: at + 9, tries: 10 };
    await putDocument("request", request, { ...value, exhausted: true });
    await putDocument("request", others[0] ?? "", { ...value, dueAt: at });
    await putDocument("request", others[1] ?? "", {
      ...value,
      client: "told-all",
      exhausted: true,
    });
    const listed: Answer["body"]["exhausted"] = [];
    let cursor: string | undefined;
    do {
      const place = cursor === undefined ? "" : `&cursor=${cursor}`;
      const { body } = await ask(`/events?receiver=${client}&limit=2${place}`);
      expect(body.exhausted.length).toBeLessThanOrEqual(2);
      expect(body.receivers).toMatchObject([{ name: client, exhausted_calls: 3 }]);
      listed.push(...body.exhausted);
      cursor = body.cursor;
    } while (cursor !== undefined);
    const tried = (id: string, type: string, time: number) => ({
      client,
      events: [{ id, type, at: timeOf(time), tries: 10 }],
    });
    expect(listed).toEqual([
      ...rows.map(({ id }, n) => ({ id, ...tried(`${id}.2`, "call.ended", at + n) })),
      { id: request, ...tried(`${request}.finished`, "request.finished", at + 9) },
    ]);
    expect((await ask("/events?receiver=crm")).status).toBe(404);
    for (const query of ["?cursor=x", "?receiver=told-all&cursor=x", "?other=1"]) {
      expect((await ask(`/events${query}`)).status).toBe(422);
    }
  });

  it("shows the open breaker of a receiver, and closes it", async () => {
    const key = "receiver:told-ends";
    const at = Date.now();
    await putDocument("breaker", key, breakerOf(at));
    await putDocument("counters", key, { inRow: 10 });
    const { body } = await ask("/pauses");
    expect(body.breakers).toContainEqual({
      key,
      kind: "receiver",
      name: "told-ends",
      cause: "receiver",
      state: "open",
      code: "http_503",
      opened_at: timeOf(at),
      probe_at: timeOf(at + 60_000),
      failures: { unreachable: 10, in_row: 10 },
    });
    expect((await ask("/resume", { breaker: key })).body).toEqual({ breaker: key });
    expect((await ask("/events?receiver=told-ends")).body.receivers).toMatchObject([
      { breaker: null },
    ]);
    expect(await api.documentOf("counters", key)).toBeUndefined();
  });
}

/** Describes how operators have events told again. */
export function itReplaysEvents(api: OperatorApiBench): void {
  const { ask, rowOf, documentOf, putDocument } = api;
  removeAfterEach(api);
  const hourMs = 3_600_000;
  let range = 0;
  /** A range of acceptance that no other test uses, and a request's body for it. */
  function nextRange(client = "told-ends") {
    const from = Math.floor(Date.now() / hourMs) * hourMs - ++range * 24 * hourMs;
    const within = from + hourMs / 2;
    return { within, body: { client, from: timeOf(from), until: timeOf(from + hourMs) } };
  }
  const messagesOf = async (count: number) =>
    (await api.queuedEvents(count)).flatMap((one) => (one.kind === "deliver" ? one.calls : []));

  it("replays the events of a client and a time, under the ids that they had", async () => {
    const { within, body } = nextRange();
    const { delivered, exhausted, pending } = eventsAt(within);
    const client = "told-ends";
    const put = (acceptedAt: number, of = client, events = [delivered, exhausted, pending]) =>
      tellable(api, { client: of, acceptedAt }, events);
    const rows = [await put(within), await put(within + 1), await put(within, client, [pending])];
    const others = [
      await put(within - hourMs),
      await put(within + hourMs / 2),
      await put(within, "told-all"),
    ];
    const before = Date.now();
    await api.queuedEvents(0);
    const { status, body: answer } = await ask("/events/replay", body);
    expect([status, answer]).toEqual([200, { replayed: 4 }]);
    expect(new Set(await messagesOf(1))).toEqual(new Set([rows[0]?.id, rows[1]?.id]));
    for (const row of rows.slice(0, 2)) {
      const { events = [], deliverTo, deliverAt } = (await rowOf(row)) ?? {};
      expect(events.map(({ sequence, at }) => [sequence, at])).toEqual(
        row.events.map(({ sequence, at }) => [sequence, at]),
      );
      expect(events[0]?.dueAt).toBeGreaterThanOrEqual(before);
      expect(events[1]).not.toHaveProperty("exhausted", true);
      expect(events[1]?.tries ?? 0).toBe(0);
      expect(events[2]).toEqual(pending);
      expect([deliverTo, deliverAt]).toEqual([pendingOf(client), pending.dueAt]);
    }
    for (const row of [rows[2], ...others]) {
      if (row !== undefined) expect(await rowOf(row)).toEqual(row);
    }
    const target = `client ${client}, ${body.from} to ${body.until}`;
    const ofIt = `limit=1&target=${encodeURIComponent(target)}`;
    const [entry] = (await ask(`/audit?${ofIt}`)).body.entries;
    expect(entry).toMatchObject({ action: "replay", target, by: "operator", count: 3 });
  });

  it("replays only events of the named types, or those whose tries are used up", async () => {
    const { within, body } = nextRange();
    const { delivered, exhausted } = eventsAt(within);
    const row = await tellable(api, { client: body.client, acceptedAt: within }, [
      delivered,
      exhausted,
    ]);
    const dueOf = async () => (await rowOf(row))?.events.map(({ dueAt }) => dueAt !== undefined);
    const both = { ...body, exhausted: true };
    expect((await ask("/events/replay", { ...both, types: ["call.placed"] })).body).toEqual({
      replayed: 0,
    });
    expect(await dueOf()).toEqual([false, false]);
    expect((await ask("/events/replay", both)).body).toEqual({ replayed: 1 });
    expect(await dueOf()).toEqual([false, true]);
    expect((await ask("/events/replay", { ...body, types: ["call.placed"] })).body).toEqual({
      replayed: 1,
    });
    expect(await dueOf()).toEqual([true, true]);
    expect(await messagesOf(2)).toEqual([row.id, row.id]);
  });

  it("replays page by page if there are many calls", async () => {
    const { within, body } = nextRange();
    const count = 210;
    const requestId = aRequestId(within);
    const rows = Array.from({ length: count }, (_, index) => ({
      ...rowIn(
        "PLACED",
        aCall({
          id: toCallId(requestId, index),
          requestId,
          client: body.client,
          acceptedAt: within,
        }),
      ),
      events: [eventsAt(within).delivered],
    }));
    await writeRows(rows, api.ledger, api.documents);
    calls.push(...rows.map(({ id }) => id));
    const counts: number[] = [];
    let cursor: string | undefined;
    do {
      const answer = (await ask("/events/replay", { ...body, cursor })).body;
      counts.push(answer.replayed);
      cursor = answer.cursor;
    } while (cursor !== undefined);
    expect([counts.length > 1, counts.reduce((sum, one) => sum + one, 0)]).toEqual([true, count]);
    expect(new Set(await messagesOf(Math.ceil(count / 50)))).toEqual(
      new Set(rows.map(({ id }) => id)),
    );
  });

  it("replays request.finished of requests that were reported, or whose tries are used up", async () => {
    const client = "told-all";
    const { within, body } = nextRange(client);
    const value = { ...finished, client, acceptedAt: within, finishedAt: within };
    const [delivered, exhausted, pending, open] = [0, 1, 2, 3].map((n) => aRequestId(within + n));
    if (
      delivered === undefined ||
      exhausted === undefined ||
      pending === undefined ||
      open === undefined
    ) {
      throw new Error("there are four requests");
    }
    for (const requestId of [delivered, exhausted, pending, open]) {
      await tellable(api, { client, acceptedAt: within, requestId }, []);
    }
    await putDocument("request", exhausted, { ...value, tries: 10, exhausted: true });
    await putDocument("request", pending, { ...value, dueAt: within });
    await putDocument("request", open, { ...value, finishedAt: null });
    const overOf = async (request: string) =>
      (await documentOf("request", request))?.value.finished ?? null;
    const overs = () => Promise.all([delivered, exhausted, pending, open].map(overOf));
    expect((await ask("/events/replay", { ...body, exhausted: true })).body).toEqual({
      replayed: 1,
    });
    expect(await overs()).toEqual([null, 0, 1, 1]);
    expect((await ask("/events/replay", body)).body).toEqual({ replayed: 1 });
    expect(await overs()).toEqual([0, 0, 1, 1]);
    expect((await documentOf("request", delivered))?.value).toEqual({
      client,
      acceptedAt: within,
      calls: 1,
      finished: 0,
      states: {},
      results: {},
      finishedAt: null,
      replayedAt: expect.any(Number),
    });
  });

  it("refuses an empty filter, a range that ends before it starts, and a client without a receiver", async () => {
    const { body } = nextRange();
    const { client, from, until } = body;
    const refused: [object, string][] = [
      [{ from, until }, "/client"],
      [{ client, until }, "/from"],
      [{ client, from }, "/until"],
      [{ ...body, until: from }, "/until"],
      [{ ...body, client: "" }, "/client"],
      [{ ...body, client: "crm" }, "/client"],
      [{ ...body, types: [] }, "/types"],
      [{ ...body, types: ["call.later"] }, "/types/0"],
      [{ ...body, cursor: "call_!" }, "/cursor"],
    ];
    for (const [wrong, pointer] of refused) {
      const { status, body: answer } = await ask("/events/replay", wrong);
      expect([status, answer.errors[0]?.pointer]).toEqual([422, pointer]);
    }
    expect((await ask("/events/replay", {})).status).toBe(422);
  });
}
