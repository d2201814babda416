import { readRow, readRows } from "#test/support/reads.ts";
import { createRequestId, firstCallIdAt, toAccountName, toCallId } from "#shared/calls/ids.ts";
import { accountOf } from "../support/account-of.ts";
import { randomBytes, randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { localCredentials, localRegion } from "#infra/local/aws-engines.ts";
import { createDynamoClient } from "#shared/aws/dynamodb-client.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { withEvents, applyDeliveries } from "#shared/events/outbox-rows.ts";
import type { CallResult } from "#shared/calls/call-result.ts";
import { recordResult } from "#shared/calls/record-result.ts";
import {
  applyClaim,
  applyDecision,
  applySettlement,
  type Settlement,
} from "#shared/calls/transitions.ts";
import type { Receiver } from "#shared/dial-plan/receivers.ts";
import { attentionStates } from "#shared/calls/states.ts";
import { createDynamoLedger } from "#shared/aws/dynamodb-ledger.ts";
import { keyOfCall, toItem } from "#shared/aws/dynamodb-rows.ts";
import { dynamoTable } from "#shared/aws/dynamodb-table.ts";
import { randomId, randomVersion } from "#shared/lib/random.ts";
import { describeCallLedger } from "../contracts/call-ledger/index.ts";
import {
  aNumberHash,
  aRow,
  aRowIn,
  changed,
  rowsOfOneRequest,
  suiteNow,
} from "../support/call-rows.ts";
import { between } from "../support/aws/dynamo-between.ts";
import { type Received, startReceiver } from "../support/receiver.ts";
import { perTier, inSlowTier } from "../support/per-tier.ts";
import { useAwsEngines } from "./use-engines.ts";

const engines = useAwsEngines();
let tables = 0;

/** Creates a ledger whose lists by time read so many days, each week of them. */
async function createLedger(client = engines().dynamo, keptDays = 10) {
  const table = `ledger-${++tables}`;
  await engines().createTable(table);
  return createDynamoLedger(client, table, {
    retentionMs: keptDays * 86_400_000,
    graceMs: 0,
    now: () => suiteNow,
  });
}

describeCallLedger("DynamoDB", (keptDays) => createLedger(engines().dynamo, keptDays), {
  told: attentionStates,
  runs: perTier({ quick: 1, long: 2 }),
});

it("keeps an attribute that only a later version knows when a row is changed", async () => {
  const ledger = await createLedger();
  const TableName = `ledger-${tables}`;
  const row = aRow();
  await ledger.write([{ next: row, seen: null }]);
  const { dynamo } = engines();
  const { pk, sk } = keyOfCall(row.id);
  const Item = { ...toItem(row, 0), tag: { S: "spring" } };
  await dynamo.send("PutItem", { TableName, Item });
  const seen = await readRow(ledger, row.id);
  expect(JSON.parse(JSON.stringify(seen))).toEqual(row);
  if (seen === undefined) return;
  const next = changed(seen, { state: "PLACED", lane: null, dueAt: null });
  expect(await ledger.write([{ next, seen: row.version }])).toEqual([true]);
  const { output } = await dynamo.send("GetItem", {
    TableName,
    Key: { pk: { S: pk }, sk: { S: sk } },
  });
  expect(output.Item).toMatchObject({ version: { S: next.version }, tag: { S: "spring" } });
  expect(output.Item).not.toHaveProperty("due");
});

type Output = Record<string, unknown>;

/** Returns a client whose answers pass through `change`, which may replace them. */
function clientWith(change: (action: string, output: Output, input: object) => Output | void) {
  return between(engines().dynamo, async ({ action, input }, send) => {
    const answer = await send();
    const output = change(action, Object(answer.output), input);
    return output === undefined ? answer : { ...answer, output };
  });
}

describe("DynamoDB as a call ledger: when DynamoDB fails", () => {
  it("counts a repeated write as its own if the first answer was lost", async () => {
    let puts = 0;
    const pass = async ({ headers, text: body }: Received, response: ServerResponse) => {
      const answer = await fetch(engines().dynamoEndpoint, {
        method: "POST",
        headers: ["authorization", "content-type", "x-amz-date", "x-amz-target"].map(
          (name): [string, string] => [name, String(headers[name])],
        ),
        body,
      });
      const isPut = String(headers["x-amz-target"]).endsWith(".PutItem");
      if (isPut && puts++ === 0) response.destroy();
      else response.writeHead(answer.status).end(await answer.text());
    };
    const proxy = await startReceiver((request, response) => void pass(request, response));
    const account = { region: localRegion, credentials: localCredentials };
    const ledger = await createLedger(createDynamoClient({ account, endpoint: proxy.url }));
    expect(await ledger.write([{ next: aRow(), seen: null }])).toEqual([true]);
    expect(puts).toBe(2);
    await proxy.close();
  });

  it("rejects if one write fails, after making all the others", async () => {
    const ledger = await createLedger();
    const rows = rowsOfOneRequest(60);
    // Random, as a row's JSON is deflated.
    const agent_id = randomBytes(500_000).toString("hex");
    const tooLarge = { phone_number: "+12025550123", agent_id };
    const changes = rows.map((row, index) => ({
      next: index === 3 ? { ...row, request: tooLarge } : row,
      seen: null,
    }));
    await expect(ledger.write(changes)).rejects.toThrow(/size/);
    const found = await readRows(
      ledger,
      rows.map(({ id }) => id),
    );
    expect(found.size).toBe(59);
  });

  it("reads unprocessed keys again, a bounded number of times", inSlowTier, async () => {
    let left = 2;
    const client = clientWith((command, output, input) => {
      if (command !== "BatchGetItem" || left-- <= 0) return;
      const { RequestItems = {} }: { RequestItems?: Record<string, { Keys: object[] }> } = input;
      const table = Object.keys(RequestItems).join();
      const keys = RequestItems[table]?.Keys ?? [];
      const items = Object(output["Responses"])[table].slice(0, 1);
      const isItem = (key: { sk?: AttributeValue }) =>
        items.some((item: { sk?: AttributeValue }) => item.sk?.S === key.sk?.S);
      return {
        Responses: { [table]: items },
        UnprocessedKeys: { [table]: { Keys: keys.filter((key) => !isItem(key)) } },
      };
    });
    const ledger = await createLedger(client);
    const rows = rowsOfOneRequest(5);
    await ledger.write(rows.map((next) => ({ next, seen: null })));
    const ids = rows.map(({ id }) => id);
    expect((await readRows(ledger, ids)).size).toBe(5);
    expect(left).toBeLessThan(1);
    left = 1000;
    await expect(ledger.read(rowsOfOneRequest(40).map(({ id }) => id))).rejects.toThrow(
      /unprocessed/,
    );
  });
});

describe("DynamoDB as a call ledger: DynamoDB's bill", () => {
  const call = {
    requestId: createRequestId(suiteNow, randomId()),
    batchCalls: 10_000,
    client: "customer-relations",
    mode: "live" as const,
    acceptedAt: suiteNow,
    request: {
      phone_number: "+12025550123",
      agent_id: "agent_sales_north_america",
      context: { first_name: "Johanna", appointment: "2026-11-24 10:30" },
    },
  };
  const known = {
    call: { ...call, id: toCallId(call.requestId, 0) },
    numberHash: aNumberHash(),
    numberTail: "23",
  };
  const route = {
    provider: "vapi",
    account: toAccountName("vapi-north-america"),
    baseUrl: "https://api.vapi.example.com",
    agent: "0f8fad5b-d9cb-469f-a165-70867728950e",
    from: "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  } as const;
  const write = (at: number) => ({ version: randomVersion(), at });
  const made = (row: CallRow | undefined): CallRow => {
    if (row === undefined) throw new Error("the state machine refuses");
    return row;
  };
  const echo = { lead_id: randomUUID(), campaign: "spring-reminders-2026" };
  const result: CallResult = {
    status: "completed",
    word: "customer-ended-call",
    human: true,
    answeredAt: suiteNow + 6_120,
    endedAt: suiteNow + 78_450,
    seconds: 72,
    readAt: suiteNow + 130_000,
  };
  const settledAs = (claim: CallRow, state: "PLACED" | "UNKNOWN", more: Partial<Settlement> = {}) =>
    made(
      applySettlement(
        claim,
        {
          id: claim.id,
          claim: claim.claims.at(-1) ?? "",
          state,
          reason: state === "PLACED" ? "placed" : "time_out",
          at: suiteNow + 900,
          ...(state === "PLACED" ? { providerCallId: randomUUID() } : { dueAt: suiteNow + 9000 }),
          ...more,
        },
        randomVersion(),
      ),
    );

  it("is four units for a claim and two for a settlement", () => {
    const claim = made(
      applyClaim(undefined, { route, account: accountOf(route), newCall: known }, write(suiteNow)),
    );
    const placed = settledAs(claim, "PLACED");
    expect(unitsOf(undefined, claim)).toBe(4);
    expect(unitsOf(claim, placed)).toBe(2);
    const unknown = settledAs(claim, "UNKNOWN");
    expect(unitsOf(claim, unknown)).toBe(1 + 2 + 1); // another position in the index `due`, and an entry in `attention`
    expect(unitsOf(unknown, settledAs(unknown, "PLACED"))).toBe(1 + 1 + 1);
  });

  it("is six units more for a result that is asked for and the event of it", () => {
    const types: Receiver["types"] = ["call.ended"];
    const receiver = { name: "crm", types, url: "", echo: [], requestsPerSecond: 20 };
    const decision = { state: "WAITING", reason: "pace", dueAt: suiteNow } as const;
    const waiting = made(
      applyDecision(undefined, { newCall: { ...known, echo }, decision }, write(suiteNow)),
    );
    const claim = made(
      applyClaim(waiting, { route, account: accountOf(route), newCall: known }, write(suiteNow)),
    );
    const placed = settledAs(claim, "PLACED", { pollAt: suiteNow + 120_000 });
    expect(unitsOf(claim, placed)).toBe(1 + 2); // from the index `due` of claims to that of results
    const ended = made(recordResult(placed, { result, pollAt: 0 }, write(suiteNow + 130_000)));
    const untold = withEvents(ended, receiver);
    expect(unitsOf(placed, untold)).toBe(1 + 1 + 1); // out of `due`, into `events`
    const [event] = untold.events;
    const tried = { outcome: { kind: "taken" }, dueAt: event?.dueAt ?? 0 } as const;
    const done = applyDeliveries(
      untold,
      { tried: new Map([[1, tried]]), receiver: "crm" },
      write(suiteNow + 130_500),
    );
    expect(unitsOf(untold, made(done))).toBe(1 + 1);
  });

  it("is four units for a call that waits, and three for its claim", () => {
    const decision = { state: "WAITING", reason: "pace", dueAt: suiteNow } as const;
    const waiting = made(applyDecision(undefined, { newCall: known, decision }, write(suiteNow)));
    const claim = made(
      applyClaim(waiting, { route, account: accountOf(route), newCall: known }, write(suiteNow)),
    );
    expect(unitsOf(undefined, waiting)).toBe(4);
    expect(unitsOf(waiting, claim)).toBe(1 + 2);
    expect(unitsOf(claim, settledAs(claim, "PLACED"))).toBe(1 + 1);
  });

  it("is a unit more for each list of requests, and none for a later write", () => {
    for (const [lists, more] of [
      [{ first: "request" }, 2],
      [{ first: "request", labels: { campaign: "spring" } }, 4],
      [{ first: "agent", labels: { campaign: "spring" } }, 1],
      [{ labels: { campaign: "spring" } }, 0],
    ] as const) {
      const claim = made(
        applyClaim(
          undefined,
          { route, account: accountOf(route), newCall: known },
          write(suiteNow),
        ),
      );
      expect(unitsOf(undefined, { ...claim, ...lists })).toBe(4 + more);
      const next = { ...settledAs(claim, "PLACED"), ...lists };
      expect(unitsOf({ ...claim, ...lists }, next)).toBe(2);
    }
  });

  it(
    "spreads a batch over a hundred partitions, and every index but the backlog's over its shards",
    inSlowTier,
    () => {
      const keys = rowsOfOneRequest(10_000, { state: "UNKNOWN", lane: "watch" }).map((row) =>
        toItem(row, 0),
      );
      const counts = (name: string) =>
        [...Map.groupBy(keys, (item) => item[name]?.S).values()].map(({ length }) => length);
      expect(counts("pk")).toEqual(Array.from({ length: 100 }, () => 100));
      for (const [name, shards] of [
        ["due", 16],
        ["attention", 8],
        ["week", 8],
      ] as const) {
        const even = 10_000 / shards;
        expect(counts(name)).toHaveLength(shards);
        expect(Math.min(...counts(name))).toBeGreaterThan(even * 0.8);
        expect(Math.max(...counts(name))).toBeLessThan(even * 1.2);
      }
    },
  );

  it(
    "is a bounded number of queries and items for a page that finds little",
    inSlowTier,
    async () => {
      let queries = 0;
      let items = 0;
      const client = clientWith((command, { Items, Responses }) => {
        if (command === "Query") queries += 1;
        items += Array.isArray(Items) ? Items.length : 0;
        for (const found of Object.values(Object(Responses))) items += Object(found).length;
      });
      const ledger = await createLedger(client);
      const rows = [
        ...rowsOfOneRequest(900),
        aRowIn("CANCELLED", { acceptedAt: suiteNow - 90_000 }),
      ];
      await ledger.write(rows.map((next) => ({ next, seen: null })));
      const cost = async (work: () => Promise<unknown>) => {
        [queries, items] = [0, 0];
        await work();
        return { queries, items };
      };
      const list = (of: Parameters<typeof ledger.list>[0]) => cost(() => ledger.list(of));
      // The queries read the keys of all shards, of which the newest 500 are examined.
      expect(await list({ state: "CANCELLED", limit: 9 })).toEqual({
        queries: 8,
        items: 901 + 500,
      });
      const empty = { state: "CANCELLED", before: firstCallIdAt(suiteNow - 7_200_000) } as const;
      // Ten days lie in two or three weeks.
      expect((await list({ ...empty, limit: 9 })).queries).toBeLessThanOrEqual(24);
      // No week below the retention is read, and none above the clock.
      const old = firstCallIdAt(suiteNow - 20 * 86_400_000);
      expect(await list({ all: true, before: old, limit: 9 })).toEqual({ queries: 0, items: 0 });
      // The one call of sixty days is found by the queries of at most ten weeks, and nothing can follow.
      const short = await createLedger(client, 60);
      const early = aRowIn("PLACED", { acceptedAt: suiteNow - 50 * 86_400_000 });
      await short.write([{ next: early, seen: null }]);
      const found: CallRow[] = [];
      const walk = await cost(async () => {
        let before: string | undefined;
        do {
          const page = await short.list({ all: true, before, limit: 9 });
          found.push(...page.rows);
          before = page.next;
        } while (before !== undefined);
      });
      expect(found).toHaveLength(1);
      expect(walk.queries).toBeLessThanOrEqual(80);
      // Ten years without a call: a page has 64 queries, and the next one goes on below its weeks.
      const long = await createLedger(client, 3650);
      const page = () => long.list({ all: true, limit: 9 });
      expect(await cost(page)).toEqual({ queries: 64, items: 0 });
      const week = Math.floor((suiteNow + 300_000) / (7 * 86_400_000));
      expect((await page()).next).toBe(firstCallIdAt((week - 7) * 7 * 86_400_000));
      const { queries: newest } = await list({ all: true, before: "call_ZZZZZZZZZZ", limit: 9 });
      expect(newest).toBeLessThanOrEqual(16);
      expect(await list({ state: "REJECTED", limit: 9 })).toEqual({ queries: 8, items: 0 });
      expect(await list({ numberHash: rows[0]?.numberHash ?? "", limit: 9 })).toEqual({
        queries: 1,
        items: 2,
      });
      // Rows accepted since are not read, nor other rows that have not ended.
      const young = rowsOfOneRequest(200, { state: "EXPIRED", lane: null });
      await ledger.write(young.map((row) => ({ next: row, seen: null })));
      const ended = await cost(() => ledger.ended({ before: suiteNow - 100_000, limit: 9 }));
      expect(ended.items).toBe(0);
    },
  );
});

/**
 * Returns the size of an item by DynamoDB's rules: names and texts in UTF-8, a byte for two digits of a
 * number, and one more.
 */
function bytesOf(row: CallRow): number {
  return Object.entries(toItem(row, suiteNow)).reduce((sum, [name, { S, N, B }]) => {
    const bytes =
      B?.byteLength ??
      (S === undefined ? Math.ceil((N?.length ?? 0) / 2) + 1 : Buffer.byteLength(S));
    return sum + Buffer.byteLength(name) + bytes;
  }, 0);
}

/**
 * Returns the write units of an item, one per KB, and of its keys-only index entries, which count only if
 * their keys change.
 */
function unitsOf(before: CallRow | undefined, after: CallRow): number {
  const sizes = [before, after].map((row) => (row === undefined ? 0 : bytesOf(row)));
  const [from, to] = [before, after].map((row) => (row === undefined ? {} : toItem(row, 0)));
  const entries = Object.values(dynamoTable.indexes).map(({ hashKey, rangeKey }) => {
    const [old, fresh] = [from, to].map((item) => {
      const keys = [item?.[hashKey], item?.[rangeKey]];
      return keys.includes(undefined) ? "" : JSON.stringify(keys);
    });
    if (old === fresh) return 0;
    return (old === "" ? 0 : 1) + (fresh === "" ? 0 : 1);
  });
  return entries.reduce((sum, units) => sum + units, Math.ceil(Math.max(...sizes) / 1024));
}
