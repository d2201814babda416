import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run } from "../../infra/calls.ts";
import type { Call } from "../../shared/call.ts";
import { neverCalled } from "../../shared/orders.ts";
import { traceOfNumber } from "../../shared/phone-number.ts";
import { aCall } from "../support/calls.ts";
import { createTestApi } from "../support/api.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";

const url = "https://calls.example.com";
const hashKey = apiEnvironment.HASH_KEY;

/** The command before a service in memory. */
function createBench() {
  const { app, queue, ledger } = createTestApi();
  const environment: Record<string, string> = {
    OUTBOUND_CALLS_URL: `${url}/`,
    OUTBOUND_CALLS_OPERATOR_TOKEN: tokens.operator,
  };
  async function calls(words: string) {
    const out: string[] = [];
    const err: string[] = [];
    const code = await run(words.split(" ").filter(Boolean), {
      environment,
      fetch: async (address, init) => app.request(address.replace(url, ""), init),
      print: (line) => out.push(line),
      complain: (line) => err.push(line),
      isInteractive: false,
    });
    return { code, out: out.join("\n"), err: err.join("\n") };
  }
  async function parked(count: number, more: Partial<Call> = {}): Promise<Call[]> {
    const route = { provider: "webhook", type: "webhook", url: "http://127.0.0.1:9/" } as const;
    const all = Array.from({ length: count }, (_, n) => aCall({ acceptedAt: 1000 + n, ...more }));
    const claims = all.map((call) => ({
      call,
      ...traceOfNumber(call.request.phone_number, hashKey),
      token: "t",
      route,
      attempt: 1,
      at: 1000,
      deadline: 2000,
    }));
    await ledger.claim(claims);
    const state = "PARKED" as const;
    await ledger.settle(all.map(({ id }) => ({ id, token: "t", state, reason: "r", at: 2000 })));
    return all;
  }
  return { ledger, queue, environment, calls, parked };
}

