import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { DynamoClient } from "#shared/aws/dynamodb-client.ts";
import * as z from "#shared/lib/zod.ts";
import { readPublicUrl } from "#shared/settings/callback-url.ts";
import { listEventsKeys } from "#shared/settings/events-keys.ts";
import { type AlarmRecipient, chooseAlarmRecipient } from "./aws-alarms.ts";
import { cdkDeploy, cdkSynth } from "./aws-cdk.ts";
import { deploymentNamed } from "./aws-deployment.ts";
import { indexSteps } from "./aws-indexes.ts";
import { isCreation, isWithoutTable, readOwnStack, requireDeployable } from "./aws-stack.ts";
import { changeIndexes, fixTable, readIndexes, type TableDeps } from "./aws-table.ts";
import type { AwsSecretStore } from "./aws-secrets.ts";
import { checkService } from "./check-service.ts";
import {
  askForSecrets,
  described,
  farewell,
  firstToken,
  planOf,
  publicUrlFor,
} from "./deploy-steps.ts";
import { printRefusal, requireOwnHosts } from "./example-hosts.ts";
import { createHashKey, givenHashKey, showHashKey } from "./hash-key.ts";
import { lacksFirstToken, providerSecretsOf } from "./secret-names.ts";
import { confirmStranded, waitingOnAws } from "./stranded-calls.ts";
import { DeployError, type Tools } from "./tools.ts";

const root = resolve(import.meta.dirname, "../../..");

/** Options of the command. */
export interface DeployOptions {
  /** Name of a deployment beside the first. */
  name?: string | undefined;
  /** True to leave waiting calls of agents that the plan has lost. */
  strand?: boolean | undefined;
  /** Recipients of alarms on the command line. */
  alarms?: AlarmRecipient;
  /** Replaces infra/aws/settings.json, in tests. */
  settingsFile?: string;
  /** Replaces the pauses between looks at the deployed service, in tests. */
  looks?: Parameters<typeof checkService>[2];
  /** Replaces the pauses between looks at a changing table, in tests. */
  pauseMs?: number;
}

/** The surroundings of the command, and its ways to AWS. */
export interface AwsDeps {
  tools: Tools;
  store: AwsSecretStore;
  dynamo: DynamoDBClient;
  /** Reads the table's items. */
  ledger: DynamoClient;
  cloudFormation: CloudFormationClient;
}

/**
 * Deploys the service to AWS, or updates it. It may be run again at any time, after an interruption too: the stack is
 * brought to its intended state, and only missing secrets are set. It asks for everything that a person may have
 * forgotten before it creates anything.
 *
 * @param bundledPlan content of infra/dial-plan.json
 * @throws DeployError with what to do
 */
