import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PostForClient } from "#shared/leads/ask-client-api.ts";
import { divideLeads } from "#shared/leads/divide-leads.ts";
import type { Lead } from "#shared/leads/read-leads.ts";
import { type Sending, sendLeads } from "#shared/leads/send-leads.ts";
import { hourMs } from "#shared/lib/units.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { readWhole } from "#test/support/lead-file.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

const leadsOf = (count: number): Lead[] =>
  Array.from({ length: count }, (_, index) => ({
    line: index + 2,
    original: `2025550${100 + index}`,
    call: { phone_number: `+12025550${100 + index}`, agent_id: "agent_sales" },
  }));

/** Outcome of one request of the sender. */
type Fate = "answered" | "request lost" | "answer lost" | "failed";

/** Creates a service in memory whose clock the test sets, and a sender to it. */
function createBench() {
  let now = Date.parse("2026-11-24T09:00:00Z");
  const api = createTestApi({ now: () => now });
  /** Calls on the queue by number, each by its request: a repeated message is the same call. */
  const accepted = new Map<string, Set<string>>();
  const bodies: string[] = [];
  const campaigns = new Set<string>();
  const drain = async () => {
    for (const delivered of api.queue.take()) {
      const message = JSON.parse(await delivered.open());
      campaigns.add(message.labels.campaign);
      for (const [index, { phone_number }] of message.requests.entries()) {
        const ids = accepted.get(phone_number) ?? new Set();
        accepted.set(phone_number, ids.add(`${message.requestId} ${index}`));
      }
    }
  };
  const post =
    (fates: Fate[], client = "crm"): PostForClient =>
    async (below, body, headers = {}) => {
      const path = `/operator/clients/${client}${below}`;
      const fate = fates.shift() ?? "answered";
      if (fate === "request lost") throw new Error("reset");
      if (fate === "failed") return { status: 503, text: "{}", requestId: null, retryAfter: "1" };
      if (below === "/calls") bodies.push(body);
      const response = await api.app.request(
        path,
        jsonRequest(tokens.operator, undefined, body, headers),
      );
      await drain();
      if (fate === "answer lost") throw new Error("reset");
      return {
        status: response.status,
        text: await response.text(),
        requestId: response.headers.get("x-request-id"),
        retryAfter: response.headers.get("retry-after"),
      };
    };
  const send = async (leads: Lead[], more: Partial<Sending> = {}, fates: Fate[] = []) => {
    const divided = await divideLeads(readWhole(leads), { callsMax: 4, bytesMax: 10_000 });
    const sending = { ...divided, campaign: "spring", leftOut: new Set<string>(), ...more };
    return sendLeads(sending, () => undefined, { post: post(fates), sleep: async () => undefined });
  };
  /** Returns the index of the part that a person must decide about. */
  const findLost = async (leads: Lead[]): Promise<number | undefined> => {
    const { file } = await divideLeads(readWhole(leads));
    const { text } = await post([])("/sent-files/find", JSON.stringify({ file }));
    const parts: { index: number; is_lost: boolean }[] = JSON.parse(text).sent?.parts ?? [];
    return parts.find(({ is_lost }) => is_lost)?.index;
  };
  return {
    api,
    post,
    send,
    findLost,
    accepted,
    bodies,
    campaigns,
    pass: (ms: number) => (now += ms),
  };
}

