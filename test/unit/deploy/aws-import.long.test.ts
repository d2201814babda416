import { describe, expect, it } from "vitest";
import { useDeployment } from "#test/support/aws/deployment.ts";
import { expectImported, putRestored } from "#test/support/aws/expectations.ts";
import { Killed } from "#test/support/aws/real-cdk.ts";
import { createChangeSet, createStacks, putStack } from "#test/support/aws/stacks.ts";

const deployment = useDeployment("import");

describe("npm run deploy:aws -- --import-ledger, by the real cdk,", () => {
  it("makes the restored table the stack's own, and has nothing to do after that", async () => {
    const former = putRestored(deployment());
    const { changes, person } = deployment();
    await person().importLedger();
    expectImported(deployment(), former);
    const before = changes();
    await expect(person().importLedger()).rejects.toThrow(/uses its own table already/);
    expect(changes()).toEqual(before);
  });

  it("resumes where it was cut off, though somebody deploys meanwhile", async () => {
    const former = putRestored(deployment());
    const { account, cutOff, ownTable, person, set } = deployment();
    const first = person();
    cutOff(first, { operation: "cloudformation:CreateChangeSet", number: 2, moment: "before" });
    await expect(first.importLedger()).rejects.toThrow(Killed);
    account.endpoint.cut = undefined;
    expect(ownTable()).toBeUndefined();
    await person().deploy(); // no empty table is made
    expect(ownTable()).toBeUndefined();
    set({ ledgerTable: undefined });
    await expect(person().deploy()).rejects.toThrow(
      /^Nothing was deployed: .*begin with an empty one.*ledgerTable.*--import-ledger/,
    );
    set({ ledgerTable: "restored" });
    await person().importLedger();
    expectImported(deployment(), former);
  });

  it("says what to do where no stack stands, or another project's", async () => {
    const { person, set, account } = deployment();
    set({ ledgerTable: "restored" });
    await expect(person().importLedger()).rejects.toThrow(/does not exist here.*deploy:aws first/);
    putStack(account.stacks, "OutboundCalls-import", { Resources: { A: { Type: "B" } } });
    await expect(person().importLedger()).rejects.toThrow(/another project's/);
  });
});

describe("CloudFormation, as it is played here,", () => {
  it("refuses an import that changes anything else, or lacks a deletion policy", () => {
    const stacks = createStacks();
    const before = {
      Resources: { Queue: { Type: "AWS::SQS::Queue" } },
      Outputs: { A: { Value: "a" } },
    };
    putStack(stacks, "calls", before);
    const table = { Type: "AWS::DynamoDB::GlobalTable", DeletionPolicy: "Retain" };
    const importing = (target: object) => () =>
      createChangeSet(stacks, "calls", {
        name: "import",
        type: "IMPORT",
        target,
        imports: new Map([["Ledger", "restored"]]),
        parameters: new Map(),
      });
    const { Resources, Outputs } = before;
    const changed = { Queue: { Type: "AWS::SQS::Queue", Properties: { DelaySeconds: 1 } } };
    const Ledger = table;
    expect(importing({ Outputs, Resources: { ...changed, Ledger } })).toThrow(
      /modified resources \[Queue\]/,
    );
    expect(importing({ Outputs, Resources: { Ledger } })).toThrow(/modified resources \[Queue\]/);
    expect(importing({ Resources: { ...Resources, Ledger } })).toThrow(/modify or add \[Outputs\]/);
    const bare = { Type: table.Type };
    expect(importing({ Outputs, Resources: { ...Resources, Ledger: bare } })).toThrow(
      /DeletionPolicy/,
    );
    expect(importing({ Outputs, Resources: { ...Resources, Ledger } })).not.toThrow();
  });
});