export async function deployToAws(
  { tools, store, dynamo, ledger, cloudFormation }: AwsDeps,
  bundledPlan: unknown,
  { name, alarms: given = {}, strand = false, settingsFile: file, looks, pauseMs }: DeployOptions,
): Promise<void> {
  const { stackName, settings } = deploymentNamed(name, file);
  const plan = planOf(bundledPlan);
  givenHashKey(tools);
  tools.print("Looking for credentials and secrets …");
  const isDeployed = await store.exists();
  const stack = await readOwnStack(cloudFormation, stackName, { isDeployed });
  if (stack !== undefined && stack !== "unread") requireDeployable(stack);
  const current = isDeployed ? await store.names() : [];
  requireOwnHosts(plan, current);
  const providerSecrets = await askForSecrets(tools, plan, { platform: "aws", current });
  const alarms = await chooseAlarmRecipient(tools, { name, given, current: settings, file });

  // The secret that names the table outlives its stack, and the table may be gone by now.
  const ownTable = isDeployed ? await store.ownTable() : undefined;
  const table = settings.ledgerTable ?? ownTable;
  // A plan in the secret DIAL_PLAN goes before that of the file.
  if (table !== undefined && !current.includes("DIAL_PLAN")) {
    const waiting = await waitingOnAws(ledger, table);
    await confirmStranded(tools, plan, { waiting, strands: strand });
  }

  tools.print(
    `Deploying the stack ${stackName}: minutes the first time, seconds if nothing changed …`,
  );
  const isCreated = stack !== "unread" && isCreation(stack);
  // Where a stack stands, its new code finds what it needs: without it, nobody would be dialed until the end of this run.
  if (isDeployed && !isCreated) await setAbsent(store, neededOf(providerSecrets, current));
  const outputsFile = `dist/deploy/${stackName}.json`;
  await mkdir(dirname(resolve(root, outputsFile)), { recursive: true });
  await rm(resolve(root, outputsFile), { force: true }); // Otherwise an earlier deployment's would be read for this one's.
  const tables = { dynamo, print: tools.print, ...(pauseMs !== undefined && { pauseMs }) };
  await deployStack(tools, tables, {
    name,
    outputsFile,
    withoutLedger: isWithoutTable(stack, { ledgerTable: settings.ledgerTable, ownTable }),
    isCreated,
    ownTable,
    ledgerTable: settings.ledgerTable,
  });
  const url = await readUrl(outputsFile, stackName);
  tools.print(`Deployed ${stackName}.`);

  const names = await store.names();
  // EVENTS_KEY is set by now, so the names from before this run tell whether it is the first.
  const isNew = lacksFirstToken(current) && !names.includes("API_TOKENS");
  const hashKey = await storeHashKey(tools, store, isNew);
  const made = isNew ? firstToken(tools) : undefined;
  const absent = {
    ...neededOf(providerSecrets, names),
    ...(made && { API_TOKENS: `[${made.entry}]` }),
    ...publicUrlFor(plan, names, url),
  };
  if (!(await setAbsent(store, absent))) tools.print("The secrets are there.");
  if (made !== undefined && !(await store.read("API_TOKENS"))?.includes(made.sha256)) {
    tools.print("Another run has set a first token at the same time: that one is valid, not this.");
  }
  if (isNew && hashKey !== (await store.read("HASH_KEY"))) throw new DeployError(otherHashKey);
  const answering = await checkService(tools, await addressesOf(store, url), looks);
  tools.print(alarms);
  tools.print(farewell(answering));
}

/**
 * Returns the addresses at which the service may answer. PUBLIC_URL comes first, as the stack's own address may be
 * disabled. But a firewall may let nothing but callbacks pass at PUBLIC_URL.
 *
 * @throws DeployError if PUBLIC_URL is wrong, as somebody may have changed it in the console
 */
async function addressesOf(store: AwsSecretStore, own: string): Promise<string[]> {
  const PUBLIC_URL = await store.read("PUBLIC_URL");
  try {
    return [...new Set([readPublicUrl({ PUBLIC_URL }) ?? own, own])];
  } catch (error) {
    throw new DeployError(error instanceof Error ? error.message : "wrong PUBLIC_URL");
  }
}

/** Returns the secrets without which new code dials nobody, of those that are not set. */
function neededOf(
  providerSecrets: Record<string, string>,
  held: readonly string[],
): Record<string, string> {
  const absent = Object.entries(providerSecrets).filter(([one]) => !held.includes(one));
  const hasEventsKey = listEventsKeys(held).length > 0;
  return {
    ...Object.fromEntries(absent),
    ...(hasEventsKey ? {} : { EVENTS_KEY: createHashKey() }),
  };
}

/** Sets secrets that nobody has set meanwhile. Resolves to false if there are none to set. */
async function setAbsent(store: AwsSecretStore, secrets: Record<string, string>): Promise<boolean> {
  const names = Object.keys(secrets);
  if (names.length > 0) await store.set(secrets, { keeps: names });
  return names.length > 0;
}

/** Names of a deployment, of its tables, and of the file for its outputs. */
interface Stack {
  name: string | undefined;
  outputsFile: string;
  /** True if no stack stands yet. */
  isCreated: boolean;
  /** True while an import of a restored table is unfinished. */
  withoutLedger: boolean;
  /** The stack's own table; undefined before the first deployment. */
  ownTable: string | undefined;
  /** A restored table that is used instead. */
  ledgerTable: string | undefined;
}

/**
 * Deploys the stack, with its table as it should be. A stack is created without protection against deletion, and gets it
 * once it stands: CloudFormation could not roll back a creation that fails, and cdk could not repeat it. Indexes change one at a time: those of the own table by deployments
 * between, those of a restored one, which stands outside the stack, by DynamoDB itself.
 */
