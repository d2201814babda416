/**
 * `npm run secrets`: sets a secret of a deployment, whose value comes on stdin or is asked for, so that no shell
 * keeps it and no file holds it; rotates HASH_KEY and EVENTS_KEY; lists the names of those that are set; makes the secret of a webhook.
 */
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { deploymentOptions, openSecretStore } from "./deploy/open-secret-store.ts";
import { retireEventsKey, rotateEventsKey } from "./deploy/events-key.ts";
import { rotateHashKey } from "./deploy/hash-key.ts";
import { createWebhookSecret, setSecret } from "./deploy/secret-commands.ts";
import { processTools as tools } from "./deploy/tools.ts";
import { printHelp } from "./help.ts";
import { complain, complainOf, print } from "./print.ts";

const usage = `npm run secrets -- set NAME [--platform cloudflare|aws] [--name NAME] [--replace]   the value on stdin
npm run secrets -- rotate HASH_KEY [--platform cloudflare|aws] [--name NAME]   on Cloudflare, the current one on stdin
npm run secrets -- rotate EVENTS_KEY [--platform cloudflare|aws] [--name NAME]
npm run secrets -- retire EVENTS_KEY [--platform cloudflare|aws] [--name NAME]
npm run secrets -- list [--platform cloudflare|aws] [--name NAME]
npm run secrets -- webhook

set: the value comes on stdin, or is asked for. rotate: adds a new key beside the current one. retire: deletes the former
key. list: the names of those that are set. webhook: makes a webhook's secret.`;

/** Asks for a value on the terminal, or reads it from stdin. */
const valueOf = async (name: string) =>
  (await tools.askSecret(name)) ?? (await text(process.stdin)).trim();

async function run(): Promise<void> {
  printHelp(usage);
  const { values, positionals } = parseArgs({
    options: { ...deploymentOptions, replace: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const [command, name, ...others] = positionals;
  if (others.length > 0)
    throw new Error("A secret's value is given on stdin, never as an argument.");
  if (command === "webhook") {
    print(createWebhookSecret());
  } else if (command === "list") {
    const names = await (await openSecretStore(tools, values)).names();
    for (const one of names.toSorted()) print(one);
  } else if (command === "rotate" && name === "HASH_KEY") {
    await rotateHashKey(tools, await openSecretStore(tools, values), () =>
      valueOf("The current HASH_KEY"),
    );
  } else if (command === "rotate" && name === "EVENTS_KEY") {
    await rotateEventsKey(tools, await openSecretStore(tools, values));
  } else if (command === "retire" && name === "EVENTS_KEY") {
    await retireEventsKey(tools, await openSecretStore(tools, values));
  } else if (command === "set" && name !== undefined) {
    const value = await valueOf(name);
    await setSecret(await openSecretStore(tools, values), name, {
      value,
      replaces: values.replace,
    });
  } else throw new Error("Wrong usage.");
}

try {
  await run();
} catch (error) {
  complainOf(error, true);
  complain(usage);
  process.exit(1);
}
