import {
  type CloudFormationClient,
  DescribeStacksCommand,
  GetTemplateCommand,
} from "@aws-sdk/client-cloudformation";
import { secretTags } from "#infra/aws/secret-tags.ts";
import { lacksRight, orSentence, unprotect } from "./aws-cdk.ts";
import { DeployError } from "./tools.ts";

/** A stack as CloudFormation knows it. */
export interface StandingStack {
  name: string;
  status: string;
  isProtected: boolean;
  /** False if its template is another project's. */
  isOwn: boolean;
  /** True if its template has the ledger's table. */
  hasTable: boolean;
}

/**
 * Reads a stack; undefined: there is none of this name, or none that was ever begun.
 *
 * @throws DeployError with what AWS said
 */
export async function readStack(
  client: CloudFormationClient,
  name: string,
): Promise<StandingStack | undefined> {
  const stack = await orSentence(() => describe(client, name));
  const { StackStatus: status = "", EnableTerminationProtection = false } = stack ?? {};
  if (stack === undefined || status.startsWith("REVIEW_")) return undefined;
  const { TemplateBody = "" } = await orSentence(() =>
    client.send(new GetTemplateCommand({ StackName: name })),
  );
  return {
    name,
    status,
    isProtected: EnableTerminationProtection,
    // The template is JSON, or YAML after an import.
    isOwn: TemplateBody.includes(secretTags.kind),
    hasTable: TemplateBody.includes("AWS::DynamoDB::GlobalTable"),
  };
}

async function describe(client: CloudFormationClient, StackName: string) {
  try {
    const { Stacks } = await client.send(new DescribeStacksCommand({ StackName }));
    return Stacks?.[0];
  } catch (error) {
    if (error instanceof Error && /does not exist/.test(error.message)) return undefined;
    throw error;
  }
}

/**
 * Reads the stack that is to be deployed, whose secrets show that it is this project's. Whoever deployed it so far may
 * lack the right to read it, which earlier versions did not need.
 *
 * @returns undefined if there is none, "unread" if it stands and may not be read
 */
export async function readOwnStack(
  client: CloudFormationClient,
  name: string,
  { isDeployed }: { isDeployed: boolean },
): Promise<StandingStack | "unread" | undefined> {
  try {
    return await readStack(client, name);
  } catch (error) {
    if (isDeployed && lacksRight(error)) return "unread";
    throw error;
  }
}

/** Statuses of a stack whose creation failed. cdk deletes it before it creates it again. */
const failedCreation = /^(ROLLBACK_(COMPLETE|FAILED)|CREATE_FAILED)$/;

/** Returns true if a deployment creates the stack, as none stands. */
export function isCreation(stack: StandingStack | undefined): boolean {
  return stack === undefined || failedCreation.test(stack.status);
}

/** @throws DeployError if the stack is another project's, or CloudFormation cannot change it now */
export function requireDeployable(stack: StandingStack): void {
  const { name, status, isProtected } = stack;
  requireOwnStack(stack, "deployed");
  if (status.endsWith("_IN_PROGRESS")) throw new DeployError(inProgress(name, status));
  if (failedCreation.test(status) && isProtected) {
    throw new DeployError(
      `Nothing was deployed: an earlier version began ${name}, failed (${status}), and left it protected. It holds no call, ` +
        `as it never ran. Remove the protection, then run this again:\n${unprotect(name)}`,
    );
  }
  if (status.endsWith("_ROLLBACK_FAILED")) {
    throw new DeployError(
      `Nothing was deployed: ${name} could neither be changed nor brought back (${status}). Fix what its events name, in the ` +
        `console under CloudFormation. Then finish the roll-back, and run this again:\nnpm run cdk -- rollback ${name}`,
    );
  }
  if (status === "DELETE_FAILED") {
    throw new DeployError(
      `Nothing was deployed: ${name} is half deleted (${status}). Finish it with npm run destroy:aws -- --yes, then run this again.`,
    );
  }
}

/**
 * Returns true while an import is unfinished: the stack has released its own table, and does not have the restored
 * one yet. A deployment does not change that, because the stack would make an empty table.
 *
 * @throws DeployError if the settings name no restored table: the service would begin with an empty ledger
 */
export function isWithoutTable(
  stack: StandingStack | "unread" | undefined,
  { ledgerTable, ownTable }: { ledgerTable: string | undefined; ownTable: string | undefined },
): boolean {
  if (stack === "unread") return ledgerTable !== undefined && ownTable === undefined;
  if (stack === undefined || isCreation(stack) || stack.hasTable) return false;
  if (ledgerTable !== undefined) return true;
  throw new DeployError(
    `Nothing was deployed: ${stack.name} has released its table and imported no other, so it would begin with an empty one. Set ` +
      "ledgerTable in infra/aws/settings.json to the restored table's name, and run npm run deploy:aws -- --import-ledger.",
  );
}

/** @throws DeployError if the stack is another project's */
export function requireOwnStack({ name, isOwn, status }: StandingStack, done: string): void {
  // A stack that was rolled back whole holds nothing.
  if (isOwn || status === "ROLLBACK_COMPLETE") return;
  throw new DeployError(
    `Nothing was ${done}: the stack ${name} in this account and region is another project's. Choose another name for this ` +
      "deployment, as in -- --name calls, or another region.",
  );
}

const inProgress = (name: string, status: string): string =>
  `Nothing was deployed: ${name} is being changed now (${status}), by somebody else or by a run that was cut off. ` +
  "CloudFormation continues by itself: run this again in some minutes.";
