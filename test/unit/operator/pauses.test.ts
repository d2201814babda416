import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Pause, prolong } from "#functions/operator/pause-orders.ts";
import type { Pauses, PauseView } from "#functions/operator/pauses.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { tokens } from "#test/support/environment.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { jsonRequest } from "#test/support/json-request.ts";

const start = Date.UTC(2026, 10, 21, 12);
const hourMs = 3_600_000;
const isoIn = (hours: number) => new Date(start + hours * hourMs).toISOString();

/** Answers of the routes in these tests. */
type Answer = PauseView &
  Pick<Pauses, "pauses"> & { errors?: { pointer: string }[]; entries: object[] };

function createBench() {
  let now = start;
  const { app, ledger, documents } = createTestApi({ now: () => now });
  async function ask(path: string, body?: object) {
    const response = await app.request(
      `/operator${path}`,
      jsonRequest(tokens.operator, undefined, body),
    );
    const answer: Answer = JSON.parse(await response.text());
    return { status: response.status, answer };
  }
  const pause = (body: object) => ask("/pause", body);
  const pointersOf = async (body: object) => {
    const { status, answer } = await pause(body);
    return [status, ...(answer.errors ?? []).map(({ pointer }) => pointer)];
  };
  const standing = async () => (await ask("/pauses")).answer.pauses;
  const pass = (hours: number) => (now += hours * hourMs);
  return { ask, pause, pointersOf, standing, pass, ledger, documents };
}

describe("a pause", () => {
  it("shows why it stands, by whom and until when, also in the audit log", async () => {
    const { pause, standing, ask } = createBench();
    const order = { client: "crm", reason: " wrong script ", until: isoIn(1) };
    const view = { client: "crm", at: isoIn(0), by: "operator", reason: "wrong script" };
    expect((await pause(order)).answer).toEqual({ ...view, until: isoIn(1), is_new: true });
    expect(await standing()).toEqual([{ ...view, until: isoIn(1) }]);
    const audit = await ask("/audit");
    expect(audit.answer.entries).toMatchObject([
      { action: "pause", target: "client crm", reason: `wrong script, until ${isoIn(1)}` },
    ]);
  });

  it("ends by itself, and may then be ordered anew", async () => {
    const { pause, standing, pass } = createBench();
    await pause({ account: "webhook", until: isoIn(1) });
    pass(0.999);
    expect(await standing()).toHaveLength(1);
    pass(0.001);
    expect(await standing()).toEqual([]);
    const { answer } = await pause({ account: "webhook" });
    expect(answer).toMatchObject({ at: isoIn(1), reason: null, until: null });
  });

  it("stands until the latest end that was ordered, and keeps its first operator's time", async () => {
    const { pause, pass } = createBench();
    await pause({ agent_id: "agent_sales", reason: "first", until: isoIn(2) });
    pass(1);
    const shorter = await pause({ agent_id: "agent_sales", until: isoIn(1.5) });
    expect(shorter.answer).toMatchObject({ at: isoIn(0), reason: "first", until: isoIn(2) });
    const longer = await pause({ agent_id: "agent_sales", reason: "second", until: isoIn(3) });
    expect(longer.answer).toMatchObject({ at: isoIn(0), reason: "second", until: isoIn(3) });
    expect((await pause({ agent_id: "agent_sales" })).answer.until).toBeNull();
    const back = await pause({ agent_id: "agent_sales", until: isoIn(4) });
    expect(back.answer.until).toBeNull();
  });

  it("of a client is resumed by its name", async () => {
    const { pause, ask, standing } = createBench();
    await pause({ client: "shop" });
    expect((await ask("/resume", { client: "shop" })).answer).toEqual({ client: "shop" });
    expect(await standing()).toEqual([]);
  });

  it("is refused for what is surely a slip", async () => {
    const { pointersOf, ledger, documents } = createBench();
    expect(await pointersOf({ client: "crn" })).toEqual([422, "/client"]);
    expect(await pointersOf({ client: "ended" })).toEqual([422, "/client"]);
    expect(await pointersOf({ client: "crm", until: isoIn(0) })).toEqual([422, "/until"]);
    expect(await pointersOf({ client: "crm", account: "webhook" })).toEqual([422, ""]);
    const numbers = ["of +1 202 555 0123", "of (202) 555-0123", "+49 (0) 151 / 2345678"];
    for (const reason of ["", " ", "x".repeat(201), "two\nlines", ...numbers]) {
      expect(await pointersOf({ client: "crm", reason })).toEqual([422, "/reason"]);
    }
    expect(await pointersOf({ client: "crm", reason: "since 2026-11-24" })).toEqual([200]);
    // Calls of a client whose token is revoked may still wait.
    const row = rowIn("WAITING", aCall({ client: "ended", acceptedAt: start }));
    await writeRows([row], ledger, documents);
    expect(await pointersOf({ client: "end" })).toEqual([422, "/client"]);
    expect(await pointersOf({ client: "ended" })).toEqual([200]);
  });

  it("never ends before the latest end that anybody ordered, in whatever order", () => {
    const until = fc.option(fc.nat({ max: 100 }), { nil: undefined });
    fc.assert(
      fc.property(fc.array(until, { minLength: 1, maxLength: 6 }), (ends) => {
        const orders = ends.map((one, at): Pause => ({
          of: { client: "crm" },
          at,
          by: `ops${at}`,
          until: one,
        }));
        const last = orders.reduce((paused, again) => prolong(paused, again));
        const latest = ends.includes(undefined)
          ? undefined
          : Math.max(...ends.map((one) => one ?? 0));
        expect(last).toMatchObject({ at: 0, by: "ops0", until: latest });
      }),
    );
  });
});
