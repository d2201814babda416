import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { toCallId } from "#shared/calls/ids.ts";
import { aRequestId } from "#test/support/calls.ts";
import { tokens } from "#test/support/environment.ts";
import type { RequestsApiBench } from "./setup.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** Describes the list of a client's requests. Other tests of the suite write requests of the same client. */
export function itListsRequests(api: RequestsApiBench): void {
  const { get, write, post } = api;
  const aCampaign = () => `campaign_${randomBytes(6).toString("hex")}`;

  /** Writes a request whose first call stands for it, as the dialer does. */
  async function writeRequest(
    acceptedAt: number,
    { campaign, client = "crm", total = 1 }: { campaign?: string; client?: string; total?: number },
  ): Promise<string> {
    const requestId = aRequestId(acceptedAt);
    const states = Array.from({ length: total }, (_, n) => (n % 2 === 0 ? "PLACED" : "WAITING"));
    const named = { acceptedAt, client, requestId, ...(campaign && { labels: { campaign } }) };
    const [first, ...others] = states as ("PLACED" | "WAITING")[];
    await write([first], { ...named, batchCalls: total, first: "request" });
    if (others.length > 0) await write([undefined, ...others], { ...named, batchCalls: total });
    return requestId;
  }
  const idsOf = async (query: string, token = tokens.crmDesk) => {
    const { status, body } = await get(`/requests?${query}`, token);
    expect([query, status]).toEqual([query, 200]);
    return body.requests.map(({ id }) => id);
  };
  /** Reads all pages of a list. */
  async function through(query: string): Promise<string[]> {
    const ids: string[] = [];
    let cursor = "";
    for (let pages = 0; pages < 20; pages++) {
      const { body } = await get(`/requests?${query}${cursor}`);
      ids.push(...body.requests.map(({ id }) => id));
      if (body.cursor === undefined) return ids;
      cursor = `&cursor=${body.cursor}`;
    }
    throw new Error("the list does not end");
  }

  it("lists a client's own requests, newest first, by campaign and page by page", async () => {
    const [campaign, other] = [aCampaign(), aCampaign()];
    const now = Date.now();
    const own: string[] = [];
    for (let n = 0; n < 5; n++) {
      own.unshift(await writeRequest(now - 60_000 + n, { campaign, total: n === 2 ? 12 : 1 + n }));
      await writeRequest(now - 60_000 + n, { campaign, client: "shop" });
      await writeRequest(now - 60_000 + n, { campaign: other });
    }
    for (const limit of [1, 2, 5, 200])
      expect(await through(`campaign=${campaign}&limit=${limit}`)).toEqual(own);
    expect(await idsOf(`campaign=${campaign}`, tokens.shopDesk)).toHaveLength(5);
    const all = await idsOf("limit=200");
    expect(all).toEqual(expect.arrayContaining(own));
    expect(all).toEqual(all.toSorted().toReversed());
    const { headers, body, text } = await get(`/requests?campaign=${campaign}`);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(text).not.toMatch(/2025550123|Zoë|agent_sales/);
    const accepted_at = new Date(now - 60_000 + 4).toISOString();
    expect(body.requests[0]).toEqual({
      id: own[0],
      accepted_at,
      campaign,
      total: 5,
      known: true,
      counts: { by_state: { PLACED: 3, WAITING: 2 }, by_result: {} },
      finished: false,
    });
    expect(body.requests.map(({ total, finished }) => [total, finished])).toEqual([
      [5, false],
      [4, false],
      [12, undefined], // too many to be counted
      [2, false],
      [1, true],
    ]);
    expect((await get(`/requests?campaign=${aCampaign()}`)).body).toEqual({ requests: [] });
  });

  it("lists those of a time, by instants and by days in UTC", async () => {
    const campaign = aCampaign();
    const midnight = Math.floor(Date.now() / dayMs) * dayMs - 2 * dayMs;
    const times = [-1, 0, 5000, dayMs - 1, dayMs, dayMs + 1].map((ms) => midnight + ms);
    const ids: string[] = [];
    for (const at of times) ids.push(await writeRequest(at, { campaign }));
    const isoOf = (at: number) => new Date(at).toISOString();
    const date = isoOf(midnight).slice(0, 10);
    const dayAfter = isoOf(midnight + dayMs).slice(0, 10);
    for (const [query, from, to] of [
      [`from=${date}&to=${date}`, 1, 4],
      [`from=${date}`, 1, 6],
      [`to=${date}`, 0, 4],
      [`from=${date}&to=${dayAfter}`, 1, 6],
      [`from=${isoOf(midnight + 5000)}&to=${isoOf(midnight + dayMs)}`, 2, 4],
      [`from=${isoOf(midnight + 5001)}`, 3, 6],
      [`to=${isoOf(midnight)}`, 0, 1],
      [`to=${encodeURIComponent(`${date}T01:00:00+01:00`)}`, 0, 1],
    ] as const) {
      const expected = ids.slice(from, to).toReversed();
      for (const limit of [1, 50]) {
        const list = `campaign=${campaign}&${query}&limit=${limit}`;
        expect([list, await through(list)]).toEqual([list, expected]);
      }
    }
  });

  it("forgets a request whose rows may be purged", async () => {
    const campaign = aCampaign();
    await writeRequest(Date.now() - 61 * dayMs, { campaign });
    const kept = await writeRequest(Date.now() - 59 * dayMs, { campaign });
    expect(await through(`campaign=${campaign}&limit=1`)).toEqual([kept]);
  });

  it("finds the request of an Idempotency-Key, before its calls are known and after, for its client alone", async () => {
    for (const path of ["/v1/calls", "/v1/calls/batch"]) {
      const key = `key ${randomBytes(6).toString("hex")} & more`;
      const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
      const body = path.endsWith("batch") ? [call, call] : call;
      const find = (token = tokens.crmDesk) =>
        get(`/requests?idempotency_key=${encodeURIComponent(key)}`, token);
      expect((await find()).body).toEqual({ requests: [] });
      const accepted = await post(path, body, { "idempotency-key": key });
      expect(accepted.status).toBe(201);
      const id = accepted.headers.get("x-request-id") ?? "";
      const total = Array.isArray(body) ? 2 : 1;
      const accepted_at = expect.stringMatching(/^\d{4}-.*Z$/);
      const bare = { id, accepted_at, total, known: false };
      expect((await find()).body.requests).toEqual([bare]);
      expect((await find(tokens.shopDesk)).body).toEqual({ requests: [] });
      await write(["PLACED"], { requestId: id, batchCalls: total, labels: { campaign: "spring" } });
      expect((await find()).body.requests).toMatchObject([
        { id, total, campaign: "spring", known: true },
      ]);
      expect((await find(tokens.shopDesk)).body).toEqual({ requests: [] });
    }
    await api.queued(2);
  });

  it("refuses other queries, and says where", async () => {
    for (const [query, parameter] of [
      ["limit=0", "limit"],
      ["limit=201", "limit"],
      ["cursor=x", "cursor"],
      ["from=yesterday", "from"],
      ["from=2026-02-30", "from"],
      ["to=2026-11-21T09:00:00", "to"],
      ["from=2026-11-22&to=2026-11-21", "from"],
      ["campaign=", "campaign"],
      ["idempotency_key=", "idempotency_key"],
      ["idempotency_key=a,b", "idempotency_key"],
      ["idempotency_key=a&limit=5", "limit"],
      ["client=shop", "client"],
      ["state=PLACED", "state"],
    ] as const) {
      const { status, body } = await get(`/requests?${query}`);
      const errors = [{ parameter, detail: expect.stringMatching(/^(is|must) /) }];
      expect([query, status, body.errors]).toEqual([query, 422, errors]);
    }
  });

  it("needs the right to read", async () => {
    const paths = ["/requests", `/requests/${api.requestId}/calls`];
    for (const path of [...paths, `/calls/${toCallId(api.requestId, 0)}`]) {
      expect([path, (await get(path, "oc_wrong")).status]).toEqual([path, 401]);
      for (const token of [tokens.crm, tokens.crmOptOut])
        expect([path, (await get(path, token)).status]).toEqual([path, 403]);
      expect((await get(path, tokens.crmReader)).status).not.toBe(403);
    }
  });
}
