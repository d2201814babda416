import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { helpOf, helps } from "#infra/cli/calls/help-texts.ts";
import { Refusal } from "#infra/cli/calls/failures.ts";
import { nearestTo } from "#infra/cli/calls/nearest.ts";
import { optionsOf } from "#infra/cli/calls/options.ts";
import { tableOf } from "#infra/cli/calls/table.ts";
import type { Terminal } from "#infra/cli/calls/terminal.ts";
import { commands, run } from "#infra/cli/calls.ts";
import type { CallState } from "#shared/calls/states.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { startConsoleServer } from "#test/support/console-server.ts";
import { apiEnvironment, testPlan, tokens } from "#test/support/environment.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const url = "https://calls.example.com";

/** Creates the command with a service in memory, and counts what was posted to it. */
function createBench(api = createTestApi()) {
  const posted: string[] = [];
  async function calls(words: string, terminal: Partial<Terminal> = {}) {
    const out: string[] = [];
    const err: string[] = [];
    const code = await run(words.split(" ").filter(Boolean), {
      environment: { OUTBOUND_CALLS_URL: url, OUTBOUND_CALLS_OPERATOR_TOKEN: tokens.operator },
      fetch: async (address, init) => {
        const path = address.replace(url, "");
        if (init.method === "POST" && !path.endsWith("/search")) posted.push(path);
        return api.app.request(path, init);
      },
      print: (line) => out.push(line),
      complain: (line) => err.push(line),
      isInteractive: false,
      sleep: async () => undefined,
      ...terminal,
    });
    return { code, out: out.join("\n"), err: err.join("\n") };
  }
  async function write(state: CallState, count: number) {
    const rows = Array.from({ length: count }, (_, n) =>
      rowIn(state, aCall({ acceptedAt: Date.now() - n }), { reason: "http_404" }),
    );
    await writeRows(rows, api.ledger, api.documents);
    return rows;
  }
  return { api, posted, calls, write };
}

describe("npm run calls -- splits", () => {
  it("shows the arms as rows, and says what is missing for the verdict", async () => {
    const webhook = { provider: "webhook", url: "http://127.0.0.1:9/dial" };
    const split = { agent_a: 80, agent_b: 20 };
    const agents = { agent_a: webhook, agent_b: webhook, agent_sales: { split } };
    const plan = { ...testPlan, agents, results: {} };
    const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(plan) };
    const { calls } = createBench(createTestApi({ environment }));
    const piped = await calls("splits", { isPiped: true });
    expect(piped.code).toBe(0);
    expect(piped.out.split("\n").map((line) => line.split("\t").slice(0, 4))).toEqual([
      ["agent_sales", "agent_a", "80", "0"],
      ["agent_sales", "agent_b", "20", "0"],
    ]);
    expect(piped.err).toContain(
      "agent_sales: The verdict comes with 1,570 ended calls of each arm: 1,570 of agent_a, 1,570 of agent_b are missing.",
    );
    const json = await calls("splits --json");
    expect(JSON.parse(json.out)).toMatchObject({ agent_id: "agent_sales", verdict: null });
  });
});

describe("npm run calls", () => {
  it.each(Object.keys(commands))(
    "has help with options and an example: %s --help",
    async (name) => {
      const { code, out } = await createBench().calls(`${name} --help`);
      expect([code, out]).toEqual([0, helpOf(name)]);
      expect(helps[name]?.example.startsWith(name)).toBe(true);
      for (const option of optionsOf[name] ?? ["no options are declared"]) {
        expect(out).toMatch(new RegExp(`\n  --${option} [^\n]*\\w`));
      }
      for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
    },
  );

  it.each([
    ["cancel --requst 1", "cancel has no option --requst. Did you mean --request?"],
    ["list --colour red", "list has no option --colour. See list --help."],
    ["pases", "There is no command pases. Did you mean pauses?"],
    ["list --state --json", "--state needs a value."],
    ["list --state", "--state needs a value."],
    ["list --json=yes", "--json takes no value."],
    ["send one.csv two.csv --campaign x", "send does not take the word two.csv. See send --help."],
    ["list NEEDS_REVIEW", "list does not take the word NEEDS_REVIEW. See list --help."],
    ["watch everything", "everything cannot be watched: requests, campaigns and needs can."],
  ])("answers %j with one sentence and exit code 2", async (words, sentence) => {
    expect(await createBench().calls(words)).toEqual({ code: 2, out: "", err: sentence });
  });

  it("finds the nearest word, if one is near", () => {
    expect(nearestTo("agnet", ["agent", "account"])).toBe("agent");
    expect(nearestTo("colour", ["agent", "account"])).toBeUndefined();
  });
});

