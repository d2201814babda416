import { describe, expect, it } from "vitest";
import { targetIndexes } from "#infra/cli/deploy/aws-indexes.ts";
import { useDeployment } from "#test/support/aws/deployment.ts";
import { expectImported, expectWhole, putRestored } from "#test/support/aws/expectations.ts";
import { Killed } from "#test/support/aws/real-cdk.ts";

const deployment = useDeployment("cuts");
const moments = ["before", "after"] as const;
/** Operations by which the first deployment and its protection change the stack. */
const creating = [
  ["cloudformation:CreateChangeSet", 1],
  ["cloudformation:ExecuteChangeSet", 1],
  ["cloudformation:CreateChangeSet", 2],
  ["cloudformation:UpdateTerminationProtection", 1],
  ["cloudformation:ExecuteChangeSet", 2],
] as const;
/** Operations by which a stack lets its table go, takes the restored one in, and names it as its own. */
const importing = [1, 2, 3].flatMap((number) => [
  ["cloudformation:CreateChangeSet", number] as const,
  ["cloudformation:ExecuteChangeSet", number] as const,
]);
const everyMoment = (operations: readonly (readonly [string, number])[]) =>
  operations.flatMap(([operation, number]) =>
    moments.map((moment) => ({ operation, number, moment })),
  );

describe("npm run deploy:aws, by the real cdk,", () => {
  it.each(everyMoment(creating))(
    "resumes where it was cut off $moment $operation $number",
    async (cut) => {
      const { account, cutOff, person } = deployment();
      const ada = person();
      cutOff(ada, cut);
      await expect(ada.deploy()).rejects.toThrow(Killed);
      account.endpoint.cut = undefined;
      await person().deploy();
      expectWhole(deployment());
    },
  );

  it.each(everyMoment(importing))(
    "resumes with --import-ledger where it was cut off $moment $operation $number",
    async (cut) => {
      const former = putRestored(deployment());
      const { account, cutOff, person, settings } = deployment();
      const ada = person();
      cutOff(ada, cut);
      await expect(ada.importLedger()).rejects.toThrow(Killed);
      account.endpoint.cut = undefined;
      // Once the setting has ended, an ordinary deployment does the rest.
      if (settings()["ledgerTable"] === undefined) await person().deploy();
      else await person().importLedger();
      expectImported(deployment(), former);
    },
  );

  it.each(everyMoment([1, 2, 3].map((number) => ["cloudformation:ExecuteChangeSet", number])))(
    "resumes where it was cut off while indexes change, $moment $operation $number",
    async (cut) => {
      const { account, cutOff, ownTable, person, stand } = deployment();
      const { due, agent, ...others } = targetIndexes;
      expect([due, agent]).not.toContain(undefined);
      stand({ ...others, old: { hashKey: "old", rangeKey: "sk" } });
      const ada = person();
      cutOff(ada, cut);
      await expect(ada.deploy()).rejects.toThrow(Killed);
      account.endpoint.cut = undefined;
      await person().deploy();
      const indexes = account.dynamo.tables.get(ownTable() ?? "")?.indexes.keys() ?? [];
      expect([...indexes].toSorted()).toEqual(Object.keys(targetIndexes).toSorted());
    },
  );

  it("bootstraps an account where cdk was never used, once a person agrees", async () => {
    const { account, person, stack } = deployment();
    account.unbootstrap();
    const ada = person();
    const questions: string[] = [];
    ada.tools.ask = (question) => {
      questions.push(question);
      return Promise.resolve(questions.length === 1 ? undefined : "yes");
    };
    await expect(ada.deploy()).rejects.toThrow(/may run npm run cdk -- bootstrap/);
    expect(stack()).toBeUndefined();
    await ada.deploy();
    expect(ada.cdk.ran.map(([command]) => command)).toEqual([
      "deploy",
      "deploy",
      "bootstrap",
      "deploy",
      "deploy",
    ]);
    expect(stack()?.isProtected).toBe(true);
  });
});
