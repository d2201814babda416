import { listEventsKeys } from "#shared/settings/events-keys.ts";
import { checkService } from "./check-service.ts";
import { listFixes, requireNoOthers, requireOwn, reportPaused } from "./cloudflare-compare.ts";
import {
  creations,
  isLedgerEmpty,
  lookForResources,
  migration,
  recordKeys,
} from "./cloudflare-resources.ts";
import { checkSchema } from "./cloudflare-schema.ts";
import { putSecrets, secretNamesOf } from "./cloudflare-secrets.ts";
import { type LeaseTimes, withSecretsLease } from "./cloudflare-lease.ts";
import { type Target, targetOf, writeConfigs } from "./cloudflare-target.ts";
import { checkLogin, wrangler } from "./cloudflare-wrangler.ts";
import { askForSecrets, farewell, firstToken, planOf, publicUrlFor } from "./deploy-steps.ts";
import { printRefusal, requireOwnHosts } from "./example-hosts.ts";
import { confirmStranded, waitingOnCloudflare } from "./stranded-calls.ts";
import { createHashKey, givenHashKey, showHashKey } from "./hash-key.ts";
import {
  type FunctionName,
  lacksFirstToken,
  providerSecretsOf,
  readersOf,
  tokenVariables,
} from "./secret-names.ts";
import { DeployError, type Tools } from "./tools.ts";

/** Options of the command. */
export interface DeployOptions {
  /** Name of a deployment beside the first. */
  name?: string | undefined;
  /** Hint of the place of D1 and R2, such as `weur`, where they are created. */
  location?: string | undefined;
  /** Place of the data by law, such as `eu`, where it is created. */
  jurisdiction?: string | undefined;
  /** True to take over resources that are found without the Workers that use them. */
  adopt?: boolean | undefined;
  /** True to leave waiting calls of agents that the plan has lost. */
  strand?: boolean | undefined;
  /** Replaces the times of the lease under which secrets are set, in tests. */
  lease?: LeaseTimes;
}

type Names = Record<FunctionName, string[]>;

/** Returns the entries whose names are of secrets that the API reads too. */
const ofApi = <Value>(entries: [name: string, value: Value][]) =>
  entries.filter(([name]) => readersOf(name).includes("api"));

/**
 * Deploys the service to Cloudflare, or updates it. It may be run again at any time, after an interruption too: it
 * creates what is missing, and overwrites no secret. Everything that may be refused is checked before anything is
 * created. Steps that cannot be undone come in an order in which every interruption is harmless: resources, the
 * ledger's tables, secrets, the dialer, and last the API, which alone accepts calls.
 *
 * @param bundledPlan content of infra/dial-plan.json
 * @throws DeployError with what to do
 */
export async function deployToCloudflare(
  tools: Tools,
  bundledPlan: unknown,
  { name, location, jurisdiction, adopt = false, strand: strands = false, lease }: DeployOptions,
): Promise<void> {
  const asked = targetOf(name, jurisdiction);
  const plan = planOf(bundledPlan);
  const account = await checkLogin(tools);
  const current = await lookForResources(tools, asked, account);
  const names = await secretNamesOf(tools, asked);
  const hasWorkers = names.api.length > 0 || names.dialer.length > 0;
  requireOwn(asked, current, { hasWorkers, adopts: adopt });
  requireNoOthers(asked, current);
  requireOwnHosts(plan, names.dialer);
  // A plan in the secret DIAL_PLAN, which is never shown, goes before that of the file.
  if (current.hasDatabase && !names.dialer.includes("DIAL_PLAN")) {
    const waiting = await waitingOnCloudflare(tools, asked);
    await confirmStranded(tools, plan, { waiting, strands });
  }
  const providerSecrets = await askForSecrets(tools, plan, {
    platform: "cloudflare",
    current: names.dialer.filter((one) => isWhole(names, one)),
  });

  const target = targetOf(name, current.jurisdiction);
  await writeConfigs(target);
  const absent = creations(target, current, location);
  if (absent.length === 0) tools.print("Queues, database and bucket are there.");
  for (const args of absent) {
    await wrangler(tools, args);
    tools.print(`Created: wrangler ${args.join(" ")}`);
  }
  for (const args of listFixes(target, current)) {
    await wrangler(tools, args);
    tools.print(`Fixed: wrangler ${args.join(" ")}`);
  }
  await wrangler(tools, migration(target));
  await checkSchema(tools, target);
  tools.print("The ledger's tables are up to date.");

  const lacksSecrets = Object.keys(providerSecrets).length > 0;
  const hasKeys = isWhole(names, "HASH_KEY") && hasEventsKey(names);
  if (lacksSecrets || !hasKeys || lacksFirstToken(names.api)) {
    await withSecretsLease(tools, target, {
      work: () => putAbsentSecrets(tools, target, providerSecrets),
      times: lease,
    });
  }

  await wrangler(tools, ["deploy", "--config", target.configs.dialer]);
  tools.print(`Deployed ${target.workers.dialer}.`);
  const url = addressIn(await wrangler(tools, ["deploy", "--config", target.configs.api]));
  tools.print(`Deployed ${target.workers.api}.`);
  await putSecrets(tools, target, {
    dialer: publicUrlFor(plan, names.dialer, url),
    api: publicUrlFor(plan, names.api, url),
  });
  await checkService(tools, [url]);
  reportPaused(tools, current);
  tools.print(farewell(url));
}

