import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, onTestFinished } from "vitest";
import { run } from "#infra/cli/events.ts";
import { readPlan } from "#infra/cli/providers/chosen-route.ts";
import { pendingOf, exhaustedOf } from "#shared/events/outbox-rows.ts";
import { startTestReceiver } from "#test/support/test-receiver.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { apiEnvironment, testPlan, tokens } from "#test/support/environment.ts";
import type { startReceiver } from "#test/support/receiver.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";

const url = "https://calls.example.com";
const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString("base64")}`;
type Surroundings = Parameters<typeof run>[1];

/** Runs the command with words, and returns what it has printed and its exit code. */
async function events(words: string[], more: Pick<Surroundings, "environment" | "fetch">) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(words, {
    ...more,
    now: Date.now,
    print: (line) => out.push(line),
    complain: (line) => err.push(line),
    isInteractive: false,
    sleep: async () => undefined,
  });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

/** Creates the command with a service in memory. */
function createBench(options?: Parameters<typeof createTestApi>[0]) {
  const { app, ledger, documents } = createTestApi(options);
  const environment = {
    OUTBOUND_CALLS_URL: url,
    OUTBOUND_CALLS_OPERATOR_TOKEN: tokens.operator,
  };
  const ask: typeof fetch = async (address, init) => {
    const { pathname, search } = new URL(new Request(address).url);
    return app.request(`${pathname}${search}`, init);
  };
  /** Puts calls into the ledger with an event whose tries are used up, a second apart. */
  async function exhausted(count: number, client = "told-ends") {
    const rows = Array.from({ length: count }, (_, n) => {
      const at = Date.now() - 60_000 + n * 10;
      const happened = { sequence: 1, state: "PLACED", reason: "placed", attempt: 1, at };
      const event = { ...happened, type: "call.ended", tries: 10, exhausted: true };
      const row = rowIn("PLACED", aCall({ client, acceptedAt: at }));
      return { ...row, events: [event], deliverTo: exhaustedOf(client), deliverAt: at };
    });
    await writeRows(rows, ledger, documents);
    return rows;
  }
  return {
    ledger,
    exhausted,
    events: (words: string) =>
      events(words.split(" ").filter(Boolean), { environment, fetch: ask }),
  };
}

const range = () => {
  const [from, until] = [-3_600_000, 1_000].map((ms) => new Date(Date.now() + ms).toISOString());
  return `--from ${from} --until ${until}`;
};

describe("npm run events", () => {
  it("lists receivers as a table for people, and a line of JSON each for scripts", async () => {
    const bench = createBench();
    await bench.exhausted(2);
    const { code, out } = await bench.events("list");
    expect(code).toBe(0);
    expect(out).toMatch(/told-all .* http:\/\/127\.0\.0\.1:9 .* closed/);
    expect(out).toMatch(/told-ends .* call\.ended .* 2\b/);
    expect(out).not.toContain("secret-path");
    const json = (await bench.events("list --json")).out.split("\n");
    expect(json.map((line): unknown => JSON.parse(line))).toMatchObject([
      { name: "told-all", breaker: null, exhausted_calls: 0 },
      { name: "told-ends", breaker: null, exhausted_calls: 2 },
    ]);
  });

  it("names clients' receivers that need the former EVENTS_KEY, until none does", async () => {
    const { app, documents } = createTestApi();
    const rotated = { ...apiEnvironment, EVENTS_KEY_2: "2".repeat(64) };
    const bench = createBench({ environment: rotated, documents });
    const told = async () => (await bench.events("list")).err;
    expect((await createBench().events("list")).err).toBe("");
    expect(await told()).toMatch(/No receiver needs.*secrets -- retire EVENTS_KEY/);
    const body = { url: "https://hooks.example.com/" };
    await app.request("/v1/receivers/main", jsonRequest(tokens.crmEvents, "PUT", body));
    expect(await told()).toMatch(/need the former EVENTS_KEY: main of client crm\. /);
  });

  it("lists what is used up of a receiver, page after page up to a limit", async () => {
    const bench = createBench();
    const rows = await bench.exhausted(250);
    const table = await bench.events("list --receiver told-ends --limit 1");
    expect(table.out).toMatch(/call\.ended of .*, 10 tries/);
    const { out } = await bench.events("list --receiver told-ends --limit 230 --json");
    const ids = out.split("\n").map((line): unknown => Object(JSON.parse(line)).id);
    expect(ids).toEqual(rows.slice(0, 230).map(({ id }) => id));
    expect((await bench.events("list --receiver told-all")).out).toBe("None.");
    const unknown = await bench.events("list --receiver crm");
    expect([unknown.code, unknown.err]).toEqual([2, "404 The dial plan has no such receiver."]);
  });

  it("replays events, answer after answer", async () => {
    const bench = createBench();
    const rows = await bench.exhausted(620);
    const replay = `replay --client told-ends ${range()}`;
    expect((await bench.events(`${replay} --types call.placed --exhausted`)).out).toMatch(/^0 /);
    expect(await bench.events(`${replay} --types call.placed,call.ended --exhausted`)).toEqual({
      code: 0,
      out: "620 events will be delivered again, at the receiver's pace.",
      err: "",
    });
    const { rows: now } = await bench.ledger.read(rows.map(({ id }) => id));
    for (const row of now.values()) expect(row.deliverTo).toBe(pendingOf("told-ends"));
    expect((await bench.events(`${replay} --json`)).out).toBe('{"replayed":0}');
  });

  it.each([
    ["", 2, /^$/],
    ["deliver", 2, /no command deliver/],
    ["list more", 2, /Wrong usage/],
    ["list --client crm", 2, /list has no option --client/],
    ["list --limit 5", 2, /--limit needs --receiver/],
    ["list --receiver told-all --limit x", 2, /--limit must be a number/],
    ["replay", 2, /needs --client, --from and --until/],
    ["replay --client told-all --from 2026-11-21T09:00:00Z", 2, /needs --client/],
    [
      "replay --client told-all --from yesterday --until today",
      2,
      /422[^]*\/from must be an instant/,
    ],
    ["test --plan nowhere.json", 1, /nowhere\.json cannot be read/],
    ["test --plan README.md", 1, /^README\.md is not JSON/],
    ["test a b", 2, /Wrong usage/],
    ["--nonsense", 2, /nonsense/],
  ])("answers %j with exit code %i and says why", async (words, code, message) => {
    const failed = await createBench().events(words);
    expect(failed.code).toBe(code);
    expect(failed.err).toMatch(message);
  });
});

describe("npm run events -- test", () => {
  /** Starts a receiver, and writes a plan by which it is told. */
  async function createReceiver(
    answer: Parameters<typeof startReceiver>[0],
    plan: (target: string) => object = (target) => ({ "*": { url: target, echo: ["lead_id"] } }),
  ) {
    const receiver = await startTestReceiver(answer);
    const directory = await mkdtemp(join(tmpdir(), "outbound-calls-events-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const path = join(directory, "plan.json");
    const target = `${receiver.url}/events?key=oc_secret`;
    const text = JSON.stringify({ ...testPlan, events: plan(target) });
    await writeFile(path, text);
    const test = async (words = "", environment = {}) => {
      const all = ["test", ...words.split(" ").filter(Boolean), "--plan", path];
      const ended = await events(all, { environment, fetch });
      expect(ended.out + ended.err).not.toMatch(/oc_secret|whsec_\w{20}/);
      return ended;
    };
    return { received: receiver.received, test, plan: text };
  }

  it("posts one example, signed with each secret, that nobody takes for a call", async () => {
    const { received, test } = await createReceiver((_request, response) =>
      response.end("ok\u001b[2J"),
    );
    const secrets = [secretOf(7), secretOf(8)];
    const { code, out } = await test("", { EVENTS_SECRET: secrets.join() });
    expect([code, received.length]).toEqual([0, 1]);
    expect(out).toMatch(/^Answer 200 after \d+ ms:\nok\\u001b\[2J$/m);
    const [example] = received;
    const signed = Object.fromEntries(
      ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [
        name,
        String(example?.headers[name]),
      ]),
    );
    for (const secret of secrets) {
      expect(new Webhook(secret).verify(example?.text ?? "", signed)).toMatchObject({
        type: "call.ended",
        data: {
          test: true,
          id: expect.stringMatching(/^call_EXAMPLE[0-9A-Z]{19}_00000$/),
          request_id: expect.stringMatching(/^EXAMPLE/),
          agent_id: "agent_example",
          state: "PLACED",
          result: { status: "completed", seconds: 60 },
          echo: { lead_id: "example" },
        },
      });
    }
    expect(signed["webhook-id"]).toMatch(/^call_EXAMPLE[0-9A-Z]{19}_00000\.1$/);
    expect(out).toContain(signed["webhook-id"]);
    await test();
    expect(received[1]?.headers["webhook-id"]).not.toBe(signed["webhook-id"]);
    expect(received[1]?.headers).not.toHaveProperty("webhook-signature");
  });

  it.each([
    [302, /^Answer 302 [^]*no redirect is followed/],
    [410, /^Answer 410 [^]*it must answer 2xx/],
    [500, /^Answer 500 /],
  ])("exits with 2 if the answer is %i", async (status, line) => {
    const { received, test } = await createReceiver((_request, response) =>
      response.writeHead(status, { location: "/else" }).end("x".repeat(5000)),
    );
    const { code, out } = await test();
    expect([code, received.length]).toEqual([2, 1]);
    const [, ...rest] = out.split("\n");
    expect(rest.join("\n")).toMatch(line);
    expect(out).toMatch(/^x{1024}$/m);
  });

  it("exits with 2 if no answer comes", async () => {
    const { test } = await createReceiver((_request, response) => response.destroy());
    const { code, out } = await test();
    expect(code).toBe(2);
    expect(out).toMatch(/^No answer after \d+ ms: /m);
  });

  it("takes the plan of DIAL_PLAN, as the service does, unless another one is named", async () => {
    const { received, test, plan } = await createReceiver((_request, response) => response.end());
    const elsewhere = JSON.stringify({
      ...testPlan,
      events: { "*": { url: "https://shop.example.com/" } },
    });
    const taken = await events(["test"], { environment: { DIAL_PLAN: plan }, fetch });
    expect([taken.code, received.length]).toEqual([0, 1]);
    expect((await test("", { DIAL_PLAN: elsewhere })).code).toBe(0);
    expect(received).toHaveLength(2);
    const broken = await events(["test"], { environment: { DIAL_PLAN: "{" }, fetch });
    expect([broken.code, broken.err]).toEqual([1, "DIAL_PLAN is not JSON: line 1 column 2"]);
  });

  it("takes the plan that a service takes on this machine, or in the cloud", async () => {
    const typesAt = async (OUTBOUND_CALLS_URL: string) => {
      const { agents } = await readPlan(undefined, { OUTBOUND_CALLS_URL });
      return Object.values(agents).map(({ provider }) => provider);
    };
    expect(await typesAt("http://127.0.0.1:8787")).toEqual(["simulator"]);
    expect(await typesAt("https://calls.example.com")).toEqual(["webhook"]);
    expect(await typesAt("")).toEqual(["webhook"]);
  });

  it("posts to the receiver of the client that is named", async () => {
    const { received, test } = await createReceiver(
      (_request, response) => response.end(),
      (target) => ({ "crm-eu": { url: target }, shop: { url: "https://shop.example.com/" } }),
    );
    expect((await test("crm-eu", { EVENTS_CRM_EU_SECRET: secretOf(1) })).code).toBe(0);
    expect(received).toHaveLength(1);
    const refusals: [words: string, environment: object, message: RegExp][] = [
      ["", {}, /Name a client: .* crm-eu, shop/],
      ["other", {}, /No receiver takes the events of other/],
      ["shop", {}, /^EVENTS_SHOP_SECRET must be in the environment\.$/],
      ["shop", { EVENTS_SHOP_SECRET: "whsec_short" }, /EVENTS_SHOP_SECRET must be whsec/],
      ["crm-eu", { EVENTS_CRM_EU_SECRET: `${secretOf(1)},x` }, /EVENTS_CRM_EU_SECRET must be/],
    ];
    for (const [words, environment, message] of refusals) {
      const { code, err } = await test(words, environment);
      expect([code, err]).toEqual([2, expect.stringMatching(message)]);
    }
    expect(received).toHaveLength(1);
  });

  it("says so if the plan has no receiver", async () => {
    const { test } = await createReceiver(
      (_request, response) => response.end(),
      () => ({
        "*": { url: "https://shop.example.com/" },
      }),
    );
    expect((await test("", {})).err).toBe("EVENTS_SECRET must be in the environment.");
    const directory = await mkdtemp(join(tmpdir(), "outbound-calls-events-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const path = join(directory, "plan.json");
    await writeFile(path, JSON.stringify(testPlan));
    const { code, err } = await events(["test", "--plan", path], { environment: {}, fetch });
    expect([code, err]).toEqual([2, "The dial plan has no receiver of events."]);
  });
});