describe("a failure", () => {
  it.each([
    [
      async () => new Response("Bad gateway", { status: 502 }),
      "https://calls.example.com answered 502, and not as this service does.",
    ],
    [
      async () => Promise.reject(new DOMException("late", "TimeoutError")),
      "https://calls.example.com has not answered within 35 s.",
    ],
  ])("is one sentence, with exit code 1", async (fetch, sentence) => {
    const failed = await createBench().calls("pauses", { fetch });
    expect(failed).toEqual({ code: 1, out: "", err: sentence });
  });

  it("gives each request a time limit", async () => {
    const limits: unknown[] = [];
    const fetch: Terminal["fetch"] = async (_address, { signal }) => {
      limits.push(signal);
      return Response.json({ pauses: [], breakers: [], other_agents: false });
    };
    expect((await createBench().calls("pauses", { fetch })).code).toBe(0);
    expect(limits).toEqual([expect.any(AbortSignal)]);
  });
});

describe("a grave command", () => {
  const grave = [
    ["redial --state REJECTED", /^This calls the numbers of 3 calls again/],
    ["cancel --agent agent_sales", /^This cancels, for good, the 2 calls of agent agent_sales/],
    ["dnc remove +12025550123", /^This takes 1 number off the do-not-call list/],
    ["erase +12025550123", /^This erases, for good, what is known of 1 number in 5 calls.*the 2 /],
    ["pause --account webhook", /account webhook from being dialed, 2 calls that wait/],
    [
      "pause --client crm",
      /^This keeps all calls of client crm from being dialed, 2 calls that wait/,
    ],
  ] as const;

  it.each(grave)(
    "%s counts first, and does nothing that was not agreed to",
    async (words, does) => {
      const { calls, write, posted } = createBench();
      await write("REJECTED", 3);
      await write("WAITING", 2);
      const alone = await calls(words);
      expect([alone.code, alone.out, alone.err]).toEqual([2, "", expect.stringMatching(does)]);
      expect(alone.err).toContain("add --yes");
      const dry = await calls(`${words} --dry-run`);
      expect([dry.code, dry.out]).toEqual([0, expect.stringMatching(does)]);
      const json = await calls(`${words} --dry-run --json`);
      expect(JSON.parse(json.out)).toMatchObject({ dry_run: true });
      const questions: string[] = [];
      const answering = (answer: string) => ({
        ask: async (question: string) => {
          questions.push(question);
          return answer;
        },
      });
      const declined = await calls(words, answering(""));
      expect([declined.code, declined.err]).toEqual([2, "Nothing was done."]);
      expect(posted).toEqual([]);
      await calls(words, answering("y"));
      expect(questions).toEqual([expect.stringMatching(does), expect.stringMatching(does)]);
      expect(posted.length).toBeGreaterThan(0);
    },
  );

  it("resolve asks for calls chosen by a filter, and not for those named by their ids", async () => {
    const { calls, write, posted } = createBench();
    const [row] = await write("NEEDS_REVIEW", 2);
    const alone = await calls("resolve --state NEEDS_REVIEW --placed");
    expect([alone.code, alone.err]).toEqual([
      2,
      expect.stringMatching(/^This marks 2 calls as placed, and erases their numbers, for good/),
    ]);
    const dry = await calls("resolve --state NEEDS_REVIEW --not-placed --dry-run");
    expect([dry.code, dry.out]).toEqual([
      0,
      expect.stringMatching(/^This marks 2 calls as not placed, for good/),
    ]);
    expect(posted).toEqual([]);
    expect((await calls(`resolve ${row?.id} --placed`)).code).toBe(0);
    expect(posted).toEqual([`/operator/calls/${row?.id}/resolve`]);
  });

  it("erase asks without a count, once the token may look for no more numbers", async () => {
    const { calls, posted } = createBench();
    for (let n = 10; n <= 110; n++) await calls(`list --number +1202555${1000 + n}`);
    const { code, out } = await calls("erase +12025550123 --yes");
    expect([code, out]).toEqual([0, expect.stringContaining("erased")]);
    expect(posted).toContain("/operator/erase");
  });

  it("says of a request that only the queue has that nothing of it was read", async () => {
    const { calls, api } = createBench();
    const { id } = aCall({});
    const request = id.slice("call_".length, -"_00000".length);
    const { err } = await calls(`cancel --request ${request}`);
    expect(err).toContain("whose calls have not been read yet");
    expect(api.queue.take()).toEqual([]);
  });
});

