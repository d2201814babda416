import { describe, expect, it } from "vitest";
import { permitUseOf, takeLeave, handOutPermits } from "#functions/dialer/record/permit-use.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { createDynamoDocuments } from "#shared/aws/dynamodb-documents.ts";
import { randomId } from "#shared/lib/random.ts";
import { countCalls, dayKeyOf } from "#shared/policy/day-counts.ts";
import { toPace } from "#shared/telephony/rate.ts";
import { describeDocuments } from "../contracts/documents/index.ts";
import { between } from "../support/aws/dynamo-between.ts";
import { suiteNow } from "../support/call-rows.ts";
import { perTier } from "../support/per-tier.ts";
import { useAwsEngines } from "./use-engines.ts";

const engines = useAwsEngines();
let tables = 0;

async function createTable(): Promise<string> {
  const table = `documents-${++tables}`;
  await engines().createTable(table);
  return table;
}

describeDocuments(
  "DynamoDB",
  async (now) =>
    createDynamoDocuments(engines().dynamo, await createTable(), { now, freshVersion: randomId }),
  { runs: perTier({ quick: 6, long: 12 }) },
);

describe("DynamoDB as documents", () => {
  /** Returns the documents of a separate process, and the actions that it has asked for. */
  function aProcess(table: string) {
    const sent: string[] = [];
    const client = between(engines().dynamo, ({ action }, send) => {
      sent.push(action.replace("Item", ""));
      return send();
    });
    return {
      documents: createDynamoDocuments(client, table, {
        now: () => suiteNow,
        freshVersion: randomId,
      }),
      sent,
    };
  }
  const account = { kind: "pace", key: "main" } as const;
  const pace = toPace(10, 1);
  const window = { notBefore: suiteNow, notAfter: suiteNow + 2000 };
  type Process = ReturnType<typeof aProcess>;
  /** Takes permits, and returns how many there were. */
  const take = async ({ documents }: Process, count: number) =>
    (await documents.takePermits(account, pace, { ...window, count })).times.length;

  it("takes permits with one request if no other process interferes, and with three at most", async () => {
    const table = await createTable();
    const [one, other] = [aProcess(table), aProcess(table)];
    for (let takes = 0; takes < 3; takes++) {
      expect(await take(one, 2)).toBe(2);
    }
    expect(one.sent).toEqual(["Update", "Update", "Update"]);
    // The other process first learns that there is a pace already.
    expect(await take(other, 2)).toBe(2);
    expect(await take(other, 2)).toBe(2);
    expect(other.sent).toEqual(["Update", "Get", "Update", "Update"]);
    // A read, not the remembered arrival time, shows that the window is full.
    one.sent.length = 0;
    expect(await take(one, 50)).toBe(11);
    expect(await take(one, 50)).toBe(0);
    expect(one.sent).toEqual(["Get", "Update", "Get"]);
    const takers = Array.from({ length: 30 }, () => aProcess(table));
    const late = { notBefore: suiteNow + 60_000, notAfter: suiteNow + 62_000 };
    await Promise.all(
      takers.map((taker) => taker.documents.takePermits(account, pace, { ...late, count: 2 })),
    );
    for (const { sent } of takers) {
      expect(sent.filter((command) => command === "Update").length).toBeLessThanOrEqual(3);
      expect(sent.filter((command) => command === "Get").length).toBeLessThanOrEqual(3);
    }
  });

  it("leaves a process in doubt about others while 0.2.0, which counts none, takes permits too", async () => {
    const table = await createTable();
    const { documents } = aProcess(table);
    const fast = toPace(100, 1);
    const use = permitUseOf("a", createDialerMemory());
    /** Takes permits as 0.2.0 does: the item keeps whatever the update does not name. */
    const takeAsBefore = (at: number, count: number) =>
      engines().dynamo.send("UpdateItem", {
        TableName: table,
        Key: { pk: { S: "doc#pace#main" }, sk: { S: "main" } },
        UpdateExpression:
          "SET #version = :version, expiresAt = :expiresAt, n_arrivalUs = :arrivalUs",
        ExpressionAttributeNames: { "#version": "version" },
        ExpressionAttributeValues: {
          ":version": { S: randomId() },
          ":expiresAt": { N: String(at + 86_400_000) },
          ":arrivalUs": { N: String(at * 1000 + count * fast.intervalUs) },
        },
      });
    for (let at = suiteNow; at < suiteNow + 3_000; at += 100) {
      await takeAsBefore(at, 6);
      const taken = await handOutPermits(use, {
        pace: fast,
        count: 2,
        leadMs: 0,
        take: (request) => documents.takePermits(account, fast, request),
        now: () => at,
      });
      expect(taken).toHaveLength(2);
      expect(takeLeave(use, at - 400, { pace: fast, now: at })).toBeUndefined();
    }
  });

  it("knows an exchange of counters whose answer was lost, which the client repeats in vain", async () => {
    const client = between(engines().dynamo, async ({ input }, send) => {
      if (JSON.stringify(input).includes(" REMOVE ")) await send();
      return send();
    });
    const documents = createDynamoDocuments(client, await createTable(), {
      now: () => suiteNow,
      freshVersion: randomId,
    });
    const who = { client: "crm" };
    const request = { key: "a".repeat(64), fingerprint: "f" };
    const refused = { at: suiteNow, calls: 5, limit: 4, request };
    // The first refusal of a day raises an alarm.
    const first = await countCalls(who, refused, documents);
    expect(first).toEqual({ isCounted: false, isFirst: true, left: 4 });
    const { kind, key } = dayKeyOf(who, suiteNow);
    const stored = async () => (await documents.read([{ kind, key }])).get(kind, key)?.value;
    expect(await stored()).toEqual({ refused: 1 });
    const exchange = { removed: { refused: 1 }, added: { calls: 1 } };
    expect(await documents.exchange({ kind, key }, exchange)).toEqual({ calls: 1 });
    expect(await documents.exchange({ kind, key }, exchange)).toBeUndefined();
    expect(await stored()).toEqual({ calls: 1 });
  });

  it("lists no kind whose documents are spread over partitions", async () => {
    const { documents } = aProcess(await createTable());
    await expect(documents.list("cap", { limit: 1 })).rejects.toThrow("not listed");
  });
});
