import type { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import { cdkDestroy } from "./aws-cdk.ts";
import { deploymentNamed } from "./aws-deployment.ts";
import { readStack, requireOwnStack } from "./aws-stack.ts";
import { DeployError, type Tools } from "./tools.ts";

/**
 * Destroys the stack. Says first what stays and why, and does nothing without `yes`.
 *
 * @throws DeployError without `yes`, for a stack of another project, or with what cdk said
 */
export async function destroyOnAws(
  { tools, cloudFormation }: { tools: Tools; cloudFormation: CloudFormationClient },
  { name, yes }: { name?: string | undefined; yes?: boolean | undefined },
): Promise<void> {
  const { stackName } = deploymentNamed(name);
  tools.print(`Would be deleted: the API's address, the functions of ${stackName}, the logs, the alarms and the providers' secrets.
Calls that wait are not dialed any more.
Would stay, until you delete each:
  the queues, which keep messages for 14 days: calls that have no row yet;
  the table, which holds the outcome of every call (delete its deletion protection first);
  the bucket, which may hold calls for 30 days;
  the secret with HASH_KEY, without which the table's hashes and its do-not-call list are useless.
A later deployment begins with new queues, a new table and a new HASH_KEY, or uses these again: docs/deploy-aws.md.
The stack is protected: the first attempt prints how to remove the protection.`);
  if (yes !== true) throw new DeployError("Nothing was destroyed: --yes is required.");
  const stack = await readStack(cloudFormation, stackName);
  if (stack !== undefined) requireOwnStack(stack, "destroyed");
  await cdkDestroy(tools, name);
  tools.print(`Destroyed ${stackName}.`);
}
