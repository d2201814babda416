/**
 * `npm run providers -- check ACCOUNT --to NUMBER`: makes one real call through an account of the dial plan, looks
 * it up, and says what each answer means. The account's secrets are read from the environment.
 * `npm run providers -- callback ACCOUNT` prints the address that takes all callbacks of an account.
 */
import { toAccountName } from "#shared/calls/ids.ts";
import { createRouteTable, findAccountType } from "#shared/dial-plan/route-table.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { createInterface } from "node:readline/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { mayBeCalled } from "#shared/dial-plan/dial-plan.ts";
import { callbackAddress, readPublicUrl } from "#shared/settings/callback-url.ts";
import { readHashKeys } from "#shared/settings/settings.ts";
import { isE164 } from "#shared/telephony/phone-number.ts";
import { maskedNumber } from "../stand-ins/describe-exchange.ts";
import { Failure } from "./calls/failures.ts";
import { checkAccount, providerOf } from "./providers/check-account.ts";
import { chosenRoute, readPlan } from "./providers/chosen-route.ts";
import type { Surroundings } from "./providers/surroundings.ts";
import * as output from "./print.ts";

const usage = `npm run providers -- check ACCOUNT --to NUMBER [OPTIONS]

  Makes one call through an account of the dial plan, and looks it up. The phone really rings.

  --to NUMBER   the number of a phone of your own, E.164; required
  --agent AGENT the agent whose route is used; required if the account has several routes
  --plan FILE   the dial plan; default: the service's, which is DIAL_PLAN, or infra/dial-plan.json;
                infra/local/dial-plan.json where OUTBOUND_CALLS_URL is this machine
  --yes         does not ask first

npm run providers -- callback ACCOUNT [--plan FILE]

  Prints the address to which a provider reports how the calls of an account ended (docs/results.md).

Environment of check: the account's secrets, such as VAPI_API_KEY (docs/providers.md), and, to send the address for
callbacks too where the plan has results, PUBLIC_URL and HASH_KEY of the deployment; of callback: these two.
Exit code: 0 placed and found; 1 wrong usage, nothing was sent; 2 not placed, or not found.`;

const options = {
  to: { type: "string" },
  agent: { type: "string" },
  plan: { type: "string" },
  yes: { type: "boolean" },
  help: { type: "boolean" },
} as const;

/** Runs the command and resolves to its exit code. */
export async function run(args: string[], surroundings: Surroundings): Promise<number> {
  try {
    const { values, positionals } = parse(args);
    const [command, account, ...others] = positionals;
    if (values.help === true || command === undefined) {
      surroundings.print(usage);
      return values.help === true ? 0 : 1;
    }
    if (account !== undefined && others.length === 0) {
      if (command === "check") return await check(account, values, surroundings);
      if (command === "callback") return await printCallbackAddress(account, values, surroundings);
    }
    throw new Failure(`Wrong usage.\n\n${usage}`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    surroundings.complain(error.message);
    return 1;
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({ args: args, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : "wrong usage", { cause: error });
  }
}

async function printCallbackAddress(
  account: string,
  values: ReturnType<typeof parse>["values"],
  { environment, print }: Surroundings,
): Promise<number> {
  const plan = await readPlan(values.plan, environment);
  const type = findAccountType(toAccountName(account), plan);
  if (type === undefined) throw new Failure(`The dial plan has no account ${account}.`);
  if (type === "webhook") {
    throw new Failure(
      "Each request to a webhook has a callback_url of its own: an account has none.",
    );
  }
  if (plan.results === undefined) {
    throw new Failure("The dial plan has no results, so no callback is accepted.");
  }
  try {
    const publicUrl = readPublicUrl(environment);
    if (publicUrl === undefined) throw new Error("PUBLIC_URL is not set");
    print(callbackAddress(publicUrl, { account, hashKey: readHashKeys(environment).current }));
    return 0;
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : "wrong settings", { cause: error });
  }
}

async function check(
  account: string,
  values: ReturnType<typeof parse>["values"],
  surroundings: Surroundings,
): Promise<number> {
  const plan = await readPlan(values.plan, surroundings.environment);
  const { agentId, route } = chosenRoute(plan, account, values.agent);
  if (route.provider === "simulator") throw new Failure("The simulator phones nobody.");
  const phoneNumber = values.to;
  if (phoneNumber === undefined) throw new Failure("--to is required: a number of your own.");
  if (!isE164(phoneNumber)) throw new Failure("--to must be an E.164 number such as +12025550123.");
  if (!mayBeCalled({ phone_number: phoneNumber }, plan)) {
    throw new Failure("The dial plan's destinations do not permit calls to that number.");
  }
  const provider = providerOf(route, surroundings);
  const callbacks = plan.results && readCallbackSettings(surroundings);
  const shown = maskedNumber(phoneNumber);
  surroundings.print(
    `This phones ${shown} through ${account} (${route.provider}), by the route of ${agentId}.`,
  );
  surroundings.print("It really rings, at whatever hour it is there, and may cost money.");
  if (values.yes !== true) {
    const isWanted = await surroundings.confirm("Is it a phone of your own, and may it ring now?");
    if (isWanted === undefined) throw new Failure("Nobody can be asked here: add --yes.");
    if (!isWanted) throw new Failure("Nothing was sent.");
  }
  const timeoutSeconds = createRouteTable(plan, routeKinds).account(route).timeoutSeconds;
  const wanted = { agentId, route, phoneNumber, timeoutSeconds, callbacks };
  const isGood = await checkAccount(provider, wanted, surroundings);
  return isGood ? 0 : 2;
}

/** Returns the settings by which the dialer makes the addresses for callbacks, where the deployment's are there. */
function readCallbackSettings({ environment, print }: Surroundings) {
  const { PUBLIC_URL, HASH_KEY } = environment;
  if (!PUBLIC_URL || !HASH_KEY) {
    print("The request carries no address for callbacks: PUBLIC_URL and HASH_KEY are not set.");
    return undefined;
  }
  try {
    const { current: hashKey } = readHashKeys(environment);
    return { publicUrl: readPublicUrl(environment) ?? "", hashKey };
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : "wrong settings", { cause: error });
  }
}

/** Asks on the terminal; anything but y or yes is a no. */
async function confirm(question: string): Promise<boolean | undefined> {
  if (!process.stdin.isTTY) return undefined;
  const asked = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await asked.question(`${question} [y/N] `).finally(() => asked.close());
  return /^y(es)?$/i.test(answer.trim());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exitCode = await run(process.argv.slice(2), {
    environment: process.env,
    fetch,
    now: Date.now,
    pause: (seconds) => new Promise((over) => setTimeout(over, seconds * 1000)),
    print: output.print,
    complain: output.complain,
    confirm,
  });
}
