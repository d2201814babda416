import { execFile } from "node:child_process";
import { cp, readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createToken } from "#shared/settings/tokens.ts";
import { postCalls, toEnvironment } from "../support/open-service.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  freePort,
  makeStateDirectory,
  type PlatformUnderTest,
  type RunningService,
  startService,
  until,
} from "../support/service.ts";
import {
  callBack,
  otherSecret,
  type ReceivedCall,
  sharedSecret,
} from "../support/webhook-callbacks.ts";

const root = resolve(import.meta.dirname, "../..");
const operator = createToken();
const second = 1_000;

/** Returns the text of the runbook: both pages that tell an operator what to do. */
async function runbook(): Promise<string> {
  const pages = ["docs/incidents.md", "docs/operators.md"];
  const texts = await Promise.all(pages.map((page) => readFile(join(root, page), "utf8")));
  return texts.join("\n");
}

/** Returns the commands that a text names, as they are printed. */
const commandsIn = (text: string) =>
  [...text.matchAll(/`(npm run [^`]+)`/g)].map(([, one = ""]) => one);

/** Returns the commands that the list of alarms gives for an event. */
async function commandsFor(event: string): Promise<string[]> {
  const row = (await runbook())
    .split("\n")
    .find((line) => line.startsWith("- `") && line.split(":")[0]?.includes(`\`${event}\``));
  return commandsIn(row?.split("**Do**").at(-1) ?? "");
}

/** Returns the commands of a section. */
async function commandsUnder(title: string): Promise<string[]> {
  const [, section = ""] = (await runbook()).split(`\n## ${title}\n`);
  return commandsIn(section.split("\n## ")[0] ?? "");
}

/** Returns the one of some commands that contains a word. */
function withWord(commands: readonly string[], word: string): string {
  const found = commands.find((one) => one.includes(word));
  if (found === undefined)
    throw new Error(`the runbook has no command with ${word}: ${commands.join("; ")}`);
  return found;
}

