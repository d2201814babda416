import * as z from "#shared/lib/zod.ts";
import { parseJson, wrangler, wranglerUnless } from "./cloudflare-wrangler.ts";
import { withSecretsLease } from "./cloudflare-lease.ts";
import type { Target } from "./cloudflare-target.ts";
import { recordKeys, readKeyNames } from "./cloudflare-resources.ts";
import { type FunctionName, readersOf, type SecretStore } from "./secret-names.ts";
import { DeployError, type Tools } from "./tools.ts";

/** The dialer comes first: an API that accepts calls never stands beside a dialer without their HASH_KEY. */
const workersInOrder: readonly FunctionName[] = ["dialer", "api"];

/** Returns the names of each Worker's secrets; none for a Worker that is not there. */
export async function secretNamesOf(
  tools: Tools,
  { workers }: Target,
): Promise<Record<FunctionName, string[]>> {
  const namesOf = async (worker: FunctionName) => {
    const args = ["secret", "list", "--name", workers[worker]];
    const said = await wranglerUnless(/Worker ".*" not found/, tools, args);
    if (said === undefined) return [];
    const secrets = parseJson(z.array(z.object({ name: z.string() })), said);
    if (secrets === undefined) throw new DeployError(`wrangler ${args.join(" ")} said:\n${said}`);
    return secrets.map(({ name }) => name);
  };
  return { dialer: await namesOf("dialer"), api: await namesOf("api") };
}

/**
 * Sets secrets of each Worker, or deletes those that are null, all of one Worker in one request. They travel on stdin: no argument and no file
 * holds them. A Worker that is not there yet is created by it, empty.
 */
export async function putSecrets(
  tools: Tools,
  { workers }: Target,
  secrets: Partial<Record<FunctionName, Record<string, string | null>>>,
): Promise<void> {
  for (const worker of workersInOrder) {
    const values = secrets[worker] ?? {};
    if (Object.keys(values).length === 0) continue;
    await wrangler(tools, ["secret", "bulk", "--name", workers[worker]], JSON.stringify(values));
    for (const [name, value] of Object.entries(values)) {
      tools.print(`${value === null ? "Deleted" : "Set"} ${name} of ${workers[worker]}.`);
    }
  }
}

/**
 * The secrets of a deployment on Cloudflare, which shows none of them again. So each token has a secret of its
 * own, `API_TOKENS_CRM`, which is set and deleted without knowing the others.
 */
export function createCloudflareSecretStore(tools: Tools, target: Target): SecretStore {
  const byReader = <Value>(entries: [string, Value][]) =>
    Object.fromEntries(
      workersInOrder.map((worker) => [
        worker,
        Object.fromEntries(entries.filter(([name]) => readersOf(name).includes(worker))),
      ]),
    );
  const held: SecretStore = {
    async names() {
      const names = await secretNamesOf(tools, target);
      return [...new Set([...names.dialer, ...names.api])];
    },
    async set(values) {
      const { HASH_KEY } = values;
      // Before it is set: the next rotation reports it to whoever was cut off.
      if (HASH_KEY !== undefined) await recordKeys(tools, target, HASH_KEY);
      await putSecrets(tools, target, byReader(Object.entries(values)));
    },
    keyNames: () => readKeyNames(tools, target),
    async wholeNames() {
      const names = await secretNamesOf(tools, target);
      const isWhole = (one: string) =>
        readersOf(one).every((worker) => names[worker].includes(one));
      return [...new Set([...names.dialer, ...names.api])].filter(isWhole);
    },
    async remove(names) {
      const set = await secretNamesOf(tools, target);
      const removed = workersInOrder.map((worker) => [
        worker,
        Object.fromEntries(
          names.filter((one) => set[worker].includes(one)).map((one) => [one, null]),
        ),
      ]);
      await putSecrets(tools, target, Object.fromEntries(removed));
    },
  };
  const alone = <Value>(work: (store: SecretStore) => Promise<Value>) =>
    withSecretsLease(tools, target, { work: () => work(held) });
  return {
    ...held,
    alone,
    set(values) {
      // Two runs at once would leave each Worker with another value.
      const isShared = Object.keys(values).some((name) => readersOf(name).length > 1);
      return isShared ? alone((store) => store.set(values)) : held.set(values);
    },
  };
}
