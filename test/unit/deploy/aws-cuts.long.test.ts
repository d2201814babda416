import { describe, expect, it } from "vitest";
import { useDeployment } from "../../support/aws/deployment.ts";
import { expectImported, expectWhole, putRestored } from "../../support/aws/expectations.ts";
import { Killed } from "../../support/aws/real-cdk.ts";

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
    "goes on where it was cut off $moment $operation $number",
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
    "goes on with --import-ledger where it was cut off $moment $operation $number",
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
});
