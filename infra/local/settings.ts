import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { callbackSecrets, createCallbackKeys } from "#shared/dial-plan/callback-keys.ts";
import { parseDialPlan } from "#shared/dial-plan/parse-dial-plan.ts";
import { checkKeys, checkSecret } from "#shared/dial-plan/checks.ts";
import { receiverKeys, receiverSecret } from "#shared/dial-plan/receivers.ts";
import { headersVariable } from "#shared/traces/variables.ts";
import { malformedSecrets, missingSecrets, neededSecrets } from "#shared/dial-plan/secrets.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { readPublicUrl } from "#shared/settings/callback-url.ts";
import { complain, print } from "../cli/print.ts";
import { startEventPrinter } from "./print-events.ts";
import { createToken, parseNewTokens, tokenRights } from "#shared/settings/tokens.ts";
import localPlan from "./dial-plan.json" with { type: "json" };
import { type PlanOnStandIns, startStandIns } from "./provider-stand-ins.ts";

export const host = "127.0.0.1";
/** Interval of the local sweep; in the cloud it is a minute. */
export const sweepSeconds = 5;
/** Maximum time from a signal to the end of all child processes. */
const stopMsMax = 3_000;
/** The process that started this one, and the interval at which it is looked for. */
const parent = process.ppid;
const parentEveryMs = 250;

/** Settings of a local run, from its environment. */
export interface LocalSettings {
  port: number;
  stateDirectory: string;
  /** The functions' variables and secrets. */
  environment: Record<string, string>;
  /** Returns the tokens and the first command of README, for an address with its path prefix. */
  readyBlock(address: string): string;
}

/** Reads PORT, STATE_DIR and the functions' variables. Ends the process with one clear line if one is wrong. */
export async function readLocalSettings(defaults: {
  port: number;
  stateDirectory: string;
}): Promise<LocalSettings> {
  const given = process.env;
  const port = Number(given["PORT"] ?? defaults.port);
  await refuseTakenPort(port);
  const stateDirectory = stateDirectoryOf(given, defaults.stateDirectory);
  await mkdir(stateDirectory, { recursive: true });

  const environment: Record<string, string> = {
    DIAL_PLAN: given["DIAL_PLAN"] || (await localPlanWithEvents()),
    HASH_KEY: given["HASH_KEY"] || (await keyIn(stateDirectory, "hash-key")),
    EVENTS_KEY: given["EVENTS_KEY"] || (await keyIn(stateDirectory, "events-key")),
    ALLOW_SIMULATOR: "true",
    SWEEP_SECONDS: String(sweepSeconds),
    PUBLIC_URL: given["PUBLIC_URL"] || `http://${host}:${port}`,
    CLIENT_RIGHTS: "read,cancel,events,opt_out",
    LOOPBACK_RECEIVERS: "true",
    ...(given["RETRY_SPEED"] ? { RETRY_SPEED: given["RETRY_SPEED"] } : {}),
  };
  const made = given["API_TOKENS"] ? undefined : makeClientTokens();
  environment["API_TOKENS"] = given["API_TOKENS"] || (made?.entries ?? "");
  const madeOperator = given["OPERATOR_TOKENS"] ? undefined : createToken();
  environment["OPERATOR_TOKENS"] =
    given["OPERATOR_TOKENS"] || JSON.stringify([{ id: "local", sha256: madeOperator?.sha256 }]);
  let standIns: PlanOnStandIns | undefined;
  try {
    parseNewTokens(environment["API_TOKENS"]);
    parseNewTokens(environment["OPERATOR_TOKENS"], "OPERATOR_TOKENS");
    readPublicUrl(environment);
    standIns = await standInsOf(given["PROVIDER_STANDINS"], environment["DIAL_PLAN"] ?? "");
    if (standIns !== undefined) environment["DIAL_PLAN"] = standIns.plan;
    // The made-up credentials come last, so that no real one is sent to a stand-in.
    Object.assign(environment, secretsOf(environment, { ...given, ...standIns?.secrets }));
    Object.assign(environment, standIns?.secrets);
  } catch (error) {
    fail(error instanceof Error ? error.message : "The settings are unreadable.");
  }

  const operatorToken = madeOperator?.token ?? "$OPERATOR_TOKEN";
  return {
    port,
    stateDirectory,
    environment,
    readyBlock: (address) => `
Outbound Calls is ready at ${address}
Dialing: ${dialingOf(given, standIns)}; state: ${stateDirectory}
Token: ${made?.token ?? "one of API_TOKENS"}
${made === undefined ? "" : `Test token: ${made.testToken}, for the numbers of docs/sandbox.md\n`}
Operator: ${address}/operator, token ${operatorToken}; or
OUTBOUND_CALLS_URL=${address} OUTBOUND_CALLS_OPERATOR_TOKEN=${operatorToken} npm run calls -- stats

${made === undefined ? "" : `export TOKEN=${made.token}\n`}${firstCommand(address)}
`,
  };
}

/**
 * Returns the folder of a run's state. Calls that wait for the simulator or for stand-ins must not be dialed by a later run
 * with a real plan, nor the other way round.
 */
