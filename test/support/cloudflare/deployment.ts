import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeEach, expect } from "vitest";
import { type DeployOptions, deployToCloudflare } from "#infra/cli/deploy/cloudflare-deploy.ts";
import type { Ran, Tools } from "#infra/cli/deploy/tools.ts";
import { deployedPlan } from "../deployed-plan.ts";
import { type FakeCloudflare, startCloudflare } from "./account.ts";
import { copyOf, type Holdings } from "./holdings.ts";

const root = resolve(import.meta.dirname, "../../..");
const wrangler = join(root, "node_modules/.bin/wrangler");

/** The secret that the dial plan needs, as a person gives it. */
export const webhookSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3";

/** An end of the process in the middle of its work. */
class Killed extends Error {}

/** A person at a terminal, who deploys. */
export interface Person {
  tools: Tools;
  printed: string[];
  /** Words of each command of wrangler. */
  ran: string[];
  /** Words of those that may change something. */
  changes(): string[];
  /** Statuses that the service answers. */
  answers: { health: number; withoutToken: number };
  deploy(options?: DeployOptions, plan?: unknown): Promise<void>;
  /** Ends the command that runs, as a person's Ctrl+C or a lost machine does. */
  kill(): void;
}

/** A deployment to an account of Cloudflare on this machine, by the real wrangler. */
export interface Deployment {
  account: FakeCloudflare;
  /** Requests that changed something, in order. */
  changes(): string[];
  /** Has a person's command cut off before or after the nth request that changes something. */
  cutOff(person: Person, number: number, moment: "before" | "after"): void;
  /** Runs after each request that changes something. */
  onChange(told: (() => void) | undefined): void;
  person(): Person;
  /** Has the account hold a whole service, as a first deployment leaves it. */
  stand(): Promise<void>;
}

/** Beginnings of the commands that only read. */
const readers = [
  "whoami",
  "auth token",
  "d1 list",
  "d1 execute",
  "r2 bucket lifecycle list",
  "secret list",
];
const isReading = (words: string) =>
  readers.some((reader) => words.startsWith(reader)) || words.includes("--dry-run");
/** Content of an account after a first deployment, once one has run. */
let standing: Promise<Holdings> | undefined;

const isChange = (asked: string) => !asked.startsWith("GET ") && !asked.endsWith("/query");

/** Prepares an account before each test. */
export function useDeployment(): () => Deployment {
  const home = mkdtempSync(join(tmpdir(), "outbound-calls-"));
  let current: Deployment | undefined;
  beforeEach(async () => {
    const account = await startCloudflare();
    const changes = () => account.endpoint.asked.filter(isChange);
    current = {
      account,
      changes,
      cutOff(person, number, moment) {
        const begun = changes().length;
        account.endpoint.cut = (asked, at) => {
          const isIt = isChange(asked) && changes().length === begun + number && at === moment;
          if (isIt) person.kill();
          return isIt;
        };
      },
      onChange(told) {
        account.endpoint.cut = (asked, at) => {
          if (isChange(asked) && at === "after") told?.();
          return false;
        };
      },
      person: () => personOn(account, home),
      async stand() {
        standing ??= personOn(account, home)
          .deploy()
          .then(() => copyOf(account));
        Object.assign(account, copyOf(await standing));
        account.endpoint.asked = [];
      },
    };
  });
  afterEach(() => {
    current?.account.endpoint.stop();
    expect(current?.account.unknown).toEqual([]);
  });
  afterAll(() => rmSync(home, { recursive: true }));
  return () => {
    if (current === undefined) throw new Error("no test runs");
    return current;
  };
}

