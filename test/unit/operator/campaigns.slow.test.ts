import { expect, it } from "vitest";
import type { CampaignDetail, Campaigns } from "#functions/operator/campaigns.ts";
import type { RequestDetail } from "#functions/operator/requests.ts";
import { callStates } from "#shared/calls/states.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { dayPlan, fillWithADay } from "#test/support/believable-day.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { expectDeclared } from "#test/support/operator-answers.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const now = Date.UTC(2026, 10, 21, 12, 34);
const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(dayPlan) };

async function createBench() {
  const api = createTestApi({ environment, now: () => now });
  await fillWithADay(api.ledger, api.documents, now);
  async function ask(path: string): Promise<{ status: number; text: string }> {
    const headers = { authorization: `Bearer ${tokens.operator}` };
    const response = await api.app.request(`/operator${path}`, { headers });
    const text = await response.text();
    expectDeclared("get", path, { status: response.status, text });
    return { status: response.status, text };
  }
  const list = async (query = ""): Promise<Campaigns> =>
    JSON.parse((await ask(`/campaigns${query}`)).text);
  const show = async (path: string): Promise<CampaignDetail> =>
    JSON.parse((await ask(`/campaign?name=${path}`)).text);
  const request = async (id: string): Promise<RequestDetail> =>
    JSON.parse((await ask(`/requests/${id}`)).text);
  const pages = await Promise.all(
    callStates.map((state) => api.ledger.list({ state, limit: 5000 })),
  );
  return { ...api, ask, list, show, request, rows: pages.flatMap((page) => page.rows) };
}

it("lists campaigns by client with what became of their calls, the latest first", async () => {
  const { list, rows } = await createBench();
  const body = await list();
  const offers = rows.filter(({ labels }) => labels?.campaign === "November offers");
  expect(body.campaigns.map(({ name, client, requests }) => [name, client, requests])).toEqual([
    ["November offers", "crm", 2],
    ["How was your stay?", "research", 1],
  ]);
  expect(body.campaigns[0]).toMatchObject({
    accepted: offers.length,
    placed: offers.filter(({ state }) => state === "PLACED").length,
    first_accepted_at: "2026-11-21T10:00:00.000Z",
  });
  expect((await list("?client=shop")).campaigns).toEqual([]);
});

it("shows one campaign of a client: progress over its requests, results, tries and live calls", async () => {
  const { show, request, rows, ledger } = await createBench();
  const offers = rows.filter(({ labels }) => labels?.campaign === "November offers");
  const path = "November%20offers&client=crm";
  const body = await show(path);
  expect(body.requests.map(({ total }) => total)).toEqual([310, 2400]);
  expect(body).toMatchObject({
    name: "November offers",
    requests_found: 2,
    is_whole: true,
    tries: offers.filter(({ state }) => state === "PLACED").length,
    progress: { total: offers.length, counted: offers.length, queued: 0, client: "crm" },
  });
  expect(body.progress.agents).toEqual(["agent_paris", "agent_sales"]);
  const answered = offers.filter(({ result }) => result?.status === "completed").length;
  expect(body.results.results.completed).toBe(answered);
  expect(body.results_from).toBe("2026-11-21T10:00:00.000Z");
  // The end of one of its requests is not known, as its agent is paused, so that of the campaign is not either.
  const requests = await Promise.all(body.requests.map(({ id }) => request(id)));
  const ends = requests.map(({ expected_end_at: end }) => end);
  expect(ends).toEqual(expect.arrayContaining([null, expect.any(String)]));
  expect(body.progress.expected_end_at).toBeNull();
  // It is held by whatever holds them.
  expect(body.progress.blocked_by).toEqual(
    expect.arrayContaining(requests.flatMap(({ blocked_by: holders }) => holders).slice(0, 1)),
  );
  // A call whose result is awaited is live.
  const placed = offers.filter(({ state }) => state === "PLACED");
  await ledger.write(
    placed.map((row) => ({
      next: { ...row, version: `${row.version}x`, result: null, dueAt: now + 60_000 },
      seen: row.version,
    })),
  );
  const live = (await show(path)).live_calls;
  expect(live).toBe(placed.length + 6); // six are being dialed
});

it("knows no campaign of another client", async () => {
  const { ask } = await createBench();
  expect((await ask("/campaign?name=November%20offers&client=shop")).status).toBe(404);
  expect((await ask("/campaign?name=November%20offers")).status).toBe(422);
  expect((await ask("/campaign?name=none&client=crm")).status).toBe(404);
});

it(
  "shows a campaign of a client beside hundreds of others, of its name and of the client",
  inSlowTier,
  async () => {
    const { show, ledger, documents } = await createBench();
    const callOf = (client: string, minutes: number, campaign = "../spring/a") => ({
      ...aCall({ acceptedAt: now - minutes * 60_000, labels: { campaign }, first: "request" }),
      client,
    });
    const others = Array.from({ length: 501 }, (_, n) => [
      callOf("shop", 1 + n / 100),
      callOf("crm", 1 + n / 100, "autumn"),
    ]).flat();
    const rows = [callOf("crm", 60), ...others].map((call) => rowIn("PLACED", call, { at: now }));
    await writeRows(rows, ledger, documents);
    expect(await show("..%2Fspring%2Fa&client=crm")).toMatchObject({
      client: "crm",
      requests_found: 1,
      progress: { total: 1 },
    });
  },
);
