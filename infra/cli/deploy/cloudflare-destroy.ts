import { queuesOf, type Target, targetOf } from "./cloudflare-target.ts";
import { checkLogin, wranglerUnless } from "./cloudflare-wrangler.ts";
import { DeployError, type Tools } from "./tools.ts";

const absent = /Queue ".*" does not exist|No worker consumer|\[code: (10007|10090|11000)\]/;

/**
 * Commands that end a deployment: calls are let in no more first, and the queues go last, with what is on them. Cloudflare
 * deletes no Worker that consumes a queue.
 */
function deletions(target: Target): string[][] {
  const { workers, queue, eventsQueue, deadQueue, deadEventsQueue } = target;
  const withConsumers = (worker: string, queues: readonly string[]) => [
    ...queues.map((one) => ["queues", "consumer", "remove", one, worker]),
    ["delete", "--name", worker, "--force"],
  ];
  return [
    ...withConsumers(workers.api, [deadQueue, deadEventsQueue]),
    ...withConsumers(workers.dialer, [queue, eventsQueue]),
    ...queuesOf(target).map((one) => ["queues", "delete", one]),
  ];
}

/**
 * Deletes a deployment's Workers and queues. Its database and its bucket stay, as they hold calls.
 *
 * @throws DeployError without `yes`: then it only says what it would do
 */
export async function destroyOnCloudflare(
  tools: Tools,
  { name, yes }: { name?: string | undefined; yes?: boolean | undefined },
): Promise<void> {
  const target = targetOf(name);
  const { workers, database, bucket } = target;
  tools.print(
    [
      `Deletes the Workers ${workers.api} and ${workers.dialer} with all their secrets, HASH_KEY too, and the queues ` +
        `${queuesOf(target).join(", ")} with what is on them.`,
      `Keeps D1 ${database} and R2 ${bucket}, which hold calls. To delete them as well, once nobody needs them:`,
      `  npx wrangler d1 delete ${database}`,
      `  npx wrangler r2 bucket delete ${bucket}   (when it is empty)`,
      "A later deployment over this database needs -- --adopt, and the same HASH_KEY again.",
    ].join("\n"),
  );
  if (yes !== true) throw new DeployError("Nothing was deleted. Run it with -- --yes.");
  await checkLogin(tools);
  for (const args of deletions(target)) {
    const said = await wranglerUnless(absent, tools, args);
    tools.print(`${said === undefined ? "Was gone" : "Done"}: wrangler ${args.join(" ")}`);
  }
}
