import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallsPage } from "#functions/operator/calls.ts";
import type { CampaignDetail } from "#functions/operator/campaigns.ts";
import type { Backlogs } from "#functions/operator/backlogs.ts";
import type { Needs } from "#functions/operator/needs.ts";
import type { RequestDetail } from "#functions/operator/requests.ts";
import type { HolderView, Why } from "#functions/operator/why.ts";
import { findText, sayHolder } from "#shared/rules/texts.ts";
import { accountBreakerOf, backlogBreakerOf } from "#shared/policy/breakers.ts";
import { restoreKey, upkeepKey } from "#shared/policy/ledger-epoch.ts";
import { checkBreakerOf } from "#shared/rules/resolved-call.ts";
import { openBreaker } from "#test/support/breakers-bench.ts";
import { aCall } from "#test/support/calls.ts";
import { suspendedAt } from "#test/support/document-values.ts";
import { pause, putDocument } from "#test/support/dialer-calls.ts";
import { tokens } from "#test/support/environment.ts";
import { callsOf, createForecastBench, type ForecastBench } from "#test/support/forecast-bench.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";

const startAt = "2026-06-01T10:00:00.000Z";
const agentNames = ["agent_sales", "agent_support", "agent_care"] as const;

/** Holders of calls beside a pause. Each is a need of its own, whose calls the list counts. */
const stops = {
  account: (bench) => openBreaker(bench, accountBreakerOf("webhook:http://127.0.0.1:9")),
  backlog: (bench) =>
    openBreaker(bench, backlogBreakerOf({ client: "crm", agentId: "agent_sales" })),
  check: (bench) => openBreaker(bench, checkBreakerOf("crm")),
  restore: (bench) => putDocument(bench, restoreKey, suspendedAt(bench.now())),
  route: async (bench) => {
    const at = bench.now();
    const rows = Array.from({ length: 3 }, (_, index) => {
      const request = { phone_number: `+1212555000${index}`, agent_id: "agent_gone" };
      return rowIn("WAITING", aCall({ client: "crm", acceptedAt: at, request }), { at });
    });
    await writeRows(rows, bench.rows, bench.documents);
  },
} satisfies Record<string, (bench: ForecastBench["dialer"]) => Promise<unknown>>;

