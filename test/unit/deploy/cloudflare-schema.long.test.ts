import { beforeEach, describe, expect, it } from "vitest";
import { type Person, useDeployment } from "#test/support/cloudflare/deployment.ts";

const deployment = useDeployment();
let again: Person;
beforeEach(async () => {
  await deployment().stand();
  again = deployment().person();
});
const deployed = () => again.changes().filter((words) => words.startsWith("deploy "));

/** Changes the ledger by hand, and deploys again. */
async function deployAfter(...statements: string[]) {
  const { account } = deployment();
  for (const sql of statements) account.databases.get("outbound-calls")?.content.exec(sql);
  await again.deploy();
}

const remade = (of: string, to: string) => [
  "DROP TABLE calls",
  `CREATE TABLE calls (
    id TEXT PRIMARY KEY, version TEXT NOT NULL, number_hash BLOB NOT NULL, client TEXT, campaign TEXT, agent_id TEXT,
    state TEXT NOT NULL, lane TEXT, due_at INTEGER, deliver_to TEXT, deliver_at INTEGER, client_receiver_to TEXT,
    client_receiver_at INTEGER, accepted_at INTEGER NOT NULL, row BLOB NOT NULL, context BLOB
  ) WITHOUT ROWID`.replace(of, to),
  "CREATE INDEX calls_due ON calls (lane, due_at, id) WHERE lane IS NOT NULL",
  "CREATE INDEX calls_events ON calls (deliver_to, deliver_at, id) WHERE deliver_to IS NOT NULL",
  "CREATE INDEX calls_client_receiver_events ON calls (client_receiver_to, client_receiver_at, id) WHERE client_receiver_to IS NOT NULL",
  'CREATE INDEX "calls_number"  ON calls (number_hash,id) -- as before',
  ...["client", "campaign", "agent"].map((name) => {
    const column = name === "agent" ? "agent_id" : name;
    return `CREATE INDEX calls_${name} ON calls (${column}, id) WHERE ${column} IS NOT NULL`;
  }),
  "CREATE INDEX calls_client_campaign ON calls (client, campaign, id) WHERE campaign IS NOT NULL",
  "CREATE INDEX calls_attention ON calls (state, id) WHERE state IN ('UNKNOWN', 'NEEDS_REVIEW', 'REJECTED', 'EXPIRED')",
];

describe("npm run deploy:cloudflare compares the ledger's tables with the migrations'", () => {
  it("and continues if they are the same, however they were written", async () => {
    await deployAfter(...remade("", ""));
    expect(again.printed).toContain("The ledger's tables are up to date.");
    expect(deployed()).toHaveLength(2);
  });

  it.each<[string, string[], RegExp]>([
    [
      "a missing index, with the command that makes it",
      ["DROP INDEX calls_due"],
      /- the index calls_due is missing\n[^]*--command "CREATE INDEX calls_due ON calls\(lane,due_at,id\)WHERE lane IS NOT NULL"$/,
    ],
    [
      "an index with another condition",
      [
        "DROP INDEX calls_events",
        "CREATE INDEX calls_events ON calls (deliver_to, deliver_at, id)",
      ],
      /- the index calls_events is declared differently\n +there: .*\n +expected: .*WHERE deliver_to IS NOT NULL\n[^]*--command "DROP INDEX calls_events; CREATE INDEX calls_events ON [^"]+"$/i,
    ],
    [
      "a missing column",
      remade("state TEXT", "stage TEXT").slice(0, -1),
      /- the index calls_attention is missing\n- the column calls.state is missing\n/,
    ],
    [
      "a column of another type",
      remade("row BLOB", "row TEXT"),
      /- the column calls.row is declared differently\n +there: .*TEXT.*\n +expected: .*BLOB/,
    ],
    [
      "a column that may be empty",
      remade("version TEXT NOT NULL", "version TEXT"),
      /- the column calls.version is declared differently\n +there: +version TEXT;/,
    ],
    ["a table with row ids", remade(") WITHOUT ROWID", ")"), /- the table calls is declared/],
    [
      "a missing table, and nothing more of it",
      ["DROP TABLE documents"],
      /migrations make it. No code was deployed.\n- the table documents is missing\nA migration .* It may hold calls: do not delete it. See docs.*differ\.$/,
    ],
  ])("and stops before any code is deployed at %s", async (_, statements, message) => {
    await expect(deployAfter(...statements)).rejects.toThrow(message);
    expect(again.printed).not.toContain("The ledger's tables are up to date.");
    expect(deployed()).toEqual([]);
  });

  it("and leaves what a later version, or a person, has added", async () => {
    await deployAfter(
      "ALTER TABLE calls ADD COLUMN priority INTEGER",
      "CREATE INDEX calls_priority ON calls (priority)",
    );
    expect(again.printed.filter((line) => line.startsWith("The ledger also has"))).toEqual([
      "The ledger also has the index calls_priority, which this version does not use. It stays.",
      "The ledger also has the column calls.priority, which this version does not use. It stays.",
    ]);
    expect(deployed()).toHaveLength(2);
  });
});