describe("a file of numbers", () => {
  it("is read from stdin, and its wrong lines are named without what stands there", async () => {
    const { calls, posted } = createBench();
    const from = (lines: string[]) => ({ readInput: async () => Buffer.from(lines.join("\n")) });
    const lines = ["+12025550123", "0202 555", "", "x", "+12025550123"];
    const checked = await calls("dnc check --file -", from(lines));
    expect([checked.code, checked.out]).toEqual([2, ""]);
    expect(checked.err).toMatch(/^Refused: lines? 2.* 4.*Nothing was sent\.$/);
    expect(posted).toEqual([]);
    const added = await calls("dnc add --file -", from(["+12025550123", "+12025550124"]));
    expect([added.code, added.out]).toEqual([0, "2 numbers: add done, 0 were on the list before."]);
    const some = await calls("dnc add --file - --json", from(lines));
    expect([some.code, JSON.parse(some.out)]).toMatchObject([
      2,
      { add: 1, read: 2, known: 1, refused: [{ line: 2 }, { line: 4 }] },
    ]);
    expect(some.err).not.toContain("0202");
  });

  it("has its refused lines written to a file, which is read again once it is corrected", async () => {
    const { calls } = createBench();
    const directory = await mkdtemp(join(tmpdir(), "refused-"));
    const file = join(directory, "refused.csv");
    const wrong = Array.from({ length: 25 }, (_, n) => `202556${10 + n}`);
    const input = { readInput: async () => Buffer.from(["+12025550123", ...wrong].join("\n")) };
    const hinted = await calls("dnc add --file -", input);
    expect(hinted.err).toMatch(/ and 5 more: .* --refused FILE writes all of them as CSV\.$/);
    const added = await calls(`dnc add --file - --refused ${file}`, input);
    expect([added.code, added.err.includes("--refused")]).toEqual([2, false]);
    const written = await readFile(file, "utf8");
    expect(written.split("\n")).toHaveLength(1 + 25 + 1);
    await writeFile(file, written.replaceAll(",202556", ",+120255601"));
    const again = await calls(`dnc add --file ${file}`);
    expect([again.code, again.out]).toEqual([
      0,
      "25 numbers: add done, 0 were on the list before.",
    ]);
    await rm(directory, { recursive: true });
  });

  it("is added also once the token may compare no more lists", async () => {
    const { api, calls } = createBench();
    const init = {
      method: "POST",
      headers: { authorization: `Bearer ${tokens.operator}`, "content-type": "application/json" },
      body: JSON.stringify({ phone_numbers: ["+12025550123"] }),
    };
    let status = 200;
    while (status === 200) status = (await api.app.request("/operator/find-listed", init)).status;
    expect(status).toBe(429);
    const { code, out } = await calls("dnc add +12025550123");
    expect([code, out]).toEqual([0, "1 number: add done."]);
  });

  it("that is sent anew is not compared with the list", async () => {
    const { calls, posted } = createBench();
    const answered = await calls("dnc add +12025550123 --renew --json");
    expect(JSON.parse(answered.out)).toEqual({ add: 1, read: 1, refused: [] });
    expect(posted).toEqual(["/operator/do-not-call"]);
  });

  it("of JSON is refused by its line", async () => {
    const folder = await mkdtemp(join(tmpdir(), "outbound-calls-"));
    const file = join(folder, "leads.json");
    await writeFile(file, '[\n{"a": 1},\n{"b" 2}\n]');
    const { code, err } = await createBench().calls(`forecast --file ${file}`);
    await rm(folder, { recursive: true });
    expect([code, err]).toEqual([2, expect.stringMatching(/is not JSON: line 3 column \d+\.$/)]);
  });
});

it("reads as much of the audit log as was asked for", async () => {
  const asked: string[] = [];
  const fetch: Terminal["fetch"] = async (address) => {
    asked.push(address.replace(`${url}/operator`, ""));
    const entry = { at: "2026-11-24T12:00:00.000Z", by: "ada", action: "pause", target: "agent a" };
    const count = Number(new URL(address).searchParams.get("limit"));
    return Response.json({
      entries: Array.from({ length: count }, () => entry),
      cursor: "000000000000001~a",
    });
  };
  const { out } = await createBench().calls("audit --limit 250 --json", { fetch });
  expect(out.split("\n")).toHaveLength(250);
  expect(asked).toEqual(["/audit?limit=200", "/audit?limit=50&cursor=000000000000001%7Ea"]);
});

