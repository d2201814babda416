/**
 * `npm run events -- COMMAND …`: shows the receivers of events and replays events, through the operator's API of
 * the service at OUTBOUND_CALLS_URL; `test` posts an example to a receiver from this machine.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createClient } from "./calls/client.ts";
import { Failure, Misuse, Refusal } from "./calls/failures.ts";
import { listEvents, replayEvents } from "./events/operator-commands.ts";
import type { Surroundings } from "./events/surroundings.ts";
import { testReceiver } from "./events/test-receiver.ts";
import { complain, print } from "./print.ts";
import { readPlan } from "./providers/chosen-route.ts";

const usage = `npm run events -- COMMAND [OPTIONS]

  list                                  receivers of events: circuit breaker, oldest event that is due, tries exhausted
  list   --receiver RECEIVER [--limit N]
                                        calls and requests with events whose tries are exhausted; RECEIVER is a client, or *
  replay --client CLIENT --from TIME --until TIME [--types call.placed,call.ended] [--exhausted]
                                        delivers events of calls accepted in that time again, under the same ids;
                                        --exhausted: only those whose tries are exhausted
  test   [CLIENT] [--plan FILE]         posts one signed example from this machine to the receiver of a client's events

  --json   for scripts: one JSON value per line, of list and replay

Environment of list and replay: OUTBOUND_CALLS_URL, such as https://calls.example.com; OUTBOUND_CALLS_OPERATOR_TOKEN.
Of test: the receiver's secret, EVENTS_SECRET or EVENTS_<CLIENT>_SECRET. The plan is the service's, unless --plan names
another one: DIAL_PLAN, or infra/dial-plan.json; infra/local/dial-plan.json where OUTBOUND_CALLS_URL is this machine.
Exit code: 0 done; 1 the service failed; 2 wrong usage, or it refused, or a receiver did not answer 2xx.`;

const options = {
  receiver: { type: "string" },
  limit: { type: "string" },
  client: { type: "string" },
  from: { type: "string" },
  until: { type: "string" },
  types: { type: "string" },
  exhausted: { type: "boolean" },
  plan: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

/** Options of each command. */
const optionsOf: Record<string, string[]> = {
  list: ["receiver", "limit", "json"],
  replay: ["client", "from", "until", "types", "exhausted", "json"],
  test: ["plan"],
};

/** Runs one command and resolves to its exit code. */
export async function run(args: string[], surroundings: Surroundings): Promise<number> {
  try {
    const { values, positionals } = parse(args);
    const [command = "", client, ...others] = positionals;
    if (values.help === true || command === "") {
      surroundings.print(usage);
      return values.help === true ? 0 : 2;
    }
    const known = Object.hasOwn(optionsOf, command) ? optionsOf[command] : undefined;
    if (known === undefined) throw new Misuse(`There is no command ${command}.\n\n${usage}`);
    const strange = Object.keys(values).find((name) => !known.includes(name));
    if (strange !== undefined) throw new Misuse(`${command} has no option --${strange}.`);
    const isTest = command === "test";
    if (others.length > 0 || (client !== undefined && !isTest)) {
      throw new Misuse(`Wrong usage.\n\n${usage}`);
    }
    if (isTest) {
      const plan = await readPlan(values.plan, surroundings.environment);
      return await testReceiver(client, plan, surroundings);
    }
    const perform = command === "list" ? listEvents : replayEvents;
    return await perform(values, createClient(surroundings), surroundings);
  } catch (error) {
    if (!(error instanceof Failure || error instanceof Refusal)) throw error;
    surroundings.complain(error.message);
    return error instanceof Refusal ? 2 : 1;
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({ args: args, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : "wrong usage", { cause: error });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exitCode = await run(process.argv.slice(2), {
    environment: process.env,
    fetch,
    now: Date.now,
    print,
    complain,
    isInteractive: process.stderr.isTTY,
    sleep: (ms) => sleep(ms),
  });
}
