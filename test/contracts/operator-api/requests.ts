import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import type { PlanTexts } from "#functions/operator/plan.ts";
import type { Requests, RequestDetail } from "#functions/operator/requests.ts";
import type { Why } from "#functions/operator/why.ts";
import type { CallsPage } from "#functions/operator/calls.ts";
import type { CallState } from "#shared/calls/states.ts";
import { toCallId, firstCallIdAt } from "#shared/calls/ids.ts";
import { aCall, aRequestId } from "#test/support/calls.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import type { OperatorApiBench } from "./setup.ts";

const minuteMs = 60_000;

/** Describes requests and how far they are, why calls wait, and what the plan says. */
export function itShowsHowFarItIs(api: OperatorApiBench): void {
  const { ask, callIn } = api;
  async function asked<Answer>(path: string): Promise<Answer> {
    const { status, body } = await ask(path);
    expect(status).toBe(200);
    expect(JSON.stringify(body)).not.toMatch(/20255501\d\d|Zoë/);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the answer fits the schema of its route
    return body as object as Answer;
  }

  /** Writes a request's calls in these states, in the order of the batch; undefined: no row yet. */
  async function write(
    states: readonly (CallState | undefined)[],
    {
      requestId = aRequestId(Date.now()),
      acceptedAt = Date.now() - minuteMs,
      at = Date.now(),
    } = {},
  ) {
    const rows = states.flatMap((state, index) => {
      if (state === undefined) return [];
      const request = { phone_number: "+12025550187", agent_id: api.agent };
      const call = aCall({ requestId, acceptedAt, batchCalls: states.length, request });
      const dueAt = at + 60 * minuteMs;
      return [rowIn(state, { ...call, id: toCallId(requestId, index) }, { at, dueAt })];
    });
    await writeRows(rows, api.ledger, api.documents);
    return requestId;
  }

  it("lists requests newest first, skips single calls, and counts some calls of a large one", async () => {
    // In an hour that no other test uses.
    const at = Date.now() - 7_200_000 - randomInt(3_600_000);
    const acceptedAt = at;
    const small = await write(["PLACED", "WAITING", undefined, "REJECTED"], {
      requestId: aRequestId(at),
      acceptedAt,
    });
    await callIn("PLACED", { requestId: aRequestId(at + 1000), acceptedAt });
    const states = Array.from({ length: 180 }, (_, n): CallState =>
      n < 90 ? "PLACED" : "WAITING",
    );
    const large = await write(states, { requestId: aRequestId(at + 2000), acceptedAt });
    const cursor = firstCallIdAt(at + 3000);
    const first = await asked<Requests>(`/requests?limit=1&cursor=${cursor}`);
    expect(first.requests.map(({ id }) => id)).toEqual([large]);
    expect(first.requests[0]).toMatchObject({
      total: 180,
      counted: 100,
      queued: 0,
      by_state: { PLACED: 50, WAITING: 50 },
      agents: [api.agent],
      client: "crm",
    });
    const second = await asked<Requests>(`/requests?limit=1&cursor=${first.cursor}`);
    expect(second.requests.map(({ id }) => id)).toEqual([small]);
    expect(second.requests[0]).toMatchObject({
      counted: 4,
      queued: 1,
      by_state: { PLACED: 1, WAITING: 1, REJECTED: 1 },
    });
    const all = await asked<Requests>(`/requests?limit=2&calls_min=1&cursor=${cursor}`);
    expect(all.requests.map(({ total }) => total)).toEqual([180, 1]);
  });

  it("shows a request whole: its rate, its end, its reasons and its bars", async () => {
    const at = Date.now();
    const twelve = Array.from({ length: 12 }, (): CallState => "PLACED");
    const id = await write([...twelve, "WAITING", "REJECTED"], {
      acceptedAt: at - 10 * minuteMs,
      at,
    });
    const story = await asked<RequestDetail>(`/requests/${id}`);
    expect(story).toMatchObject({ id, total: 14, counted: 14, queued: 0 });
    expect(story.calls_per_minute).toBeCloseTo(1.3, 1); // thirteen ended in the ten minutes of its life
    // The last one is not due before.
    expect(story.last_due_at).toBe(new Date(at + 60 * minuteMs).toISOString());
    // Other tests may have paused the agent, or have had the waiting calls read seconds before: then it is unknown.
    const end = story.expected_end_at ?? new Date(at + 60 * minuteMs).toISOString();
    expect(Date.parse(end)).toBeGreaterThanOrEqual(at + 60 * minuteMs);
    expect(story.reasons).toEqual([{ reason: "r", count: 2 }]);
    expect(story.bar_minutes).toBe(5);
    expect(story.bars.map(({ placed, others }) => [placed, others])).toEqual([[12, 1]]);
    const older = await write(["PLACED"], { acceptedAt: at - 181 * minuteMs, at });
    expect((await asked<RequestDetail>(`/requests/${older}`)).bar_minutes).toBe(60);
    expect((await ask(`/requests/${aRequestId(at)}`)).status).toBe(404);
    expect((await ask("/requests/nonsense")).status).toBe(404);
  });

  it("says why calls wait", async () => {
    await callIn("WAITING");
    const { calls, rows_read, holders } = await asked<Why>("/why");
    expect(calls).toBeGreaterThan(0);
    expect(rows_read).toBeGreaterThan(0);
    expect(holders.reduce((sum, one) => sum + one.calls, 0)).toBe(calls);
  });

  it("lists the other calls to a call's number, without showing the number", async () => {
    const [one, other] = [await callIn("NEEDS_REVIEW"), await callIn("PLACED")];
    const { calls } = await asked<CallsPage>(`/calls/${one.id}/same-number`);
    const ids = calls.map(({ id }) => id);
    expect(ids).not.toContain(one.id);
    expect(ids.length).toBeLessThanOrEqual(20);
    const newest = (await asked<CallsPage>(`/calls/${other.id}/same-number`)).calls;
    expect(newest.every(({ number_tail }) => number_tail === "23")).toBe(true);
    expect((await ask(`/calls/call_${aRequestId()}_00000/same-number`)).status).toBe(404);
  });

  it("says the plan in words, and how far the pace and the allowance of an account are used", async () => {
    await callIn("DIALING");
    const webhook = {
      client: "",
      agents: {},
      completed: [],
      sent: [],
      allowance: 25,
      live_calls: null,
      why: "in_flight",
    };
    const beat = { holder: null, since: 0, beatAt: 0 };
    await api.putDocument("dispatcher", "dispatcher", {
      ...beat,
      accounts: { "webhook:http://127.0.0.1:9": webhook },
    });
    const plan = await asked<PlanTexts>("/plan");
    expect(plan.agents.map(({ agent_id }) => agent_id)).toEqual(["agent_sales", "agent_support"]);
    expect(plan.agents[0]).toMatchObject({
      account: "webhook",
      provider: "webhook",
      hours: "at any time",
      calls: null,
    });
    const [account, ...others] = plan.accounts;
    expect(others).toEqual([]);
    expect(account).toMatchObject({
      account: "webhook",
      name: "webhook:http://127.0.0.1:9",
      pace: "no limit of calls a second",
      timeout_seconds: 30,
      taken_until: null,
      allowance: 25,
    });
    expect(account?.dialing).toBeGreaterThan(0);
    expect(plan.destinations).toBe(
      "US, CA, GB, IS, but not +1900, +1876, premium numbers, satellite numbers, international numbers",
    );
  });
}
