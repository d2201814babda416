import type { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import * as z from "#shared/lib/zod.ts";
import { cdkDeploy, cdkImport, cdkSynth } from "./aws-cdk.ts";
import { deploymentNamed, storeSettings } from "./aws-deployment.ts";
import { isCreation, readOwnStack, requireDeployable } from "./aws-stack.ts";
import { changeIndexes, fixTable, type TableDeps } from "./aws-table.ts";
import { DeployError, type Tools } from "./tools.ts";

const root = resolve(import.meta.dirname, "../../..");
const templateSchema = z.object({
  Resources: z.record(z.string(), z.object({ Type: z.string() })),
});

/**
 * Makes a restored table, which the settings name as `ledgerTable`, the stack's own. The stack releases its former
 * table, which stays outside it, and imports the restored one; then the setting is no longer needed. Calls continue
 * meanwhile, because the functions use the same table throughout. It may be run again after an interruption at any
 * step.
 *
 * @throws DeployError if no table is named, or it is no ledger
 */
export async function importLedger(
  tools: Tools,
  deps: TableDeps & { cloudFormation: CloudFormationClient },
  { name, settingsFile }: { name?: string | undefined; settingsFile?: string | undefined },
): Promise<void> {
  const { stackName, settings } = deploymentNamed(name, settingsFile);
  const { ledgerTable } = settings;
  if (ledgerTable === undefined) {
    throw new DeployError(
      `${stackName} uses its own table already: the settings name no ledgerTable. If an import was cut off in its last step, ` +
        "npm run deploy:aws completes it.",
    );
  }
  const stack = await readOwnStack(deps.cloudFormation, stackName, { isDeployed: true });
  if (stack !== "unread") {
    if (stack !== undefined) requireDeployable(stack);
    if (isCreation(stack)) {
      throw new DeployError(`${stackName} does not exist here: run npm run deploy:aws first.`);
    }
  }
  tools.print(`1 of 4: the table ${ledgerTable} is checked …`);
  await fixTable(ledgerTable, deps);
  await changeIndexes(ledgerTable, "add", deps);
  await changeIndexes(ledgerTable, "remove", deps); // CloudFormation must find it as the template has it

  tools.print("2 of 4: the stack releases its former table, which stays with its content …");
  await cdkDeploy(tools, name, { context: { withoutLedger: "true" } });

  tools.print(`3 of 4: the stack imports ${ledgerTable} …`);
  await cdkSynth(tools, name);
  const id = await ledgerIdIn(stackName);
  await cdkImport(tools, name, { [id]: { TableName: ledgerTable } });

  tools.print("4 of 4: the functions use it as the stack's own …");
  await storeSettings(name, { ledgerTable: undefined }, settingsFile);
  await cdkDeploy(tools, name, {});
  tools.print(
    `${ledgerTable} belongs to ${stackName} now, and the settings have no ledgerTable any more: commit them. The former ` +
      "table is outside the stack: delete it when you no longer need it.",
  );
}

/** Returns the name of the ledger's table in the template that was made last. */
async function ledgerIdIn(stackName: string): Promise<string> {
  const text = await readFile(resolve(root, `dist/cdk.out/${stackName}.template.json`), "utf8");
  const { Resources } = templateSchema.parse(JSON.parse(text));
  const table = Object.entries(Resources).find(
    ([, { Type }]) => Type === "AWS::DynamoDB::GlobalTable",
  );
  if (table === undefined) throw new DeployError(`The template of ${stackName} has no table.`);
  return table[0];
}