/** True if all readers of a secret have it. */
const isWhole = (names: Names, secret: string) =>
  readersOf(secret).every((by) => names[by].includes(secret));

const hasEventsKey = (names: Names) =>
  listEventsKeys(names.dialer).some((one) => isWhole(names, one));

/** Sets what a service lacks: keys, a first token, and secrets of providers that nobody has set meanwhile. */
async function putAbsentSecrets(
  tools: Tools,
  target: Target,
  providerSecrets: Record<string, string>,
): Promise<void> {
  const names = await secretNamesOf(tools, target);
  const absent = Object.entries(providerSecrets).filter(([one]) => !isWhole(names, one));
  const hashKey = await hashKeyFor(tools, target, names);
  // Nothing stored depends on it: under a new one, clients rotate the secrets of their receivers.
  const eventsKey = hasEventsKey(names) ? {} : { EVENTS_KEY: createHashKey() };
  const made = lacksFirstToken(names.api) ? firstToken(tools) : undefined;
  const [key] = Object.values(hashKey);
  if (key !== undefined) await recordKeys(tools, target, key.HASH_KEY);
  await putSecrets(tools, target, {
    dialer: { ...Object.fromEntries(absent), ...hashKey.dialer, ...eventsKey },
    api: {
      ...Object.fromEntries(ofApi(absent)),
      ...hashKey.api,
      ...eventsKey,
      ...(made && { [`${tokenVariables[0]}_FIRST`]: made.entry }),
    },
  });
}

/** Prints what the command would do, without an account and without network access. */
export async function describeDeployment(
  tools: Tools,
  bundledPlan: unknown,
  { name, location, jurisdiction }: DeployOptions,
): Promise<void> {
  const target = targetOf(name, jurisdiction);
  const plan = planOf(bundledPlan);
  const secrets = providerSecretsOf(plan, "cloudflare");
  await writeConfigs(target);
  const nothing = { queues: new Map(), hasDatabase: false, rules: undefined, jurisdiction };
  printRefusal(tools, plan);
  tools.print("Would create, each only if it is not there:");
  for (const args of creations(target, nothing, location)) {
    tools.print(`  wrangler ${args.join(" ")}`);
  }
  tools.print(`Then: wrangler ${migration(target).join(" ")}`);
  tools.print("Would set, each only if it is not there:");
  tools.print(
    `  of ${target.workers.dialer}: ${["HASH_KEY", "EVENTS_KEY", ...secrets].join(", ")}`,
  );
  const shared = ofApi(secrets.map((one): [string, null] => [one, null])).map(([one]) => one);
  const ofApiToo = ["HASH_KEY", "EVENTS_KEY", ...shared].join(", ");
  tools.print(`  of ${target.workers.api}: ${ofApiToo}, a first token`);
  for (const config of [target.configs.dialer, target.configs.api]) {
    await wrangler(tools, ["deploy", "--dry-run", "--config", config]);
    tools.print(`Then: wrangler deploy --config ${config} (its bundle was made, and is valid)`);
  }
  tools.print("Then request /healthz, and check that a request without a token gets a 401.");
}

/**
 * Decides which Workers are given HASH_KEY. Under another key the do-not-call list cannot be read, so a key that is
 * in use is never overwritten, and as a secret is never shown again, the second Worker cannot be given the first
 * one's. A Worker that lacks it is therefore one of two cases, which the ledger tells apart:
 *
 * - the ledger is empty, as in a first run that was interrupted: nothing was ever hashed, and one new key for both
 *   Workers is harmless;
 * - the ledger holds something: a Worker was deleted, and only a person may still have its key.
 */
async function hashKeyFor(
  tools: Tools,
  target: Target,
  names: Names,
): Promise<Partial<Record<FunctionName, { HASH_KEY: string }>>> {
  const lacking = (["dialer", "api"] as const).filter((one) => !names[one].includes("HASH_KEY"));
  if (lacking.length === 0) return {};
  const given = givenHashKey(tools);
  if (await isLedgerEmpty(tools, target)) {
    const both = { HASH_KEY: given ?? createHashKey() };
    if (given === undefined) showHashKey(tools, both.HASH_KEY);
    return { dialer: both, api: both };
  }
  if (given === undefined) {
    throw new DeployError(
      `The ledger holds calls or orders, but ${lacking.map((one) => target.workers[one]).join(" and ")} ` +
        "lost its HASH_KEY, which keys the do-not-call list. Run this again with HASH_KEY in the environment, from where " +
        "you keep it. If it is lost, make a new one (docs/deploy-cloudflare.md, Keep HASH_KEY): the do-not-call list " +
        "must then be sent again before anybody is dialed.",
    );
  }
  return Object.fromEntries(lacking.map((one) => [one, { HASH_KEY: given }]));
}

/** Finds the API's address in the output of `wrangler deploy`, which lists a custom domain or a route by its host. */
function addressIn(output: string): string {
  const found =
    /https:\/\/\S+\.workers\.dev/.exec(output)?.[0] ??
    /^ {2}((?:[\w-]+\.)+[a-z]{2,})(?:\/\*)?(?: \(.*)?$/m
      .exec(output)?.[1]
      ?.replace(/^/, "https://");
  if (found === undefined) {
    throw new DeployError(
      "Deployed, but wrangler named no address: set workers_dev or a custom domain in wrangler.toml and run this again.",
    );
  }
  return found;
}