async function deployStack(
  tools: Tools,
  tables: TableDeps,
  { name, outputsFile, isCreated, withoutLedger, ownTable, ledgerTable }: Stack,
): Promise<void> {
  const table = ledgerTable ?? ownTable;
  if (table !== undefined) await fixTable(table, tables);
  if (ledgerTable !== undefined) await changeIndexes(ledgerTable, "add", tables);
  else if (ownTable !== undefined) {
    for (const step of indexSteps(await readIndexes(ownTable, tables))) {
      tools.print(`One index at a time: the table has ${Object.keys(step).join(", ")} …`);
      await cdkDeploy(tools, name, { context: { ledgerIndexes: JSON.stringify(step) } });
    }
  }
  if (isCreated) {
    await cdkDeploy(tools, name, { context: { unprotected: "true" } });
    tools.print("The stack is complete, and is now protected against deletion …");
  }
  await cdkDeploy(tools, name, {
    outputsFile,
    ...(withoutLedger && { context: { withoutLedger: "true" } }),
  });
  if (ledgerTable !== undefined) await changeIndexes(ledgerTable, "remove", tables);
}

const otherHashKey =
  "Another run has set another HASH_KEY at the same time: the service uses that one, not the one that was shown or given here. " +
  "If yours is the key of a ledger that was kept, set it before anybody is called: npm run secrets -- set HASH_KEY --replace. " +
  "Otherwise run this again, without HASH_KEY in the environment.";

/**
 * Shows the HASH_KEY that Secrets Manager has made, once, or sets the one that was given: that of a table that was kept. A
 * former key stays beside a current one that alone is given: dropped too early, nobody is dialed.
 *
 * @param isNew true before the first token is set: the key that was made has not been shown yet
 * @returns the key that is set, as far as this run knows
 */
async function storeHashKey(
  tools: Tools,
  store: AwsSecretStore,
  isNew: boolean,
): Promise<string | undefined> {
  const given = givenHashKey(tools);
  const current = await store.read("HASH_KEY");
  if (given === undefined) {
    if (current !== undefined && isNew) showHashKey(tools, current);
    return current;
  }
  if (given === current || current?.toLowerCase().startsWith(`${given} `)) return current;
  await store.set({ HASH_KEY: given }, { replaces: "if unused" });
  return given;
}

/** Prints what the command would do, without an account and without network access. */
export async function describeDeployment(
  tools: Tools,
  bundledPlan: unknown,
  { name }: DeployOptions,
): Promise<void> {
  const { stackName, settings } = deploymentNamed(name);
  const plan = planOf(bundledPlan);
  const secrets = providerSecretsOf(plan, "aws");
  printRefusal(tools, plan);
  await cdkSynth(tools, name);
  tools.print(`The template of ${stackName} is made and checked, in dist/cdk.out.`);
  tools.print(`Its settings, of infra/aws/settings.json: ${JSON.stringify(settings)}`);
  tools.print(
    "Would run, only where the account and region lack it and once you agree: cdk bootstrap",
  );
  tools.print(`Would run: cdk deploy, which creates or updates ${stackName}, HASH_KEY with it`);
  tools.print("Would set, each only if it is not there:");
  for (const one of secrets) tools.print(`  ${described(one)}`);
  tools.print("  EVENTS_KEY, and a first token in API_TOKENS, for the API");
  tools.print("Then request /healthz, and check that a request without a token gets a 401.");
}

const outputsSchema = z.record(z.string(), z.object({ DefaultStageUrl: z.url() }));

/** Returns the root URL of the API from the outputs that cdk wrote, without a slash at its end. */
async function readUrl(outputsFile: string, stackName: string): Promise<string> {
  const text = await readFile(resolve(root, outputsFile), "utf8").catch(() => "{}");
  const outputs = outputsSchema.safeParse(JSON.parse(text));
  const url = outputs.data?.[stackName]?.DefaultStageUrl;
  if (url === undefined)
    throw new DeployError(`cdk wrote no URL of ${stackName} to ${outputsFile}.`);
  return url.replace(/\/$/, "");
}
