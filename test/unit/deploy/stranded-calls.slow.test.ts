import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { confirmStranded, waitingOnAws, waitingQuery } from "#infra/cli/deploy/stranded-calls.ts";
import { DeployError } from "#infra/cli/deploy/tools.ts";
import dialPlan from "#infra/dial-plan.json" with { type: "json" };
import { toItem } from "#shared/aws/dynamodb-document-items.ts";
import { toItem as toRowItem } from "#shared/aws/dynamodb-rows.ts";
import { rowStatements, toRowJson } from "#shared/cloudflare/d1-rows.ts";
import { backlogOf } from "#shared/calls/call-row.ts";
import { parseDialPlan } from "#test/support/plans.ts";
import { aRow } from "#test/support/call-rows.ts";
import {
  type FakeDynamoDB,
  type FakeTable,
  standing,
  startDynamoDB,
} from "#test/support/aws/dynamodb.ts";

const route = { provider: "webhook", url: "https://example.com/dial" };
const plan = parseDialPlan({ ...dialPlan, agents: { agent_sales: route } }, {});
const sales = { client: "crm", agentId: "agent_sales" };
const lost = { client: "crm", agentId: "agent_lost" };

/**
 * Rows of the waiting calls of these backlogs, and the documents of these and of an empty one, as a later version may have
 * written them: a roll-back looks too.
 */
const rowsOf = (backlogs: readonly (typeof sales)[]) =>
  backlogs.map((of) => aRow({ ...of, lane: backlogOf(of), dueAt: 2_000_000_000_000 }));
const documentsOf = (backlogs: readonly (typeof sales)[]) =>
  [...backlogs, { client: "crm", agentId: "agent_empty" }].map((of) => ({
    kind: "backlog" as const,
    key: backlogOf(of),
    version: "0123456789abcdef0123",
    json: JSON.stringify({ ...of, usedAt: 0, answers: "glacial" }),
    expiresAt: null,
  }));

describe("calls that a plan would strand", () => {
  const confirm = async (
    waiting: (typeof sales)[],
    answer: string | undefined,
    strands = false,
  ) => {
    const printed: string[] = [];
    const questions: string[] = [];
    const ask = async (question: string) => {
      questions.push(question);
      return answer;
    };
    const print = (line: string) => void printed.push(line);
    const done = await confirmStranded({ print, ask }, plan, { waiting, strands }).then(
      () => true,
      (error: unknown) => {
        expect(error).toBeInstanceOf(DeployError);
        return false;
      },
    );
    return { done, printed: printed.join(), questions };
  };

  it("are named, and left only if a person says yes or the command was told to", async () => {
    for (const answer of [undefined, "", "no"]) {
      expect(await confirm([sales, lost], answer)).toMatchObject({
        done: false,
        printed: expect.stringMatching(/no route[^]*agent_lost, of the client crm$/),
      });
    }
    expect((await confirm([lost], "yes")).done).toBe(true);
    expect(await confirm([lost], undefined, true)).toMatchObject({ done: true, questions: [] });
  });

  it("are none where every agent with waiting calls has a route", async () => {
    const none = { done: true, printed: "", questions: [] };
    expect(await confirm([sales], undefined)).toEqual(none);
    expect(await confirm([], undefined)).toEqual(none);
  });
});

describe("the backlogs with waiting calls", () => {
  it("are those of D1's ledger, by its own index", () => {
    const database = new DatabaseSync(":memory:");
    database.exec(readFileSync("infra/d1/0001_ledger.sql", "utf8"));
    const rows = rowsOf([sales, lost]).map((row) => toRowJson(row, null));
    database.prepare(rowStatements.insert).all(`[${rows.join()}]`);
    const putDocument = database.prepare(
      "INSERT INTO documents (kind, key, version, value) VALUES (?, ?, ?, ?)",
    );
    for (const { kind, key, version, json } of documentsOf([sales, lost])) {
      putDocument.run(kind, key, version, json);
    }
    const found = database.prepare(waitingQuery).all();
    expect(found.map((one) => ({ ...one }))).toEqual([lost, sales]);
    const how = database.prepare(`EXPLAIN QUERY PLAN ${waitingQuery}`).all();
    expect(JSON.stringify(how)).toContain("calls_due");
    expect(JSON.stringify(how)).not.toMatch(/SCAN calls/);
  });

  let dynamo: FakeDynamoDB;
  beforeEach(async () => void (dynamo = await startDynamoDB()));
  afterEach(() => dynamo.stop());

  const putTable = (indexes: FakeTable["indexes"]) =>
    dynamo.tables.set("Ledger", {
      keys: ["pk", "sk"],
      ttl: "ttl",
      hasRecovery: true,
      isProtected: true,
      indexes,
      items: [
        ...documentsOf([sales, lost]).map(toItem),
        ...rowsOf([sales, lost]).map((row) => toRowItem(row, 0)),
      ],
    });

  it("are those of DynamoDB's", async () => {
    putTable(new Map([["due", standing(["due", "dueKey"])]]));
    expect(await waitingOnAws(dynamo.ledger, "Ledger")).toMatchObject([lost, sales]);
  });

  it("are all where DynamoDB's index is only to be made, as in a restored table", async () => {
    putTable(new Map());
    const all = [{ client: "crm", agentId: "agent_empty" }, lost, sales];
    expect(await waitingOnAws(dynamo.ledger, "Ledger")).toMatchObject(all);
  });
});