describe("leads", () => {
  it(
    "are sent in parts of one campaign, and the same file calls nobody again",
    inSlowTier,
    async () => {
      const { send, accepted, campaigns, pass } = createBench();
      const sent = await send(leadsOf(10));
      expect(sent).toMatchObject({ parts: 3, partsSent: 3, calls: 10 });
      expect([sent.requestIds.length, [...campaigns]]).toEqual([3, ["spring"]]);
      for (const [ms, campaign] of [
        [0, "spring"],
        [0, "summer"],
        [30 * 24 * hourMs, "spring"],
      ] as const) {
        pass(ms);
        const reordered = leadsOf(10).toReversed();
        await expect(send(reordered, { campaign })).rejects.toThrow(
          "This file was sent at 2026-11-24T09:00:00.000Z as campaign spring.",
        );
      }
      expect([...accepted.values()].map((ids) => ids.size)).toEqual(Array(10).fill(1));
      await send(leadsOf(10), { again: 1 });
      expect([...accepted.values()].map((ids) => ids.size)).toEqual(Array(10).fill(2));
    },
  );

  it("are left out where they are not to be called, and stay left out when a part is repeated", async () => {
    const { send, accepted, bodies } = createBench();
    const leftOut = new Set(["+12025550101", "+12025550104", "+12025550105"]);
    const lost: Fate[] = ["answered", "answered", ...Array<Fate>(6).fill("answer lost")];
    await expect(send(leadsOf(6), { leftOut }, lost)).rejects.toThrow("cannot be reached");
    const now = new Set(["+12025550100", "+12025550104", "+12025550105"]);
    expect(await send(leadsOf(6), { leftOut: now })).toMatchObject({ partsSent: 2, calls: 3 });
    expect(new Set(bodies).size).toBe(1);
    expect([...accepted.keys()]).toEqual(["+12025550100", "+12025550102", "+12025550103"]);
  });

  it("have their row named where the service refuses them", async () => {
    const { send, pass } = createBench();
    const [first, second] = leadsOf(2);
    if (first === undefined || second === undefined) throw new Error("there are two leads");
    const wrong = { ...second, call: { ...second.call, agent_id: "agent_gone" } };
    await expect(send([first, wrong])).rejects.toThrow(
      "row 3 agent_id is no agent of the dial plan",
    );
    // Nothing was accepted, so the part may be sent days later, without a question and without that row.
    pass(5 * 24 * hourMs);
    const leftOut = new Set([wrong.call.phone_number]);
    expect(await send([first, wrong], { leftOut })).toMatchObject({ partsSent: 1, calls: 1 });
  });

  it("call nobody again through another agent, not even a day later", async () => {
    const { send, accepted, pass } = createBench();
    await send(leadsOf(6));
    const others = leadsOf(6).map((lead) => ({
      ...lead,
      call: { ...lead.call, agent_id: "agent_support" },
    }));
    for (const ms of [0, 25 * hourMs]) {
      pass(ms);
      await expect(send(others)).rejects.toThrow("This file was sent at 2026-11-24T09:00:00.000Z");
    }
    expect([...accepted.values()].map((ids) => ids.size)).toEqual(Array(6).fill(1));
  });

  it(
    "make the same parts in any order and with any agent, and other ones with other numbers",
    inSlowTier,
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.shuffledSubarray(leadsOf(9), { minLength: 9 }), async (leads) => {
          expect(await divideLeads(readWhole(leads))).toEqual(
            await divideLeads(readWhole(leadsOf(9))),
          );
        }),
      );
      const one = await divideLeads(readWhole(leadsOf(3)));
      const [lead, ...rest] = leadsOf(3);
      if (lead === undefined) throw new Error("there are leads");
      const another = { ...lead, call: { ...lead.call, agent_id: "b" } };
      const other = await divideLeads(readWhole([another, ...rest]));
      expect(other.file).toBe(one.file);
      expect((await divideLeads(readWhole(rest))).file).not.toBe(one.file);
      expect((await divideLeads(readWhole(rest))).parts[0]?.digest).not.toBe(one.parts[0]?.digest);
    },
  );

  it("fill parts up to the endpoint's limits", inSlowTier, async () => {
    const many = Array.from({ length: 10_001 }, (_, index): Lead => ({
      line: index + 2,
      original: "",
      call: { phone_number: `+1202${5_550_000 + index}`, agent_id: "a" },
    }));
    const parts = async (leads: Lead[]) =>
      (await divideLeads(readWhole(leads))).parts.map(({ leads: some }) => some.length);
    expect(await parts(many)).toEqual([10_000, 1]);
    const context = { note: "é".repeat(16_000) };
    const wide = many.slice(0, 200).map((lead) => ({ ...lead, call: { ...lead.call, context } }));
    const { parts: byBytes } = await divideLeads(readWhole(wide));
    const sizes = byBytes.map(({ leads }) =>
      Buffer.byteLength(JSON.stringify(leads.map(({ call }) => call))),
    );
    expect(Math.max(...sizes)).toBeLessThanOrEqual(4 * 1024 * 1024);
    expect(Math.max(...sizes)).toBeGreaterThan(4 * 1024 * 1024 - 33_000);
  });
});