export function stateDirectoryOf(
  given: Record<string, string | undefined>,
  directory: string,
): string {
  const isSimulated = !given["DIAL_PLAN"];
  const isOfStandIns = given["PROVIDER_STANDINS"] === "true";
  const own = isOfStandIns ? "stand-ins" : isSimulated ? "simulated" : "";
  return resolve(given["STATE_DIR"] ?? join(directory, own));
}

/** Returns the first command of README's quickstart, for this service. */
function firstCommand(address: string): string {
  return `curl -i ${address}/v1/calls \\
  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '{"phone_number": "+12025550123", "agent_id": "agent_sales",
       "context": {"first_name": "Ada"}, "timezone": "America/New_York"}'`;
}

/** Makes a token, and one for test calls, of one client. */
function makeClientTokens(): { token: string; testToken: string; entries: string } {
  const [real, test] = [createToken(), createToken()];
  const local = { client: "local", rights: tokenRights };
  const entries = JSON.stringify([
    { id: "local", sha256: real.sha256, ...local },
    { id: "local-test", sha256: test.sha256, ...local, mode: "test" },
  ]);
  return { token: real.token, testToken: test.token, entries };
}

/** Returns the plan of this machine, whose events a receiver here prints. */
async function localPlanWithEvents(): Promise<string> {
  const url = await startEventPrinter(host);
  return JSON.stringify({ ...localPlan, events: { "*": { url } } });
}

/** Starts the stand-ins if `PROVIDER_STANDINS` asks for them. @throws if it is neither true nor false */
async function standInsOf(
  asked: string | undefined,
  plan: string,
): Promise<PlanOnStandIns | undefined> {
  if (!["true", "false", "", undefined].includes(asked)) {
    throw new Error("PROVIDER_STANDINS must be true or false.");
  }
  if (asked !== "true") return undefined;
  return startStandIns(plan, { host, print });
}

/** Returns the secrets that the dial plan needs or may use. @throws if the plan or one of them is wrong */
function secretsOf(
  environment: Record<string, string>,
  given: Record<string, string | undefined>,
): Record<string, string> {
  const plan = parseDialPlan(undefined, environment, routeKinds);
  const missing = missingSecrets(plan, given, routeKinds);
  if (missing.length > 0) {
    throw new Error(`The dial plan needs ${missing.join(", ")} in the environment.`);
  }
  const malformed = malformedSecrets(plan, given, routeKinds);
  if (malformed.length > 0) {
    throw new Error(`${malformed.join(", ")} must be printable ASCII without spaces.`);
  }
  receiverKeys(plan, given);
  checkKeys(plan, given);
  const callbackKeyOf = createCallbackKeys(plan, given, routeKinds);
  for (const { provider, account } of Object.values(plan.agents)) {
    if (provider === "webhook") callbackKeyOf(account);
  }
  // A webhook, a receiver or a check on this machine needs no secret, and one that is given signs and verifies.
  const ofReceivers = Object.keys(plan.events ?? {}).map(receiverSecret);
  const ofChecks = Object.keys(plan.checks ?? {}).map(checkSecret);
  const ofProviders = [...neededSecrets(plan, false, routeKinds), ...callbackSecrets(plan)];
  const ofTraces = plan.traces === undefined ? [] : [headersVariable];
  const names = [...ofProviders, ...ofReceivers, ...ofChecks, ...ofTraces];
  return Object.fromEntries(names.map((name) => [name, given[name] ?? ""]));
}

function dialingOf(
  given: Record<string, string | undefined>,
  standIns: PlanOnStandIns | undefined,
): string {
  if (standIns !== undefined) {
    return `stand-ins of ${standIns.accounts.join(", ")}, nobody is phoned`;
  }
  return given["DIAL_PLAN"] ? "as DIAL_PLAN says" : "simulated, nobody is phoned";
}

/** Ends the process with one line that says what to do. */
export function fail(line: string): never {
  complain(line);
  process.exit(1);
}

/**
 * Calls `stop` at the first signal, or once npm was killed, and ends the process when it is done or takes too long. A
 * process started without npm outlives its parent, as a shell may end before what it started.
 */
export function stopAtSignal(stop: () => Promise<void>): void {
  let stopping = false;
  const end = async () => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => process.exit(0), stopMsMax).unref();
    await stop();
    process.exit(0);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void end());
  if (process.env["npm_lifecycle_event"] === undefined) return;
  setInterval(() => {
    if (process.ppid !== parent) void end();
  }, parentEveryMs).unref();
}

async function refuseTakenPort(port: number): Promise<void> {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) fail("PORT must be 1 to 65535.");
  await new Promise<void>((free) => {
    const probe = createServer()
      .once("error", () => fail(`Port ${port} is taken: set PORT to another one.`))
      .once("listening", () => probe.close(() => free()))
      .listen(port, host);
  });
}

/** Returns a key kept in the state folder, so that hashes of numbers stay the same after a restart. */
async function keyIn(stateDirectory: string, name: string): Promise<string> {
  const path = join(stateDirectory, name);
  await writeFile(path, randomBytes(32).toString("hex"), { flag: "wx", mode: 0o600 }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    },
  );
  return (await readFile(path, "utf8")).trim();
}
