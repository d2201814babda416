import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { indexOf, requestIdOf, toCallId } from "#shared/calls/ids.ts";
import { toTryId } from "#shared/calls/tries.ts";
import { type CallsMessage, toCalls } from "#shared/ports/call-messages.ts";
import { aRequestId } from "#test/support/calls.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { firstOf } from "#test/support/first-of.ts";
import type { OperatorApiBench } from "./setup.ts";

const aName = (of: string) => `${of}_${randomBytes(6).toString("hex")}`;

/** Describes the lists of calls and requests by client, campaign and agent. */
export function itListsByName(api: OperatorApiBench): void {
  const { ask } = api;

  /** Returns the calls of a request to these agents, as the dialer reads them. */
  function requestOf(
    agents: readonly string[],
    more: Partial<Pick<CallsMessage, "client" | "labels" | "acceptedAt">> = {},
  ): Call[] {
    const acceptedAt = more.acceptedAt ?? Date.now();
    const calls = agents.map((agent_id, index) => ({
      index,
      request: { phone_number: "+12025550134", agent_id },
    }));
    const requestId = aRequestId(acceptedAt);
    return toCalls({ kind: "calls", client: "crm", ...more, acceptedAt, requestId, calls });
  }
  const write = (calls: readonly Call[]) => {
    const rows = calls.map((call) =>
      rowIn(indexOf(call.id) % 3 === 0 ? "PLACED" : "WAITING", call),
    );
    return writeRows(rows, api.ledger, api.documents);
  };
  /** Reads all pages of a list. */
  async function through(path: string, kind: "calls" | "requests"): Promise<string[]> {
    const ids: string[] = [];
    let cursor = "";
    for (let pages = 0; pages < 20; pages++) {
      const { status, body } = await ask(`${path}${cursor}`);
      expect(status).toBe(200);
      const listed: { id: string }[] = body[kind] ?? [];
      ids.push(...listed.map(({ id }) => id));
      if (body.cursor === undefined) {
        expect(body["looked_until"]).toBeNull();
        return ids;
      }
      expect(body["looked_until"]).toMatch(/^\d{4}-.*Z$/);
      cursor = `&cursor=${body.cursor}`;
    }
    throw new Error("the list does not end");
  }

  it("finds calls by client, campaign and agent, whatever else was accepted", async () => {
    const [client, campaign, one, other] = ["client", "campaign", "agent", "agent"].map(aName);
    if (!client || !campaign || !one || !other) throw new Error("four names");
    const at = Date.now() - 50_000;
    const batch = requestOf(
      Array.from({ length: 130 }, (_, index) => (index % 13 === 12 ? other : one)),
      { client, labels: { campaign }, acceptedAt: at },
    );
    const single = requestOf([other], { client, acceptedAt: at + 1000 });
    const foreign = requestOf([one, one], {
      client: `${client}2`,
      labels: { campaign },
      acceptedAt: at + 2000,
    });
    await write([...batch, ...single, ...foreign]);
    const all = [...batch, ...single, ...foreign];
    const expected = (fits: (call: Call) => boolean) =>
      all
        .filter(fits)
        .map(({ id }) => id)
        .toSorted()
        .toReversed();
    const list = (query: string) => through(`/calls?limit=30&${query}`, "calls");
    const isPlaced = ({ id }: Call) => indexOf(id) % 3 === 0;
    const ofAgent = (agent: string) => (call: Call) => call.request.agent_id === agent;
    expect(await list(`client=${client}`)).toEqual(expected((call) => call.client === client));
    expect(await list(`campaign=${campaign}`)).toEqual(
      expected((call) => call.labels?.campaign === campaign),
    );
    expect(await list(`agent_id=${other}`)).toEqual(expected(ofAgent(other)));
    expect(await list(`agent_id=${one}&client=${client}&campaign=${campaign}`)).toEqual(
      expected((call) => ofAgent(one)(call) && call.client === client),
    );
    expect(await list(`client=${client}&state=PLACED`)).toEqual(
      expected((call) => call.client === client && isPlaced(call)),
    );
    expect(await list(`client=${client}&campaign=${client}`)).toEqual([]);
    const found = await ask("/calls/search", { phone_number: "+12025550134", campaign });
    expect(found.body.calls.map(({ id }) => id)).toEqual(
      expected((call) => call.labels?.campaign === campaign).slice(0, 50),
    );

    const requests = (query: string) => through(`/requests?limit=1&${query}`, "requests");
    const ids = [foreign, single, batch].map(([call]) => requestIdOf(call?.id ?? ""));
    expect(await requests(`campaign=${campaign}`)).toEqual([ids[0], ids[2]]);
    expect(await requests(`client=${client}&calls_min=1`)).toEqual([ids[1], ids[2]]);
    expect(await requests(`agent_id=${other}&campaign=${campaign}`)).toEqual([ids[2]]);
    expect((await ask(`/requests/${ids[2]}`)).body).toMatchObject({ campaign, client });
  });

  it("finds what a text names", async () => {
    const [client, campaign] = [aName("client"), aName("campaign")];
    const call = firstOf(requestOf([api.agent], { client, labels: { campaign } }));
    await write([call]);
    const found = async (text: string) => (await ask("/search", { text })).body["found"];
    const { id, requestId } = call;
    for (const text of [id, ` ${id.toLowerCase()}`]) {
      expect(await found(text)).toEqual([{ kind: "call", id }]);
    }
    expect(await found(requestId.toLowerCase())).toEqual([{ kind: "request", id: requestId }]);
    expect(await found("+12025550134")).toEqual([{ kind: "number", id: "+12025550134" }]);
    const typed = { text: "(202) 555-0134", phone_number: "+12025550134" };
    expect((await ask("/search", typed)).body["found"]).toEqual([
      { kind: "number", id: "+12025550134" },
    ]);
    expect(await found(client)).toEqual([{ kind: "client", id: client }]);
    expect(await found(campaign)).toEqual([{ kind: "campaign", id: campaign }]);
    expect(await found(api.agent)).toEqual([{ kind: "agent", id: api.agent }]);
    await write(requestOf([client], { labels: { campaign: client } }));
    expect(await found(client)).toEqual([
      { kind: "campaign", id: client },
      { kind: "agent", id: client },
      { kind: "client", id: client },
    ]);
    const near = await ask("/search", { text: "AGENT_SAL" });
    expect(near.body).toMatchObject({
      found: [],
      suggested: [{ kind: "agent", id: "agent_sales" }],
    });
    for (const length of [20, 25]) {
      const text = requestId.slice(0, length).toLowerCase();
      const { found: exact, suggested } = (await ask("/search", { text })).body;
      expect([exact, suggested]).toEqual([[], [{ kind: "request", id: requestId }]]);
    }
    expect((await ask("/search", { text: "+12025550197" })).body).toEqual({
      found: [],
      suggested: [],
      number: "+12025550197",
    });
    expect((await ask("/search", { text: aName("no") })).body).toEqual({
      found: [],
      suggested: [],
      number: null,
    });
    for (const text of ["", "  ", "x".repeat(301)]) {
      expect((await ask("/search", { text })).status).toBe(422);
    }
  });

  it("shows each try beside its call, once", async () => {
    const client = aName("client");
    const calls = requestOf(
      Array.from({ length: 5 }, () => api.agent),
      { client },
    );
    const tries = { budget: 3, until: Date.now() + 60_000, dialedAt: [] };
    const rows = calls.flatMap((call) => {
      const id = toTryId(call.id, 2);
      const first = { ...rowIn("PLACED", call), tries: { ...tries, number: 1 } };
      const { first: _, ...again } = { ...call, id, requestId: requestIdOf(id) };
      const second = rowIn("WAITING", {
        ...again,
        ancestors: [call.id],
        tries: { ...tries, number: 2 },
      });
      return [second, { ...first, next: { id, dueAt: Date.now() } }];
    });
    await writeRows(rows, api.ledger, api.documents);
    for (const limit of [1, 2, 3, 50]) {
      const listed = await through(`/calls?limit=${limit}&client=${client}`, "calls");
      expect(listed).toEqual(calls.toReversed().flatMap(({ id }) => [toTryId(id, 2), id]));
    }
    const waiting = await through(`/calls?limit=2&client=${client}&state=WAITING`, "calls");
    expect(waiting).toEqual(calls.toReversed().map(({ id }) => toTryId(id, 2)));
  });

  it("reads on within a request from any of its calls", async () => {
    const client = aName("client");
    const calls = requestOf(
      Array.from({ length: 9 }, () => api.agent),
      { client },
    );
    await write(calls);
    const cursor = toCallId(calls[0]?.requestId ?? "", 4);
    const { body } = await ask(`/calls?client=${client}&cursor=${cursor}`);
    expect(body.calls.map(({ id }) => indexOf(id))).toEqual([3, 2, 1, 0]);
  });
}