/** Describes an operator who follows the runbook's commands after each of eight alarms, on any platform. */
export function describeAlarmDrill(platform: PlatformUnderTest): void {
  describe(`${platform.script} with an operator who follows the runbook`, () => {
    let receiver: Awaited<ReturnType<typeof startReceiver>>;
    let directory: Awaited<ReturnType<typeof makeStateDirectory>>;
    let port: number;
    let service: RunningService;
    /** Output of the service before its latest start. */
    let printedBefore = "";
    let isFixed = false;
    let copiedAt = "";

    const agent = (name: string, more: object = {}) => ({
      [name]: { provider: name, url: `${receiver.url}/${name}`, ...more },
    });
    /** An hour that is not now: half a day from it, in UTC. */
    const farHour = String((new Date().getUTCHours() + 12) % 24).padStart(2, "0");
    const shut = { "mon-sun": [`${farHour}:00-${farHour}:30`] };
    /** The whole plan, without the agent and the receiver that somebody forgets in a later version. */
    const planWithout = (isForgotten: boolean) => ({
      agents: {
        ...agent("doubt"),
        ...agent("told"),
        ...agent("refused"),
        ...(isForgotten ? {} : agent("gone", { callingHours: "shut" })),
      },
      providers: Object.fromEntries(
        ["doubt", "told", "refused", "gone"].map((name) => [name, { type: "webhook" }]),
      ),
      ...(isForgotten ? {} : { events: { "*": { url: `${receiver.url}/events` } } }),
      callingHours: { default: "always", shut },
      results: {},
    });
    const secrets = Object.fromEntries(
      ["DOUBT", "TOLD", "REFUSED", "GONE"].map((name) => [`${name}_SECRET`, sharedSecret]),
    );
    async function start(plan: object, more: Record<string, string> = secrets): Promise<void> {
      const environment = {
        PORT: String(port),
        PUBLIC_URL: `http://127.0.0.1:${port}${platform.prefix}`,
        OPERATOR_TOKENS: JSON.stringify([{ id: "ops", sha256: operator.sha256 }]),
        EVENTS_SECRET: sharedSecret,
        ...more,
      };
      service = await startService(platform, toEnvironment({ plan, environment }), directory.path);
    }
    async function startAnew(...words: Parameters<typeof start>): Promise<void> {
      await service.end("SIGTERM");
      printedBefore += service.output();
      await start(...words);
    }

    /** Returns the alarms of an event that this start of the service has raised. */
    const alarms = (event: string) =>
      service
        .output()
        .split("\n")
        .filter((line) => line.includes(`"${event}"`) && line.includes('"level":"alarm"'));
    const raised = (event: string) => until(() => alarms(event).length > 0, { everyMs: 250 });
    /** Returns a field of the latest alarm. */
    const fieldOf = (event: string, field: string) =>
      new RegExp(`"${field}":"((?:[^"\\\\]|\\\\.)*)"`).exec(alarms(event).at(-1) ?? "")?.[1] ?? "";

    /** Runs a command of the runbook, with its placeholders filled in, in a shell. @throws if it exits with a failure */
    async function follow(command: string, values: Record<string, string> = {}): Promise<string> {
      let filled = command;
      for (const [name, value] of Object.entries(values)) filled = filled.replaceAll(name, value);
      const { stdout } = await promisify(execFile)("sh", ["-c", filled], {
        cwd: root,
        env: {
          ...process.env,
          OUTBOUND_CALLS_URL: service.address,
          OUTBOUND_CALLS_OPERATOR_TOKEN: operator.token,
        },
      });
      return stdout;
    }

    async function post(agent_id: string): Promise<string> {
      const call = { phone_number: "+13035550199", agent_id, timezone: "UTC" };
      return `call_${await postCalls(service, call)}_00000`;
    }
    const rowOf = async (id: string) => (await platform.rows(service)).find((row) => row.id === id);
    const stateOf = async (id: string) => (await rowOf(id))?.state;
    const comesTo = (id: string, state: string) =>
      until(async () => (await stateOf(id)) === state, { everyMs: 500 });
    const requestFor = (id: string): ReceivedCall => {
      const found = receiver.received.find((one) => one.id === id);
      if (found === undefined) throw new Error(`there was no request for ${id}`);
      return JSON.parse(found.text);
    };

    beforeAll(async () => {
      directory = await makeStateDirectory();
      port = await freePort();
      receiver = await startReceiver(({ path }, response) => {
        const status = { "/doubt": 403, "/refused": 401, "/events": 503 }[path] ?? 200;
        response.writeHead(isFixed ? 200 : status).end("{}");
      });
      await start(planWithout(false));
    });
    afterAll(async () => {
      await service.end("SIGTERM");
      await receiver.close();
      await directory.remove();
    });

    it("decides about a call that needs review", async () => {
      const id = await post("doubt");
      await raised("call.needs_review");
      for (const command of await commandsFor("call.needs_review")) {
        expect(await follow(command)).toContain(id);
      }
      const steps = await commandsUnder("A call that needs review");
      expect(await follow(withWord(steps, " show "), { ID: id })).toContain("http_403");
      await follow(withWord(steps, "--placed"), { ID: id });
      await comesTo(id, "PLACED");
    });

    it("closes a breaker once its cause is fixed", async () => {
      const id = await post("refused");
      await raised("breaker.opened");
      const commands = await commandsFor("breaker.opened");
      expect(await follow(withWord(commands, "pauses"))).toContain("http_401");
      isFixed = true;
      const KEY = JSON.parse(`"${fieldOf("breaker.opened", "breaker")}"`);
      await follow(withWord(commands, "--breaker"), { KEY: `'${KEY}'` });
      await comesTo(id, "PLACED");
      isFixed = false;
    });

    it("looks at a call for which two different ends were reported", async () => {
      const id = await post("told");
      await comesTo(id, "PLACED");
      const call = requestFor(id);
      const tells = (status: string) => callBack(call, { status, human: null });
      expect(await tells("completed")).toBe(204);
      // The queue keeps no order.
      await until(async () => (await rowOf(id))?.result?.status === "completed", { everyMs: 250 });
      await until(async () => (await tells("busy")) === 204);
      await raised("result.contradicted");
      for (const command of await commandsFor("result.contradicted")) {
        expect(await follow(command, { ID: id })).toContain("completed");
      }
    });

    it("looks at a redialed call that had been placed after all", async () => {
      const id = await post("doubt");
      await comesTo(id, "NEEDS_REVIEW");
      const steps = await commandsUnder("A call that needs review");
      // Nobody can be asked here.
      await follow(`${withWord(steps, "redial")} --yes`, { ID: id });
      expect(await callBack(requestFor(id), { status: "completed", human: null })).toBe(204);
      await raised("call.placed_late");
      for (const command of await commandsFor("call.placed_late")) {
        expect(await follow(command, { ID: id })).toContain("PLACED");
      }
    });

    it("restores an agent and a receiver that a new plan omits", async () => {
      const id = await post("gone");
      await comesTo(id, "WAITING");
      await service.end("SIGTERM");
      await keepLedger("copy");
      printedBefore += service.output();
      await start(planWithout(true));
      await raised("route.gone");
      expect(await follow(withWord(await commandsFor("route.gone"), "backlogs"))).toContain("gone");
      await raised("events.orphaned");
      await startAnew(planWithout(false));
      expect(await follow(withWord(await commandsFor("route.gone"), "backlogs"))).not.toContain(
        "route_gone",
      );
      expect(await stateOf(id)).toBe("WAITING");
      isFixed = true;
      const before = receiver.to("/events").length;
      await until(() => receiver.to("/events").length > before);
    });

    it("gives both sides a new secret where callbacks do not verify", async () => {
      const id = await post("told");
      await comesTo(id, "PLACED");
      const end = { status: "completed", human: null };
      expect(await callBack(requestFor(id), end, { secret: otherSecret })).toBe(401);
      await raised("callback.unverified");
      const made = await follow(withWord(await commandsFor("callback.unverified"), " webhook"));
      const [secret = ""] = /whsec_\S+/.exec(made) ?? [];
      await startAnew(planWithout(false), { ...secrets, TOLD_SECRET: secret });
      expect(await callBack(requestFor(id), end, { secret })).toBe(204);
    });

    it("confirms the time of a restored ledger, after which calls are dialed again", async () => {
      await service.end("SIGTERM");
      await keepLedger("back");
      printedBefore += service.output();
      await start(planWithout(false));
      await raised("ledger.restored");
      const noticedAt = Date.now();
      const [look = ""] = await commandsFor("ledger.restored");
      await follow(look);
      const confirm = withWord(await commandsUnder("Restoring the ledger"), "--at");
      await follow(confirm.replace(/--at \S+/, `--at ${copiedAt}`));
      await until(async () => (await follow(look)).includes("dialed again"), { everyMs: second });
      // A call that was accepted within a minute of it may be one that the restore took away.
      await until(() => Date.now() > noticedAt + 62 * second, { everyMs: second });
      const id = await post("told");
      await comesTo(id, "PLACED");
    });

    it("names nobody's number in the log", () => {
      const printed = printedBefore + service.output();
      expect(printed).toContain("call.placed");
      expect(printed).not.toMatch(/3035550199/);
    });

    /** Copies the ledger's files beside the service's, or back. */
    async function keepLedger(way: "copy" | "back"): Promise<void> {
      const kept = join(directory.path, "kept-ledger");
      const ledger = join(directory.path, platform.script === "start" ? "v3/d1" : "engines/dynamo");
      if (way === "copy") copiedAt = new Date().toISOString();
      const [from, to] = way === "copy" ? [ledger, kept] : [kept, ledger];
      await rm(to, { recursive: true, force: true });
      await cp(from, to, { recursive: true });
    }
  });
}