describe("a table", () => {
  const id = "call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000";
  const columns = ["id", "state", "reason", "result", "agent_id", "due_at", "account"];
  const row = {
    id,
    state: "NEEDS_REVIEW",
    reason: "hours:callingHours.default",
    agent_id: "agent_sales",
    due_at: "2026-11-24T12:00:00.000Z",
  };
  const widthOf = (drawn: string) => Math.max(...drawn.split("\n").map((line) => line.length));

  it("is 80 columns wide where the terminal is: cells are wrapped, ids whole, what is left out is named", () => {
    const { text: drawn, leftOut } = tableOf([row], { columns, width: 80 });
    expect(widthOf(drawn)).toBeLessThanOrEqual(80);
    expect(drawn).toContain(id);
    expect(leftOut).toEqual(["due_at", "account"]);
  });

  it("leaves out a time rather than breaking it", () => {
    const request = {
      id: "01KAJ6Y5G0QZ3N4T7V8W9XABCD",
      client: "crm",
      campaign: "November offers",
      expected_end_at: "2026-11-24T12:00:00.000Z",
      accepted_at: "2026-11-24T11:00:00.000Z",
    };
    const drawn = tableOf([request], { columns: Object.keys(request), width: 80 });
    expect(widthOf(drawn.text)).toBeLessThanOrEqual(80);
    expect(drawn).toEqual({
      text: expect.stringContaining("2026-11-24T12:00:00Z"),
      leftOut: ["accepted_at"],
    });
  });

  it("has all columns where there is room, and shortens ids last", () => {
    const wide = tableOf([row], { columns, width: 120 });
    expect(widthOf(wide.text)).toBeLessThanOrEqual(120);
    expect(wide).toMatchObject({ text: expect.stringContaining(id), leftOut: [] });
    const narrow = tableOf([row], { columns: ["id", "state"], width: 30 });
    expect(widthOf(narrow.text)).toBeLessThanOrEqual(30);
    expect(narrow.text).toMatch(/call_01K\w*…\w+/);
  });
});

describe("requests and watch", () => {
  it("list requests by what they are of, and how far they are", async () => {
    const { calls, write } = createBench();
    const [row] = await write("WAITING", 1);
    const { out } = await calls("requests --calls-min 1");
    expect(out).toMatch(/id .* client .* ended/);
    expect(out).toMatch(/0 %/);
    const json: object = JSON.parse((await calls("requests --calls-min 1 --json")).out);
    expect(json).toMatchObject({ total: 1, by_state: { WAITING: 1 }, client: row?.client });
    const asked: string[] = [];
    const fetch: Terminal["fetch"] = async (address) => {
      asked.push(address);
      return Response.json({ requests: [] });
    };
    await calls("requests --client crm --campaign spring --agent agent_2", { fetch });
    const query = "client=crm&campaign=spring&agent_id=agent_2&limit=20";
    expect(asked).toEqual([`${url}/operator/requests?${query}`]);
    expect((await calls("requests")).out).toBe("None.");
  });

  it("print a line of JSON for each change, and continue after a failure", async () => {
    const { calls, write, api } = createBench();
    let round = 0;
    let isAway = false;
    const fetch: Terminal["fetch"] = async (address, init) => {
      if (isAway) throw new Error("away");
      return api.app.request(address.replace(url, ""), init);
    };
    const sleep = async () => {
      round += 1;
      if (round === 1) await write("NEEDS_REVIEW", 1);
      isAway = round === 3;
      if (round === 5) throw new Refusal("enough");
    };
    const { out, err } = await calls("watch needs", { sleep, fetch });
    expect(out.split("\n").map((line): unknown => JSON.parse(line))).toEqual([
      expect.objectContaining({ kind: "review", calls: 1 }),
    ]);
    expect(err).toBe(`${url} cannot be reached: away\nenough`);
  });

  it("draw the table anew on a screen", async () => {
    const { calls, write } = createBench();
    await write("NEEDS_REVIEW", 2);
    let cleared = 0;
    const sleep = () => Promise.reject(new Refusal("enough"));
    const { out } = await calls("watch needs", { sleep, clear: () => cleared++ });
    expect(cleared).toBe(1);
    expect(out).toMatch(/^needs at 20\d\d-[\s\S]*review[\s\S]* 2 /);
  });
});

it("npm run -s calls prints JSON alone, and no colour into a pipe", inSlowTier, async () => {
  const { api, write } = createBench();
  const [row] = await write("REJECTED", 1);
  const server = await startConsoleServer(api);
  const environment = {
    ...process.env,
    FORCE_COLOR: "1",
    OUTBOUND_CALLS_URL: server.address,
    OUTBOUND_CALLS_OPERATOR_TOKEN: tokens.operator,
  };
  const printed = async (...words: string[]) => {
    const child = spawn("npm", ["run", "-s", "calls", "--", ...words], { env: environment });
    child.stdin.end();
    const [out] = await Promise.all([text(child.stdout), once(child, "close")]);
    return out;
  };
  const [json, shown] = await Promise.all([
    printed("list", "--json"),
    printed("show", row?.id ?? ""),
  ]);
  await server.stop();
  expect(JSON.parse(json)).toMatchObject({ id: row?.id });
  expect(shown).toContain("REJECTED");
  expect(shown).not.toContain("\u001B");
});