/** Takes a file that was sent before for a file that is sent. */
function refusedAsSent(error: unknown): { partsSent: number } {
  if (String(error).includes("This file was sent at")) return { partsSent: 3 };
  throw error;
}

describe("an interrupted sending", () => {
  it("is stopped after a part, which is noted as sent", inSlowTier, async () => {
    const { api, post } = createBench();
    const divided = await divideLeads(readWhole(leadsOf(10)), { callsMax: 4, bytesMax: 10_000 });
    const sending = { ...divided, campaign: "spring", leftOut: new Set<string>() };
    let isStopped = false;
    const stopping: PostForClient = async (path, ...request) => {
      if (path === "/calls") isStopped = true;
      return post([])(path, ...request);
    };
    const checkStopped = () => {
      if (isStopped) throw new Error("stopped");
    };
    const deps = { post: stopping, sleep: async () => undefined, checkStopped };
    await expect(sendLeads(sending, () => undefined, deps)).rejects.toThrow("stopped");
    const { text } = await post([])("/sent-files/find", JSON.stringify({ file: divided.file }));
    const { parts }: { parts: { state: string }[] } = JSON.parse(text).sent;
    expect(parts.map(({ state }) => state)).toEqual(["sent", "planned", "planned"]);
    expect(api.queue.take()).toEqual([]);
  });

  const fate = fc.constantFrom<Fate>(
    "answered",
    "answered",
    "request lost",
    "answer lost",
    "failed",
  );
  const attempt = fc.record({
    fates: fc.array(fate, { maxLength: 30 }),
    /** True if the requests after `fates` are lost: the sender's machine stops. */
    stops: fc.boolean(),
    passesMs: fc.constantFrom(0, 60_000, 12 * hourMs, 23 * hourMs + 1, 25 * hourMs, 60 * hourMs),
  });

  it("calls nobody twice where a person is wrong about a part while its key may live", async () => {
    const { send, accepted, pass } = createBench();
    const lost: Fate[] = ["answered", "answered", ...Array<Fate>(6).fill("answer lost")];
    await expect(send(leadsOf(4), {}, lost)).rejects.toThrow("cannot be reached");
    pass(23 * hourMs + 1);
    // Meanwhile somebody opted out.
    const leftOut = new Set(["+12025550101"]);
    const more = { leftOut, lost: "not_accepted" } as const;
    for (const ms of [0, 2 * hourMs, 24 * hourMs]) {
      pass(ms);
      await send(leadsOf(4), more).catch(() => undefined);
    }
    expect([...accepted.values()].map((ids) => ids.size)).toEqual(Array(4).fill(1));
  });

  it("resumes later, and each person is called once whatever was lost", inSlowTier, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(attempt, { maxLength: 5 }), async (attempts) => {
        const { send, accepted, pass, findLost } = createBench();
        const leads = leadsOf(10);
        for (const { fates, stops, passesMs } of attempts) {
          const rest = stops ? Array<Fate>(100).fill("request lost") : [];
          await send(leads.toReversed(), {}, [...fates, ...rest]).catch(() => undefined);
          pass(passesMs);
        }
        // At the end a person says of a part whose answer was lost long ago what the queue has got.
        const lostPart = await findLost(leads);
        const isAccepted = accepted.has(`+12025550${100 + 4 * (lostPart ?? 0)}`);
        const lost = isAccepted ? "accepted" : "not_accepted";
        if (lostPart !== undefined)
          await expect(send(leads)).rejects.toThrow("its answer was lost");
        expect((await send(leads, { lost }).catch(refusedAsSent)).partsSent).toBe(3);
        expect([...accepted.values()].map((ids) => ids.size)).toEqual(Array(10).fill(1));
      }),
      { numRuns: perTier({ quick: 5, long: 50 }) },
    );
  });
});