function personOn(account: FakeCloudflare, home: string): Person {
  let running: ChildProcess | undefined;
  let isKilled = false;
  const environment = {
    ...account.environment,
    WEBHOOK_SECRET: webhookSecret,
  };
  const person: Person = {
    printed: [],
    ran: [],
    changes: () => person.ran.filter((words) => !isReading(words)),
    answers: { health: 200, withoutToken: 401 },
    kill() {
      isKilled = true;
      running?.kill("SIGKILL");
    },
    deploy: (options = {}, plan = deployedPlan) => deployToCloudflare(person.tools, plan, options),
    tools: {
      environment,
      async run(_, args, { input } = {}): Promise<Ran> {
        person.ran.push(args.join(" "));
        const child = spawn(wrangler, args, {
          cwd: root,
          env: {
            PATH: process.env["PATH"],
            HOME: home,
            NODE_COMPILE_CACHE: join(root, "dist/compile-cache"),
            ...person.tools.environment,
            FORCE_COLOR: "0",
            WRANGLER_HIDE_BANNER: "true",
            WRANGLER_SEND_METRICS: "false",
          },
        });
        running = child;
        const ran: Ran = { code: 0, stdout: "", stderr: "" };
        child.stdout.on("data", (chunk: Buffer) => (ran.stdout += chunk.toString()));
        child.stderr.on("data", (chunk: Buffer) => (ran.stderr += chunk.toString()));
        child.stdin.end(input ?? "");
        ran.code = await new Promise((ended) => child.once("close", (code) => ended(code ?? 1)));
        if (isKilled) throw new Killed();
        return ran;
      },
      fetch(asked, init) {
        const { url } = new Request(asked, init);
        if (url.startsWith(account.endpoint.url)) return fetch(asked, init);
        const { health, withoutToken } = person.answers;
        const status = url.endsWith("/healthz") ? health : withoutToken;
        return Promise.resolve(new Response(null, { status }));
      },
      print: (line) => void person.printed.push(line),
      ask: () => Promise.resolve(undefined),
      askSecret: () => Promise.resolve(undefined),
    },
  };
  return person;
}

/** Expects one whole service. */
export function expectWhole({ account }: Deployment): void {
  const { queues, databases, buckets, scripts } = account;
  const consumersOf = (name: string) => queues.get(name)?.consumers.map(({ script }) => script);
  expect(
    [...queues].map(([name, { settings }]) => [
      name,
      settings["message_retention_period"],
      consumersOf(name),
    ]),
  ).toEqual([
    ["outbound-calls", 1_209_600, ["outbound-calls-dialer"]],
    ["outbound-calls-dead", 1_209_600, ["outbound-calls-api"]],
    ["outbound-calls-events", 1_209_600, ["outbound-calls-dialer"]],
    ["outbound-calls-events-dead", 1_209_600, ["outbound-calls-api"]],
  ]);
  expect([[...databases.keys()], [...buckets.keys()]]).toEqual([
    ["outbound-calls"],
    ["outbound-calls"],
  ]);
  expect(buckets.get("outbound-calls")?.rules).toMatchObject([
    { id: "expire-messages", enabled: true },
    { id: "expire-dead-letters", enabled: true },
  ]);
  const [api, dialer] = ["api", "dialer"].map((one) => scripts.get(`outbound-calls-${one}`));
  expect(api?.secrets.get("HASH_KEY")).toMatch(/^[0-9a-f]{64}$/);
  expect(dialer?.secrets.get("HASH_KEY")).toBe(api?.secrets.get("HASH_KEY"));
  expect(api?.secrets.get("EVENTS_KEY")).toMatch(/^[0-9a-f]{64}$/);
  expect(dialer?.secrets.get("EVENTS_KEY")).toBe(api?.secrets.get("EVENTS_KEY"));
  expect([...(api?.secrets.keys() ?? [])].toSorted()).toEqual([
    "API_TOKENS_FIRST",
    "EVENTS_KEY",
    "HASH_KEY",
    "WEBHOOK_SECRET",
  ]);
  expect([api?.subdomain, dialer?.subdomain]).toEqual([
    { enabled: true, previews_enabled: false },
    { enabled: false, previews_enabled: false },
  ]);
  // wrangler only warns if it cannot change these.
  for (const script of [api, dialer]) {
    expect(script?.settings).toMatchObject({
      logpush: false,
      tail_consumers: [],
      observability: { head_sampling_rate: 1, logs: { invocation_logs: false } },
    });
    expect(script?.versions.at(-1)).toMatchObject({ limits: { subrequests: 10_000 } });
  }
}