/** A drawn situation: limits of the account, hours, requests, a pause, what else holds calls, and the time that the dialer has had. */
const situations = fc.record({
  limits: fc.constantFrom<object>(
    {},
    { callsPerDay: 4 },
    { liveCalls: 2 },
    { callsPerSecond: 0.2 },
    { callsPerSecond: 2 },
  ),
  hours: fc.constantFrom<object | string>("always", { "mon-sun": ["18:00-20:00"] }),
  requests: fc.array(
    fc.record({
      agent: fc.constantFrom(...agentNames),
      calls: fc.integer({ min: 1, max: 12 }),
      campaign: fc.constantFrom("spring", "autumn"),
      isLater: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  paused: fc.option(fc.constantFrom({ agent: "agent_sales" }, { client: "crm" })),
  stop: fc.option(
    fc.constantFrom<keyof typeof stops>("account", "backlog", "check", "restore", "route"),
  ),
  seconds: fc.constantFrom(0, 5, 40),
});
type Situation = typeof situations extends fc.Arbitrary<infer Value> ? Value : never;

/** Brings a situation about with the real dialer and dispatcher in simulated time. */
async function bringAbout({ limits, hours, requests, paused, stop, seconds }: Situation) {
  const agents = Object.fromEntries(
    agentNames.map((agent, index) => {
      const url = `http://127.0.0.1:9/${agent}`;
      const own = index === 2 && {
        callingHours: "own",
        ...(stop === "check" && { checks: ["crm"] }),
      };
      return [agent, { provider: "webhook", url, ...own }];
    }),
  );
  const bench = createForecastBench(
    {
      agents,
      results: {},
      callingHours: { default: "always", own: hours },
      providers: { webhook: limits },
      checks: { crm: { url: "http://127.0.0.1:9/check" } },
    },
    startAt,
  );
  for (const [index, { agent, calls, campaign, isLater }] of requests.entries()) {
    const headers = {
      "call-campaign": campaign,
      ...(isLater && { "call-not-before": "2026-06-01T12:00:00Z" }),
    };
    const own = callsOf((index + 1) * 20).slice(index * 20, index * 20 + calls);
    const posted = own.map((call) => ({ ...call, agent_id: agent }));
    expect((await bench.post(posted, tokens.crm, headers)).status).toBe(201);
    await bench.dialer.deliver();
  }
  if (paused !== null) await pause(bench.dialer, paused);
  if (stop !== null) await stops[stop](bench.dialer);
  if (seconds > 0) await bench.dialer.simulate(seconds);
  return bench;
}

/** Names what a pause is of, such as `client crm`. */
const nameOf = (paused: object) => Object.entries(paused).flat().join(" ");

/** Returns the id or kind of the need that is about a holder; undefined: its calls go on by themselves. */
function needOf({ reason, name }: Pick<HolderView, "reason" | "name">, needs: Needs["needs"]) {
  const { endedBy } = findText(reason) ?? {};
  if (reason === "breaker_open") return needs.find(({ id }) => id === `breaker ${name}`);
  if (reason === "paused") return needs.find(({ kind, what }) => kind === "pause" && what === name);
  if (reason === "restored") return needs.find(({ kind }) => kind === "restored");
  if (endedBy === "person") return needs.find(({ id }) => id === `held ${reason} ${name}`);
  return undefined;
}

/** Says what holds calls, as the views do, with the number of calls under each sentence. */
function sentences(holders: readonly Pick<HolderView, "reason" | "name" | "calls">[]) {
  return new Map(
    holders
      .map(({ reason, name, calls }) => [sayHolder(reason, name), calls] as const)
      .toSorted(([one], [other]) => one.localeCompare(other)),
  );
}

/** Adds up the sentences of several answers. */
function sumOf(answers: readonly (readonly HolderView[])[]) {
  const keyed = Map.groupBy(answers.flat(), ({ reason, name }) => `${reason} ${name}`);
  return sentences(
    [...keyed.values()].flatMap((same) =>
      same.slice(0, 1).map((one) => ({
        ...one,
        calls: same.reduce((sum, { calls }) => sum + calls, 0),
      })),
    ),
  );
}

async function askEverywhere(bench: ForecastBench) {
  const why = (query: Record<string, string>) =>
    bench.operator<Why>(`/why?${new URLSearchParams(query).toString()}`);
  const all = await why({});
  const { backlogs } = await bench.operator<Backlogs>("/backlogs?limit=200");
  const { rows } = await bench.dialer.rows.list({ state: "WAITING", limit: 500 });
  const ids = [...new Set(rows.map(({ id }) => id.slice(5, 31)))];
  const requests = await Promise.all(
    ids.map(async (id) => ({
      own: await why({ request_id: id }),
      view: await bench.operator<RequestDetail>(`/requests/${id}`),
    })),
  );
  const calls = await Promise.all(rows.map(({ id }) => why({ call_id: id })));
  const campaigns = await Promise.all(
    [...new Set(rows.flatMap((row) => row.labels?.campaign ?? []))].map(async (campaign) => ({
      own: await why({ campaign, client: "crm" }),
      view: await bench.operator<CampaignDetail>(`/campaign?name=${campaign}&client=crm`),
    })),
  );
  const listed = await bench.operator<CallsPage>("/calls?state=WAITING&held_now=true&limit=200");
  const { needs } = await bench.operator<Needs>("/needs");
  return { why, all, backlogs, requests, calls, campaigns, listed, needs, rows };
}

describe("why calls wait", () => {
  it("has one answer, whether a call, a backlog, a request or an account is asked about", async () => {
    const property = async (situation: Situation) => {
      const { why, all, backlogs, requests, calls, campaigns, listed, needs, rows } =
        await askEverywhere(await bringAbout(situation));
      expect(all.calls).toBe(rows.length);
      const whole = sentences(all.holders);
      expect(sumOf(calls.map(({ holders }) => holders))).toEqual(whole);
      expect(sumOf(backlogs.map(({ holders }) => holders ?? []))).toEqual(whole);
      expect(sumOf(requests.map(({ own }) => own.holders))).toEqual(whole);
      // Calls without a route have no account, and those that were written so have no campaign.
      const along = sentences(all.holders.filter(({ reason }) => reason !== "route_gone"));
      expect(sumOf(all.accounts.map(({ holders }) => holders))).toEqual(along);
      // The list of needs counts the calls of whatever does not end by itself as the answer does.
      const lasting = all.holders.filter(({ reason }) => {
        const { endedBy, stops: isStop } = findText(reason) ?? {};
        return endedBy === "person" || isStop === true;
      });
      expect(lasting.map((one) => needOf(one, needs)?.calls)).toEqual(
        lasting.map(({ calls: count }) => count),
      );
      const counted = needs.reduce((sum, need) => sum + (need.calls ?? 0), 0);
      expect(counted).toBe(lasting.reduce((sum, one) => sum + one.calls, 0));
      for (const { kind, code, means } of needs)
        if (kind === "held") expect([...whole.keys()], code ?? "").toContain(means);
      const paused = needs.filter(({ kind }) => kind === "pause");
      expect(paused.map((need) => [need.what, need.calls])).toEqual(
        situation.paused === null
          ? []
          : [[nameOf(situation.paused), whole.get(`Paused: ${nameOf(situation.paused)}.`) ?? 0]],
      );
      for (const { client, agent_id, holders } of backlogs) {
        const own = await why({ client, agent_id });
        expect(sentences(holders ?? [])).toEqual(sentences(own.holders));
      }
      // The list of calls says of each what the view of the call says.
      const inList = listed.calls.map(({ held_now: held }) =>
        held ? [{ ...held, calls: 1, is_exact: true }] : [],
      );
      expect(sumOf(inList)).toEqual(whole);
      expect(sumOf(campaigns.map(({ own }) => own.holders))).toEqual(along);
      for (const { name, account, holders } of all.accounts)
        for (const asked of [name, account])
          expect(sentences((await why({ account: asked })).holders)).toEqual(sentences(holders));
      for (const { own, view } of [
        ...requests,
        ...campaigns.map((one) => ({ own: one.own, view: one.view.progress })),
      ]) {
        const beside = own.holders.filter(({ reason }) => findText(reason)?.isTurn !== true);
        expect(sentences(view.blocked_by)).toEqual(sentences(beside));
        expect(view.expected_end_at).toBe(own.expected_end_at);
        expect(view.waiting).toBe(own.calls);
      }
    };
    await fc.assert(fc.asyncProperty(situations, property), {
      numRuns: perTier({ quick: 6, long: 80 }),
    });
  });

  it(
    "names the account of a slow campaign, its limits, and how much of it the campaign gets",
    inSlowTier,
    async () => {
      const agents = { agent_sales: { provider: "webhook", url: "http://127.0.0.1:9/dial" } };
      const providers = { webhook: { callsPerSecond: 0.02, liveCalls: 5 } };
      const bench = createForecastBench({ agents, results: {}, providers }, startAt);
      await bench.post(callsOf(300).slice(0, 200), tokens.crm, { "call-campaign": "other" });
      await bench.dialer.deliver();
      await bench.dialer.simulate(1);
      await bench.post(callsOf(300).slice(200), tokens.crm, { "call-campaign": "spring" });
      await bench.dialer.deliver();
      const why = await bench.operator<Why>("/why?client=crm&campaign=spring");
      expect(why).toMatchObject({ calls: 100, is_whole: true });
      expect(why.accounts).toMatchObject([
        {
          account: "webhook",
          calls: 100,
          pace: "1 call in 50 s",
          limits: [{ reason: "live_calls", limit: 5 }],
        },
      ]);
      const [{ next_hour: soon } = { next_hour: { own: 0, all: 0 } }] = why.accounts;
      expect(soon.all).toBeGreaterThan(60);
      expect(soon.all).toBeLessThan(80);
      expect(soon.own).toBeLessThan(soon.all);
      expect(why.end_waits_for).toMatchObject([{ reason: "pace" }]);
      expect(Date.parse(why.expected_end_at ?? "")).toBeGreaterThan(
        Date.parse(startAt) + 3_600_000,
      );
    },
  );

  it("says about how many wait if there are more than it counts, and as of when", async () => {
    const bench = createForecastBench({}, startAt);
    const { dialer } = bench;
    await bench.post(callsOf(3), tokens.crm);
    await dialer.deliver();
    await dialer.sweep();
    expect(await bench.operator<Why>("/why")).toMatchObject({ is_whole: true, about: null });
    // A thousand backlogs are listed, and there may be more.
    const usedAt = dialer.now();
    const backlogs = Array.from({ length: 1000 }, (_, index) => {
      const agentId = `agent_${index}`;
      const key = JSON.stringify(["crm", agentId]);
      const value = { client: "crm", agentId, usedAt, answers: null } as const;
      return { kind: "backlog", key, version: "1", value, expiresAt: null } as const;
    });
    await dialer.documents.write(backlogs.map((next) => ({ next, seen: null })));
    const upkeep = (await dialer.documents.read([upkeepKey])).get("upkeep", upkeepKey.key);
    if (upkeep === undefined) throw new Error("there was no upkeep");
    const value = { ...upkeep.value, waiting: { calls: 62_300, at: dialer.now() } };
    const next = { ...upkeep, version: "2", value };
    await dialer.documents.write([{ next, seen: upkeep.version }]);
    dialer.advance(40_000);
    const all = await bench.operator<Why>("/why");
    expect(all.is_whole).toBe(false);
    expect(all.about).toEqual({ calls: 62_300, at: new Date(usedAt).toISOString() });
    expect((await bench.operator<Why>("/why?client=crm")).about).toBeNull();
  });

  it("is empty for a call that does not wait, and for a campaign that nobody has", async () => {
    const bench = createForecastBench({}, startAt);
    for (const query of ["call_id=call_nobody", "campaign=none&client=crm", "client=nobody"]) {
      expect(await bench.operator<Why>(`/why?${query}`)).toMatchObject({
        calls: 0,
        holders: [],
        accounts: [],
        expected_end_at: null,
      });
    }
  });
});