describe("npm run calls", () => {
  it("lists calls as a table for people, and a line of JSON each for scripts", async () => {
    const bench = createBench();
    const all = await bench.parked(3);
    const table = await bench.calls("list --state PARKED");
    expect(table.code).toBe(0);
    for (const { id } of all) expect(table.out).toContain(id);
    expect(table.out).toMatch(/id .* state .* reason/);
    expect(table.out).not.toContain("2025550123");
    const { out } = await bench.calls("list --state PARKED --limit 2 --json");
    const lines = out.split("\n").map((line): { id: string } => JSON.parse(line));
    expect(lines.map(({ id }) => id)).toEqual([all[2]?.id, all[1]?.id]);
    expect((await bench.calls("list --number +12025550123 --json")).out.split("\n")).toHaveLength(
      3,
    );
    expect((await bench.calls("list --state EXPIRED")).out).toBe("None.");
  });

  it("shows one call's story, and its number and context only where that is asked for", async () => {
    const bench = createBench();
    const [call] = await bench.parked(1);
    const shown = await bench.calls(`show ${call?.id}`);
    expect(shown.out).toMatch(/ACCEPTED[\s\S]*DIALING[\s\S]*PARKED/);
    expect(shown.out).not.toContain("2025550123");
    expect((await bench.calls(`show ${call?.id} --reveal`)).out).toContain("+12025550123");
    const json: object = JSON.parse((await bench.calls(`show ${call?.id} --reveal --json`)).out);
    expect(json).toMatchObject({ phone_number: "+12025550123", history: expect.any(Array) });
    expect((await bench.calls("acts --json")).out.split("\n")).toHaveLength(2);
  });

  it("redials hundreds that a list chooses, each once, and only with the word that parked calls demand", async () => {
    const bench = createBench();
    const all = await bench.parked(450);
    const unsure = await bench.calls("redial --state PARKED --agent agent_sales");
    expect([unsure.code, unsure.out]).toEqual([2, "0 done, 450 refused."]);
    expect(unsure.err).toContain("must be true");
    const sure = await bench.calls("redial --state PARKED --agent agent_sales --not-placed");
    expect([sure.code, sure.out]).toEqual([0, "450 done, 0 refused."]);
    expect(bench.queue.take()).toHaveLength(450);
    for (const { id } of all) {
      expect((await bench.ledger.read([id])).get(id)?.state).toBe("REDIALED");
    }
    const none = await bench.calls("redial --state PARKED --not-placed");
    expect(none.out).toBe("0 done, 0 refused.");
  });

  it("chooses by number and state together", async () => {
    const bench = createBench();
    await bench.parked(1);
    const entry = { numberTail: "23", reason: "r", at: 1000, seenDueAt: null };
    const { numberHash } = traceOfNumber("+12025550123", hashKey);
    const expired = Array.from({ length: 4 }, () => aCall());
    await bench.ledger.defer(
      expired.map((call) => ({ ...entry, numberHash, call, state: "EXPIRED" })),
    );
    const { out } = await bench.calls("redial --state PARKED --number +12025550123 --not-placed");
    expect(out).toBe("1 done, 0 refused.");
    expect(bench.queue.take()).toHaveLength(1);
  });

  it("stops at a failure, and names the call that it failed at", async () => {
    const bench = createBench();
    const [one] = await bench.parked(3);
    bench.queue.send = () => Promise.reject(new Error("down"));
    const failed = await bench.calls(`redial ${one?.id} call_2 --not-placed`);
    expect(failed.code).toBe(1);
    expect(failed.err).toMatch(new RegExp(`^${one?.id}: 503 The queue did not confirm`));
    expect(failed.out).toBe("0 done, 0 refused.");
  });

  it("resolves and cancels, and says what was refused and why", async () => {
    const bench = createBench();
    const [one, two] = await bench.parked(2);
    expect((await bench.calls(`resolve ${one?.id} --placed`)).code).toBe(0);
    expect((await bench.calls(`resolve ${two?.id} --not-placed`)).code).toBe(0);
    const refused = await bench.calls(`cancel ${one?.id} call_nobody`);
    expect(refused.code).toBe(2);
    expect(refused.out).toBe("0 done, 2 refused.");
    expect(refused.err).toContain("The call is PLACED; this is for calls that are DEFERRED");
    expect(refused.err).toContain("404 There is no call of this id.");
    const entry = { numberHash: "h", numberTail: "23", reason: "r", dueAt: 9e12, at: 1000 };
    const waiting = Array.from({ length: 300 }, () => aCall({ requestId: "req_9", acceptedAt: 5 }));
    await bench.ledger.defer(
      waiting.map((call) => ({ ...entry, call, state: "DEFERRED", seenDueAt: null })),
    );
    expect((await bench.calls("cancel --request req_9")).out).toMatch(
      /^300 waiting calls cancelled/,
    );
  });

  it("holds, tells what is held, and releases", async () => {
    const bench = createBench();
    expect((await bench.calls("hold --agent agent_sales")).out).toBe(
      "Ordered: hold agent agent_sales.",
    );
    expect((await bench.calls("holds")).out).toContain("hold agent agent_sales");
    expect((await bench.calls("release --agent agent_sales --json")).out).toBe(
      '{"name":"hold agent agent_sales"}',
    );
    expect((await bench.calls("holds")).out).toBe("None.");
    expect((await bench.calls("hold --account vapi")).code).toBe(2);
  });

  it("counts by state and hour", async () => {
    const bench = createBench();
    const now = Date.now();
    const entry = { numberHash: "h", numberTail: "23", reason: "r", at: now, seenDueAt: null };
    await bench.ledger.defer([{ ...entry, call: aCall(), state: "EXPIRED" }]);
    const { out } = await bench.calls("stats --hours 2");
    expect(out).toMatch(/hour .* EXPIRED/);
    expect(out).toContain("DEFERRED");
    const json: object = JSON.parse((await bench.calls("stats --json")).out);
    expect(json).toMatchObject({ counts: [{ state: "EXPIRED", count: 1 }] });
  });

  it("imports the do-not-call list from a file", async () => {
    const bench = createBench();
    const directory = await mkdtemp(join(tmpdir(), "outbound-calls-"));
    const file = join(directory, "numbers.txt");
    const numbers = Array.from({ length: 10_500 }, (_, n) =>
      `+1303555${String(n).padStart(5, "0")}`.slice(0, 12),
    );
    await writeFile(file, numbers.join("\n"));
    expect((await bench.calls(`never add --file ${file}`)).code).toBe(0);
    const hashes = [numbers[0] ?? "", numbers[10_499] ?? ""].map(
      (number) => traceOfNumber(number, hashKey).numberHash,
    );
    const found = await neverCalled(hashes, bench.ledger, hashKey);
    for (const hash of hashes) expect(found.has(hash)).toBe(true);
    expect((await bench.calls(`never check ${numbers[7]}`)).out).toContain("true");
    expect((await bench.calls(`never remove ${numbers[7]}`)).code).toBe(0);
    await rm(directory, { recursive: true });
  });

  it.each([
    ["", 1, /^npm run calls -- COMMAND/],
    ["--help", 0, /^npm run calls -- COMMAND/],
    ["dance", 1, /^There is no command dance/],
    ["list --colour red", 1, /Unknown option '--colour'/],
    ["list", 2, /^422 Nothing was accepted[\s\S]*\/state is required/],
    ["list --state PARKED --limit many", 1, /^--limit must be a number/],
    ["cancel --agent a --reason r", 1, /^cancel has no option --reason/],
    ["cancel call_1 --agent a", 1, /^cancel takes either ids/],
    ["toString", 1, /^There is no command toString/],
    ["show", 1, /^show needs a call's id/],
    ["show call_nobody", 2, /^404 There is no call/],
    ["redial", 1, /^Name calls by their ids/],
    ["resolve call_1", 1, /^resolve needs either/],
    ["cancel", 1, /^Give one of --request or --agent/],
    ["hold --agent a --account b", 1, /^Give one of/],
    ["never add", 1, /^never needs numbers/],
    ["never add --file nowhere", 1, /^nowhere cannot be read/],
  ])("answers %j with exit code %i and a line that helps", async (words, code, line) => {
    const answered = await createBench().calls(words);
    expect(answered.code).toBe(code);
    expect(answered.out + answered.err).toMatch(line);
  });

  it("says what its environment lacks, whom it was let in by, and what cannot be reached", async () => {
    const bench = createBench();
    bench.environment["OUTBOUND_CALLS_OPERATOR_TOKEN"] = tokens.crm;
    expect(await bench.calls("holds")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^401 /),
    });
    bench.environment["OUTBOUND_CALLS_OPERATOR_TOKEN"] = "";
    expect((await bench.calls("holds")).err).toBe("OUTBOUND_CALLS_OPERATOR_TOKEN is not set.");
    bench.environment["OUTBOUND_CALLS_URL"] = "";
    expect((await bench.calls("holds")).err).toBe("OUTBOUND_CALLS_URL is not set to a URL.");
    const err: string[] = [];
    const code = await run(["holds"], {
      environment: { OUTBOUND_CALLS_URL: url, OUTBOUND_CALLS_OPERATOR_TOKEN: "x" },
      fetch: () => Promise.reject(new TypeError("fetch failed", { cause: new Error("refused") })),
      print: () => undefined,
      complain: (line) => err.push(line),
      isInteractive: false,
    });
    expect([code, err]).toEqual([1, [`${url} cannot be reached: refused`]]);
  });
});
