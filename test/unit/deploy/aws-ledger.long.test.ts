import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Indexes, indexSteps, targetIndexes } from "#infra/cli/deploy/aws-indexes.ts";
import { useDeployment } from "#test/support/aws/deployment.ts";
import { type FakeTable, standing } from "#test/support/aws/dynamodb.ts";
import { deleteStack } from "#test/support/aws/stacks.ts";

const deployment = useDeployment("ledgers");

const indexesOf = (indexes: Indexes): FakeTable["indexes"] =>
  new Map(
    Object.entries(indexes).map(([one, { hashKey, rangeKey }]) => [
      one,
      standing([hashKey, rangeKey]),
    ]),
  );
const aTable = (more: Partial<FakeTable> = {}): FakeTable => ({
  keys: ["pk", "sk"],
  ttl: "ttl",
  hasRecovery: true,
  isProtected: true,
  indexes: indexesOf(targetIndexes),
  ...more,
});
const tableNamed = (one: string): FakeTable => {
  const found = deployment().account.dynamo.tables.get(one);
  if (found === undefined) throw new Error(`no table ${one}`);
  return found;
};
/** Has a deployment stand whose table differs from this version's. @returns name of the table */
function standWith(indexes?: Indexes, differing: Partial<FakeTable> = {}): string {
  const { account, ownTable, stand } = deployment();
  stand(indexes);
  const table = ownTable() ?? "";
  account.dynamo.tables.set(table, { ...tableNamed(table), ...differing });
  return table;
}
const namesIn = (table: string) => [...tableNamed(table).indexes.keys()].toSorted();
const target = Object.keys(targetIndexes).toSorted();

describe("the table of the ledger, at each deployment by the real cdk,", () => {
  it("is left alone where it is as it should be", async () => {
    const { account, changes, person } = deployment();
    standWith();
    await person().deploy();
    expect([changes(), account.dynamo.changes]).toEqual([[], []]);
  });

  it.each<[string, Partial<FakeTable>, RegExp[]]>([
    [
      "time to live, recovery and protection",
      { ttl: undefined, hasRecovery: false, isProtected: false },
      [/Fixed \S+: time to live/, /: point-in-time recovery/, /: protection against deletion/],
    ],
    ["time to live by its own attribute", { ttl: "until" }, [/Fixed \S+: time to live/]],
  ])("gets %s again", async (_, lacking, said) => {
    const { account, person } = deployment();
    const table = standWith(undefined, lacking);
    const ada = person();
    await ada.deploy();
    expect(tableNamed(table)).toEqual(aTable());
    expect(account.dynamo.changes).toHaveLength(said.length);
    for (const one of said) expect(ada.printed.join("\n")).toMatch(one);
  });

  it("is refused where it is no ledger, or not there", async () => {
    const { account, changes, person, set } = deployment();
    standWith();
    set({ ledgerTable: "other" });
    await expect(person().deploy()).rejects.toThrow(/^AWS refused: ResourceNotFoundException/);
    account.dynamo.tables.set("other", aTable({ keys: ["id"] }));
    await expect(person().deploy()).rejects.toThrow(/The table other has the keys id: it is no/);
    expect(changes()).toEqual([]);
  });

  it("is not that of an earlier stack, which its end has left with the secret of its name", async () => {
    const { account, ownTable, person, stack } = deployment();
    const former = standWith();
    const standingStack = stack();
    if (standingStack === undefined) throw new Error("no stack");
    standingStack.isProtected = false;
    deleteStack(account.stacks, standingStack);
    expect([...account.secrets.secrets.keys()]).toEqual([expect.stringContaining("Settings")]);
    account.dynamo.tables.clear(); // a person has deleted the table
    await person().deploy();
    expect([...account.dynamo.tables.keys()]).toEqual([ownTable()]);
    expect(ownTable()).not.toBe(former);
  });
});

describe("the indexes of the ledger change one at a time, by the real cdk,", () => {
  const { due, agent, ...others } = targetIndexes as Required<typeof targetIndexes>;
  const former = { ...others, old: { hashKey: "old", rangeKey: "sk" } };
  const later = {
    ...targetIndexes,
    next: { hashKey: "next", rangeKey: "sk" },
    last: { hashKey: "last", rangeKey: "sk" },
  };

  it.each([
    ["forward, from a version with others", former, 3],
    ["back, from a later version", later, 2],
    ["in one deployment where one changes", { ...targetIndexes, next: later.next }, 1],
  ])("%s", async (_, indexes, deployments) => {
    expect([due, agent]).not.toContain(undefined);
    const table = standWith(indexes);
    const ada = deployment().person();
    await ada.deploy();
    expect(namesIn(table)).toEqual(target);
    expect(ada.cdk.ran).toHaveLength(deployments);
  });

  it("of a restored table by DynamoDB itself: made before the deployment, removed after it", async () => {
    const { account, person, set } = deployment();
    standWith();
    set({ ledgerTable: "restored" });
    account.dynamo.tables.set("restored", aTable({ indexes: indexesOf(former) }));
    const denied = { code: "AccessDenied", message: "not authorized to perform: s3:PutObject" };
    account.endpoint.refusals.set("s3:PutObject", denied);
    await expect(person().deploy()).rejects.toThrow(/s3:PutObject/);
    expect(namesIn("restored")).toEqual([...target, "old"].toSorted());
    account.endpoint.refusals.clear();
    await person().deploy();
    expect(namesIn("restored")).toEqual(target);
  });

  it("and never take another's name", async () => {
    const { changes, person } = deployment();
    const taken = { ...targetIndexes, due: { hashKey: "backlog", rangeKey: "sk" } };
    const table = standWith(undefined, { indexes: indexesOf(taken) });
    await expect(person().deploy()).rejects.toThrow(
      /index due of the table has other keys.*another name/,
    );
    const indexes = indexesOf(targetIndexes).set("due", standing(["due", "dueKey"], "ALL"));
    tableNamed(table).indexes = indexes;
    await expect(person().deploy()).rejects.toThrow(
      /due of the table has other keys or attributes/,
    );
    expect(changes()).toEqual([]);
  });

  it("in steps of one from any set to any other, which keep all that both have", () => {
    const aSet = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f"));
    const toIndexes = (names: string[]): Indexes =>
      Object.fromEntries(names.map((one) => [one, { hashKey: one, rangeKey: "sk" }]));
    fc.assert(
      fc.property(aSet, aSet, (from, to) => {
        const steps = [
          toIndexes(from),
          ...indexSteps(toIndexes(from), toIndexes(to)),
          toIndexes(to),
        ];
        for (const [index, step] of steps.entries()) {
          const before = new Set(Object.keys(steps[index - 1] ?? step));
          const after = new Set(Object.keys(step));
          const made = [...after].filter((one) => !before.has(one));
          const removed = [...before].filter((one) => !after.has(one));
          expect(made.length + removed.length).toBeLessThanOrEqual(1);
          for (const one of from) if (to.includes(one)) expect(after).toContain(one);
        }
      }),
    );
  });
});
