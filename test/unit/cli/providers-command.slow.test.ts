import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { run } from "#infra/cli/providers.ts";
import { standInTypes } from "#infra/stand-ins/index.ts";
import { callbackAddress } from "#shared/settings/callback-url.ts";
import { plannedTypes } from "#shared/calls/provider-types.ts";
import { startTestStandIn } from "#test/support/test-adapter.ts";
import { environmentOf, imitationOf, routeFields } from "#test/support/stand-ins.ts";

const to = "--to +12025550147";
/** Starts a stand-in of an account's provider, and writes a plan that leads to it. */
async function createBench(
  type: string,
  more: { agents?: object; account?: object; plan?: object } = {},
) {
  const standIn = await startTestStandIn(type);
  const directory = await mkdtemp(join(tmpdir(), "outbound-calls-providers-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const path = join(directory, "plan.json");
  const place = type === "webhook" ? { url: `${standIn.url}/dial` } : {};
  const baseUrl = type === "webhook" ? {} : { baseUrl: standIn.url };
  const plan = {
    agents: { agent_sales: { provider: type, ...routeFields[type], ...place }, ...more.agents },
    providers: {
      [type]: { timeoutSeconds: type === "livekit" ? 30 : 1, ...baseUrl, ...more.account },
    },
    callingHours: { default: "always" },
    destinations: { allow: ["US"] },
    ...more.plan,
  };
  await writeFile(path, JSON.stringify(plan));
  const environment: Record<string, string> = environmentOf(type, imitationOf(type).secrets);
  const asked: string[] = [];
  const pauses: number[] = [];
  async function providers(words: string, answer?: boolean) {
    const lines: string[] = [];
    const code = await run([...words.split(" "), "--plan", path], {
      environment,
      fetch,
      now: Date.now,
      pause: async (seconds) => {
        pauses.push(seconds);
        if (type !== "exotel") return;
        for (const call of standIn.calls.placed) call.status = "ended"; // its lists have no others
      },
      print: (line) => lines.push(line),
      complain: (line) => lines.push(line),
      confirm: async (question) => {
        asked.push(question);
        return answer;
      },
    });
    const text = lines.join("\n");
    expect(text).not.toMatch(/2025550147|2025550100/);
    for (const [name, secret] of Object.entries(environment)) {
      if (name !== "PUBLIC_URL") expect(text).not.toContain(secret);
    }
    return { code, lines, text };
  }
  return { standIn, environment, providers, asked, pauses };
}

const types = plannedTypes.filter((type) => standInTypes.has(type) && type in routeFields);

describe("npm run providers -- check", () => {
  it.each(types)("makes one call through an account of %s, and finds it", async (type) => {
    const { standIn, providers } = await createBench(type);
    const { code, text } = await providers(`check ${type} ${to} --yes`);
    expect(text).toContain(`This phones +•••••••••47 through ${type} (${type})`);
    expect(text).toContain("It really rings");
    expect(text).toMatch(/^ {2}(POST|PUT) \S+ {2}20[01]$/m);
    expect(text).toContain(`Outcome: placed, ${standIn.calls.placed[0]?.id}`);
    expect(text).toMatch(/Look-up: (found by|this provider has no records)/);
    expect([code, standIn.calls.placed.length]).toEqual([0, 1]);
    expect(standIn.problems).toEqual([]);
  });

  it("sends the address for callbacks where the plan has results, as the dialer does", async () => {
    const agents = {
      agent_sales: { provider: "telnyx", ...routeFields["telnyx"], callbacks: true },
    };
    const { standIn, environment, providers } = await createBench("telnyx", {
      agents,
      plan: { results: {} },
    });
    const without = await providers(`check telnyx ${to} --yes`);
    expect(without.text).toContain("no address for callbacks: PUBLIC_URL and HASH_KEY are not set");
    Object.assign(environment, {
      PUBLIC_URL: "https://calls.example.com",
      HASH_KEY: "5f".repeat(32),
    });
    const { code, text } = await providers(`check telnyx ${to} --yes`);
    expect([code, text]).toEqual([0, expect.not.stringContaining("no address")]);
    expect(standIn.problems).toEqual([]);
    expect(standIn.calls.placed.map(({ request }) => request["webhook_urls"])).toEqual([
      undefined,
      {
        "call.hangup": [
          expect.stringMatching(
            /^https:\/\/calls\.example\.com\/callbacks\/telnyx\/call_\w+\/check\//,
          ),
        ],
      },
    ]);
    Object.assign(environment, { HASH_KEY: "short" });
    const wrong = await providers(`check telnyx ${to} --yes`);
    expect(wrong).toMatchObject({
      code: 1,
      text: "HASH_KEY must be 32 bytes in hex, or two such keys separated by a space",
    });
  });

  it("shows a secret in a path by its name", async () => {
    const { providers } = await createBench("twilio");
    const { text } = await providers(`check twilio ${to} --yes`);
    expect(text).toContain("POST /2010-04-01/Accounts/{TWILIO_ACCOUNT_SID}/Calls.json  201");
  });

  it("asks first, and sends nothing without a yes", async () => {
    const { standIn, providers, asked } = await createBench("vapi");
    const declined = await providers(`check vapi ${to}`, false);
    expect([declined.code, declined.lines.at(-1)]).toEqual([1, "Nothing was sent."]);
    const alone = await providers(`check vapi ${to}`);
    expect([alone.code, alone.lines.at(-1)]).toEqual([1, "Nobody can be asked here: add --yes."]);
    expect(standIn.requests).toEqual([]);
    expect((await providers(`check vapi ${to}`, true)).code).toBe(0);
    expect(asked).toHaveLength(3);
  });

  it("keeps looking for a call that lists show late, and says so if none shows it", async () => {
    const { standIn, providers, pauses } = await createBench("vapi");
    standIn.play({ how: "answer", status: 503 }, { at: "look_up" });
    const late = await providers(`check vapi ${to} --yes`);
    expect(late.code).toBe(0);
    expect(late.text).toContain("Look-up: the records could not be read.");
    expect(pauses).toEqual([3, 5]);
    standIn.calls.listing.lagSeconds = 60;
    const never = await providers(`check vapi ${to} --yes`);
    expect(never.code).toBe(2);
    expect(never.text.match(/not found yet/g)).toHaveLength(4);
    expect(never.text).toContain("NEEDS_REVIEW");
  });

  it("finds a call whose answer was lost, and is not content with it", async () => {
    const { standIn, providers } = await createBench("retell");
    standIn.play({ how: "hang", places: true });
    const { code, text } = await providers(`check retell ${to} --yes`);
    expect(text).toContain("Outcome: unknown, time_out");
    expect(text).toContain("POST /v2/create-phone-call  no answer");
    expect(text).toContain("raise the account's timeoutSeconds");
    expect(text).toContain("Look-up: found by our id");
    expect([code, standIn.calls.placed.length]).toEqual([2, 1]);
  });

  it("says that the records prove that nothing was placed, why, and what to do", async () => {
    const { standIn, providers } = await createBench("vapi");
    standIn.settings.hasLine = false;
    const check = providers(`check vapi ${to} --yes`);
    while (standIn.calls.placed.length === 0) await new Promise((next) => setTimeout(next, 1));
    Object.assign(standIn.calls.placed[0] ?? {}, {
      status: "ended",
      endedReason: "call.start.error-subscription-insufficient-credits",
    });
    const { code, lines } = await check;
    expect(code).toBe(2);
    const at = lines.findIndex((line) => line.startsWith("Look-up: the records prove"));
    expect(lines.slice(at)).toEqual([
      "Look-up: the records prove that nothing was placed: account_refused, account_limit.",
      "  The provider refuses the account, and would refuse every other call.",
      "  Check VAPI_API_KEY, and the account's balance and state in the provider's console.",
    ]);
  });

  it.each([
    [401, { message: "Unauthorized" }, "account_refused, http_401", "Check VAPI_API_KEY"],
    [403, {}, "forbidden, http_403", "Check what the key (VAPI_API_KEY) may do"],
    [400, { message: ["customer …"] }, "rejected, http_400", "(baseUrl, agent, from)"],
    [429, {}, "not_placed, http_429", "set callsPerSecond"],
  ])("says what %i %j means, and what to do", async (status, body, outcome, todo) => {
    const { standIn, providers } = await createBench("vapi");
    standIn.play({ how: "answer", status, body });
    const { code, text } = await providers(`check vapi ${to} --yes`);
    expect(code).toBe(2);
    expect(text).toContain(`Outcome: ${outcome}`);
    expect(text).toContain(todo);
    expect(text).not.toContain("Look");
  });

  it("says what a refused number and a refused route mean", async () => {
    const { standIn, providers } = await createBench("telnyx");
    const error = (one: object) => ({ errors: [{ code: "10010", title: "…", ...one }] });
    standIn.play({ how: "answer", status: 403, body: error({ detail: "Refused D14" }) });
    const number = await providers(`check telnyx ${to} --yes`);
    expect(number.text).toContain("The provider refuses this number.");
    standIn.play({ how: "answer", status: 403, body: error({ detail: "Refused D16" }) });
    const route = await providers(`check telnyx ${to} --yes`);
    expect(route.text).toContain("Check the route in the dial plan: baseUrl, connection, from.");
  });

  it("says that a provider could not be reached", async () => {
    const { standIn, providers } = await createBench("vapi");
    await standIn.close();
    const { code, text } = await providers(`check vapi ${to} --yes`);
    expect([code, text]).toEqual([2, expect.stringContaining("not_placed, econnrefused")]);
    expect(text).toContain("Check the account's baseUrl");
  });

  it("prints the address of an account's callbacks, which the deployment's settings make", async () => {
    const { standIn, environment, providers } = await createBench("vapi", {
      plan: { results: {} },
    });
    const settings = { PUBLIC_URL: "https://calls.example.com", HASH_KEY: "5f".repeat(32) };
    Object.assign(environment, settings);
    const { code, text } = await providers("callback vapi");
    const hashKey = settings.HASH_KEY;
    expect([code, text]).toEqual([
      0,
      callbackAddress(settings.PUBLIC_URL, { account: "vapi", hashKey }),
    ]);
    expect(standIn.requests).toEqual([]);
    expect(await providers("callback nobody")).toMatchObject({ code: 1 });
    delete environment["HASH_KEY"];
    expect((await providers("callback vapi")).text).toContain("HASH_KEY is not set");
    delete environment["PUBLIC_URL"];
    expect((await providers("callback vapi")).text).toBe("PUBLIC_URL is not set");
  });

  it("prints no address for a webhook, whose calls have addresses of their own", async () => {
    const { environment, providers } = await createBench("webhook", { plan: { results: {} } });
    Object.assign(environment, {
      PUBLIC_URL: "https://calls.example.com",
      HASH_KEY: "5f".repeat(32),
    });
    expect(await providers("callback webhook")).toMatchObject({
      code: 1,
      text: expect.stringContaining("callback_url of its own"),
    });
  });

  it("prints no address where no callback is taken", async () => {
    const { providers } = await createBench("vapi");
    expect(await providers("callback vapi")).toMatchObject({
      code: 1,
      text: expect.stringContaining("no results"),
    });
  });

  it.each([
    [`check nobody ${to}`, "No agent of the dial plan dials through nobody. There is: vapi."],
    [`check vapi ${to} --agent agent_x`, "agent_x has no route through vapi."],
    ["check vapi", "--to is required: a number of your own."],
    ["check vapi --to 2025", "--to must be an E.164 number such as +12025550123."],
    ["check vapi --to +442079460123", "destinations do not permit"],
    ["check", "Wrong usage."],
    ["dial vapi", "Wrong usage."],
    ["check vapi --from +12025550123", "Unknown option '--from'"],
  ])("refuses: %s", async (words, message) => {
    const { standIn, providers } = await createBench("vapi");
    const { code, text } = await providers(words, true);
    expect([code, text]).toEqual([1, expect.stringContaining(message)]);
    expect(standIn.requests).toEqual([]);
  });

  it("names the secret that is missing before it asks anything", async () => {
    const { environment, providers, asked } = await createBench("livekit");
    delete environment["LIVEKIT_API_SECRET"];
    const { code, text } = await providers(`check livekit ${to}`, true);
    expect([code, text]).toEqual([1, "LIVEKIT_API_SECRET must be in the environment."]);
    expect(asked).toEqual([]);
  });

  it("wants to know the agent if an account has several routes", async () => {
    const other = { provider: "vapi", agent: "asst_2", from: "phone_2" };
    const { standIn, providers } = await createBench("vapi", { agents: { agent_2: other } });
    const { code, text } = await providers(`check vapi ${to} --yes`);
    expect([code, text]).toEqual([1, "Choose a route with --agent: agent_sales, agent_2."]);
    expect((await providers(`check vapi ${to} --yes --agent agent_2`)).code).toBe(0);
    expect(standIn.calls.placed[0]?.request).toMatchObject({ assistantId: "asst_2" });
  });
});
