import { nameOfKey } from "#shared/lib/rotated-keys.ts";
import { readRow, readRows } from "#test/support/reads.ts";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run } from "#infra/cli/calls.ts";
import type { Call } from "#shared/calls/call-request.ts";
import type { CallState } from "#shared/calls/states.ts";
import { toCallId, withCalls } from "#shared/calls/ids.ts";
import { findMeaning } from "#shared/rules/texts.ts";
import { addUsage } from "#shared/policy/usage.ts";
import { doNotCallKeysOf, isOnDoNotCallList } from "#shared/policy/number-entries.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { suspendedAt, sweptAt } from "#test/support/document-values.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall, aRequestId } from "#test/support/calls.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const url = "https://calls.example.com";
const hashKey = apiEnvironment.HASH_KEY;

/** Creates the command with a service in memory. */
function createBench() {
  const { app, queue, ledger, documents } = createTestApi();
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
      sleep: async () => undefined,
    });
    return { code, out: out.join("\n"), err: err.join("\n") };
  }
  async function callsIn(state: CallState, count: number, more: Partial<Call> = {}) {
    const { requestId } = more;
    const all = Array.from({ length: count }, (_, n) => ({
      ...aCall({ acceptedAt: 1000 + n, ...more }),
      ...(requestId === undefined ? {} : { id: toCallId(requestId, n) }),
    }));
    const rows = all.map((call) => rowIn(state, call, { reason: "outcome_unknown" }));
    await writeRows(rows, ledger, documents);
    return all;
  }
  const reviewed = (count: number) => callsIn("NEEDS_REVIEW", count);
  return { ledger, documents, queue, environment, calls, callsIn, reviewed };
}

describe("npm run calls", () => {
  it("lists the calls of a client, a campaign or an agent", async () => {
    const bench = createBench();
    const first = { first: "request", labels: { campaign: "spring" } } as const;
    const [mine] = await bench.callsIn("PLACED", 1, first);
    const [other] = await bench.callsIn("PLACED", 1, { ...first, client: "shop" });
    await bench.callsIn("PLACED", 1, { first: "request", client: "else" });
    const ids = async (options: string) => {
      const { out } = await bench.calls(`list ${options} --json`);
      return out.split("\n").map((line) => String(Object(JSON.parse(line)).id));
    };
    expect(await ids("--client shop")).toEqual([other?.id]);
    expect(new Set(await ids("--campaign spring"))).toEqual(new Set([mine?.id, other?.id]));
    expect(await ids("--campaign spring --client crm --agent agent_sales")).toEqual([mine?.id]);
  });

  it("lists calls as a table for people, and a line of JSON each for scripts", async () => {
    const bench = createBench();
    const all = await bench.reviewed(3);
    const table = await bench.calls("list --state NEEDS_REVIEW");
    expect(table.code).toBe(0);
    for (const { id } of all) expect(table.out).toContain(id);
    expect(table.out).toMatch(/id .* state .* reason/);
    expect(table.out).not.toContain("2025550123");
    const { out } = await bench.calls("list --state NEEDS_REVIEW --limit 2 --json");
    const lines = out.split("\n").map((line): { id: string } => JSON.parse(line));
    expect(lines.map(({ id }) => id)).toEqual([all[2]?.id, all[1]?.id]);
    expect((await bench.calls("list --number +12025550123 --json")).out.split("\n")).toHaveLength(
      3,
    );
    expect((await bench.calls("list --state EXPIRED")).out).toBe("None.");
  });

  it("lists what became of placed calls", async () => {
    const bench = createBench();
    const [call] = await bench.callsIn("PLACED", 1);
    const rows = await readRows(bench.ledger, [call?.id ?? ""]);
    const row = rows.get(call?.id ?? "");
    if (row === undefined) throw new Error("it was placed");
    const result = { status: "voicemail" as const, human: false, word: "machine" };
    const known = { ...result, answeredAt: null, endedAt: null, seconds: 4 };
    await bench.ledger.write([
      { next: { ...row, result: known, version: "told" }, seen: row.version },
    ]);
    expect((await bench.calls("list --state PLACED")).out).toMatch(/PLACED .* voicemail/);
    const { out } = await bench.calls("list --state PLACED --json");
    expect(JSON.parse(out)).toMatchObject({ result: { status: "voicemail", seconds: 4 } });
  });

  it("shows one call's story, and its number and context only where that is asked for", async () => {
    const bench = createBench();
    const [call] = await bench.reviewed(1);
    const shown = await bench.calls(`show ${call?.id}`);
    expect(shown.out).toMatch(/ACCEPTED[\s\S]*DIALING[\s\S]*NEEDS_REVIEW/);
    expect(shown.out).toContain(findMeaning("outcome_unknown"));
    expect(shown.out).not.toContain("2025550123");
    expect((await bench.calls(`show ${call?.id} --reveal`)).out).toContain("+12025550123");
    const json: object = JSON.parse((await bench.calls(`show ${call?.id} --reveal --json`)).out);
    expect(json).toMatchObject({ phone_number: "+12025550123", history: expect.any(Array) });
    expect((await bench.calls("audit --json")).out.split("\n")).toHaveLength(2);
  });

  it(
    "redials hundreds that a list chooses, each once, and only with the word that calls under review demand",
    inSlowTier,
    async () => {
      const bench = createBench();
      const all = await bench.reviewed(450);
      const unsure = await bench.calls("redial --state NEEDS_REVIEW --agent agent_sales --yes");
      expect([unsure.code, unsure.out]).toEqual([2, "0 done, 450 refused."]);
      expect(unsure.err).toContain("must be true");
      const sure = await bench.calls(
        "redial --state NEEDS_REVIEW --agent agent_sales --not-placed --yes",
      );
      expect([sure.code, sure.out]).toEqual([0, "450 done, 0 refused."]);
      expect(bench.queue.take()).toHaveLength(450);
      for (const { id } of all) {
        expect((await readRow(bench.ledger, id))?.state).toBe("REDIALED");
      }
      const none = await bench.calls("redial --state NEEDS_REVIEW --not-placed");
      expect(none.out).toBe("0 done, 0 refused.");
    },
  );

  it("chooses by number and state together", async () => {
    const bench = createBench();
    await bench.reviewed(1);
    await bench.callsIn("EXPIRED", 4);
    const { out } = await bench.calls(
      "redial --state NEEDS_REVIEW --number +12025550123 --not-placed --yes",
    );
    expect(out).toBe("1 done, 0 refused.");
    expect(bench.queue.take()).toHaveLength(1);
  });

  it("stops at a failure, and names the call that it failed at", async () => {
    const bench = createBench();
    const [one] = await bench.reviewed(3);
    bench.queue.send = () => Promise.reject(new Error("down"));
    const failed = await bench.calls(`redial ${one?.id} call_2 --not-placed --yes`);
    expect(failed.code).toBe(1);
    expect(failed.err).toMatch(new RegExp(`^${one?.id}: 503 The queue did not confirm`));
    expect(failed.out).toBe("0 done, 0 refused.");
  });

  it("resolves and cancels, and says what was refused and why", async () => {
    const bench = createBench();
    const [one, two] = await bench.reviewed(2);
    expect((await bench.calls(`resolve ${one?.id} --placed`)).code).toBe(0);
    expect((await bench.calls(`resolve ${two?.id} --not-placed`)).code).toBe(0);
    const refused = await bench.calls(`cancel ${one?.id} call_nobody --yes`);
    expect(refused.code).toBe(2);
    expect(refused.out).toBe("0 done, 2 refused.");
    expect(refused.err).toContain("The call is PLACED; this is for calls that are WAITING");
    expect(refused.err).toContain("404 There is no call of this id.");
    const requestId = aRequestId();
    await bench.callsIn("WAITING", 1200, { requestId, batchCalls: 1200 });
    expect((await bench.calls(`cancel --request ${requestId} --yes`)).out).toMatch(
      /^1200 waiting calls cancelled; none is left/,
    );
    const onQueue = withCalls(aRequestId(), 40);
    const cancelled = await bench.calls(`cancel --request ${onQueue} --yes`);
    expect(cancelled.out).toMatch(/^0 waiting calls cancelled; 40 more will be/);
    const ofAgent = await bench.calls("cancel --agent agent_sales --json --yes");
    expect(JSON.parse(ofAgent.out)).toEqual({ cancelled: 0, ordered: null });
  });

  it("pauses, shows what is paused, and resumes", async () => {
    const bench = createBench();
    expect((await bench.calls("pause --agent agent_sales")).out).toBe("Paused: agent agent_sales.");
    expect((await bench.calls("pauses")).out).toMatch(/agent agent_sales .* paused by operator/);
    expect((await bench.calls("resume --agent agent_sales --json")).out).toBe(
      '{"agent_id":"agent_sales"}',
    );
    expect((await bench.calls("pauses")).out).toBe("None.");
    expect((await bench.calls("pause --account vapi --yes")).code).toBe(2);
  });

  it("lists the open circuit breakers, and closes one", async () => {
    const bench = createBench();
    const value = {
      state: "open" as const,
      code: "http_401",
      openedAt: 1,
      probeAt: 2,
      intervalMs: 60_000,
      cause: "unreachable" as const,
      room: 0,
      blamed: [],
    };
    const key = { kind: "breaker", key: "account:vapi" } as const;
    const next = { ...key, version: randomVersion(), value, expiresAt: null };
    await bench.documents.write([{ next, seen: null }]);
    expect((await bench.calls("pauses")).out).toMatch(/breaker account:vapi .* answers http_401/);
    const counted = { kind: "counters", key: "account:vapi" } as const;
    await bench.documents.add(counted, { unreachable: 7, inRow: 5 }, Date.now() + 60_000);
    expect((await bench.calls("pauses")).out).toContain("7 unanswered, 5 in a row");
    const json: object = JSON.parse((await bench.calls("pauses --json")).out);
    expect(json).toMatchObject({
      what: "breaker account:vapi",
      kind: "account",
      name: "vapi",
      failures: { unreachable: 7, in_row: 5 },
    });
    expect((await bench.calls("resume --breaker account:vapi")).out).toBe(
      "Resumed: breaker account:vapi.",
    );
    expect((await bench.calls("pauses")).out).toBe("None.");
    expect((await bench.calls("resume --breaker account:none")).code).toBe(2);
  });

  it("counts by state and hour", async () => {
    const bench = createBench();
    const hour = { at: Date.now(), retentionMs: 3_600_000, known: new Map(), agents: { a: {} } };
    const steps = [{ of: { client: "crm", agentId: "a" }, counters: { EXPIRED: 1 } }];
    await addUsage(steps, hour, bench.documents);
    await bench.callsIn("WAITING", 2);
    const { out } = await bench.calls("stats --hours 2");
    expect(out).toMatch(/hour .* EXPIRED/);
    expect(out).toMatch(/WAITING +2\b/);
    expect(out).toContain("Last full sweep: none yet.");
    const json: object = JSON.parse((await bench.calls("stats --json")).out);
    expect(json).toMatchObject({ counts: [{ state: "EXPIRED", count: 1 }] });
  });

  it("shows the ledger's size, and when it is full", async () => {
    const bench = createBench();
    expect((await bench.calls("stats")).out).not.toContain("GB");
    const since = Date.UTC(2026, 10, 21, 9);
    const day = 86_400_000;
    const samples = [
      { at: since, bytes: 6_950_000_000 },
      { at: since + day, bytes: 7_050_000_000 },
    ];
    const value = sweptAt(0, { size: { bytesMax: 10_000_000_000, samples } });
    const key = { kind: "sweep", key: "sweep" } as const;
    const next = { ...key, version: randomVersion(), value, expiresAt: null };
    await bench.documents.write([{ next, seen: null }]);
    const { out } = await bench.calls("stats");
    expect(out).toContain("Ledger: 7.0 of 10.0 GB (70 %); full on 2026-12-21 at today's growth.");
    const json: object = JSON.parse((await bench.calls("stats --json")).out);
    expect(json).toMatchObject({
      ledger_size: {
        bytes: 7_050_000_000,
        bytes_max: 10_000_000_000,
        full_at: "2026-12-21T21:00:00.000Z",
      },
    });
  });

  it("imports the do-not-call list from a file", async () => {
    const bench = createBench();
    const directory = await mkdtemp(join(tmpdir(), "outbound-calls-"));
    const file = join(directory, "numbers.txt");
    const numbers = Array.from({ length: 10_500 }, (_, n) =>
      `+1303555${String(n).padStart(5, "0")}`.slice(0, 12),
    );
    await writeFile(file, numbers.join("\n"));
    expect((await bench.calls(`dnc add --file ${file}`)).code).toBe(0);
    const hashes = [numbers[0] ?? "", numbers[10_499] ?? ""].map(
      (number) => hashNumber(number, hashKey).numberHash,
    );
    const read = await bench.documents.read(doNotCallKeysOf(hashes));
    for (const hash of hashes)
      expect(isOnDoNotCallList({ hashes: [hash] }, read, [nameOfKey(hashKey)])).toBe(true);
    expect((await bench.calls(`dnc check ${numbers[7]}`)).out).toContain("true");
    expect((await bench.calls(`dnc remove ${numbers[7]} --yes`)).code).toBe(0);
    await rm(directory, { recursive: true });
  });

  it("says why the former HASH_KEY cannot be ended", async () => {
    const bench = createBench();
    const refused = await bench.calls("dnc retire-former-key");
    expect([refused.code, refused.err]).toEqual([2, expect.stringMatching(/^409 .*one key/)]);
    expect((await bench.calls("dnc retire-former-key +12025550123")).code).toBe(2);
  });

  it("says what a restored ledger needs, at each step", async () => {
    const bench = createBench();
    expect((await bench.calls("restored")).out).toBe(
      "The ledger was not restored. Calls are dialed.",
    );
    const early = await bench.calls("restored --at 2026-11-21T09:00:00Z");
    expect([early.code, early.err]).toEqual([
      2,
      expect.stringMatching(/^409 No restore is waiting to be confirmed/),
    ]);
    const since = Date.parse("2026-11-21T10:00:00Z");
    const value = suspendedAt(since);
    const key = { kind: "restore", key: "ledger" } as const;
    const next = { ...key, version: randomVersion(), value, expiresAt: null };
    await bench.documents.write([{ next, seen: null }]);
    const held = (await bench.calls("restored")).out;
    expect(held).toMatch(/NOTHING IS DIALED[\s\S]*pauses[\s\S]*--at TIME/);
    expect((await bench.calls("stats")).out).toMatch(/NOTHING IS DIALED since 2026-11-21T10/);
    const late = await bench.calls("restored --at 2026-11-21T10:00:01Z");
    expect([late.code, late.err]).toEqual([2, expect.stringMatching(/\/at must not be after/)]);
    const said = await bench.calls("restored --at 2026-11-21T09:00:00Z");
    expect(said.code).toBe(0);
    expect(said.out).toMatch(/nothing is dialed yet: 0 calls are looked up, 0 need review/);
    const again = await bench.calls("restored --at 2026-11-21T09:00:00Z");
    expect([again.code, again.err]).toEqual([2, expect.stringMatching(/^409 /)]);
    const json = await bench.calls("restored --json");
    expect(JSON.parse(json.out)).toMatchObject({ state: "confirmed", looked_up: 0 });
  });

  it.each([
    ["", 2, /^npm run calls -- COMMAND/],
    ["--help", 0, /^npm run calls -- COMMAND/],
    ["dance", 2, /^There is no command dance/],
    ["list --colour red", 2, /^list has no option --colour/],
    ["list", 0, /^None\.$/],
    ["list --state PARKED", 2, /^422 A parameter is wrong[\s\S]*state must be one of /],
    ["list --state NEEDS_REVIEW --limit many", 2, /^--limit must be a number/],
    ["cancel --agent a --reason r", 2, /^cancel has no option --reason/],
    ["cancel call_1 --agent a", 2, /^cancel takes either ids/],
    ["toString", 2, /^There is no command toString/],
    ["show", 2, /^show needs a call's id/],
    ["show call_nobody", 2, /^404 There is no call/],
    ["redial", 2, /^Name calls by their ids/],
    ["resolve call_1", 2, /^resolve needs either/],
    ["cancel", 2, /^Give one of --request or --agent/],
    ["backlogs --agent a", 2, /^backlogs has no option --agent/],
    ["backlogs --limit none", 2, /^--limit must be a number/],
    ["pause --agent a --account b", 2, /^Give one of/],
    ["resume", 2, /^Give one of --agent, --account, --client or --breaker/],
    ["dnc add", 2, /^dnc needs numbers/],
    ["dnc say +12025550123", 2, /^dnc is followed by add, remove, check/],
    ["dnc add --file nowhere", 2, /^nowhere cannot be read/],
  ])("answers %j with exit code %i and a line that helps", async (words, code, line) => {
    const answered = await createBench().calls(words);
    expect(answered.code).toBe(code);
    expect(answered.out + answered.err).toMatch(line);
  });

  it("says what its environment lacks, whom it was let in by, and what cannot be reached", async () => {
    const bench = createBench();
    bench.environment["OUTBOUND_CALLS_OPERATOR_TOKEN"] = tokens.crm;
    expect(await bench.calls("pauses")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^401 /),
    });
    bench.environment["OUTBOUND_CALLS_OPERATOR_TOKEN"] = "";
    expect((await bench.calls("pauses")).err).toBe("OUTBOUND_CALLS_OPERATOR_TOKEN is not set.");
    bench.environment["OUTBOUND_CALLS_URL"] = "";
    expect((await bench.calls("pauses")).err).toBe("OUTBOUND_CALLS_URL is not set to a URL.");
    const err: string[] = [];
    const code = await run(["pauses"], {
      environment: { OUTBOUND_CALLS_URL: url, OUTBOUND_CALLS_OPERATOR_TOKEN: "x" },
      fetch: () => Promise.reject(new TypeError("fetch failed", { cause: new Error("refused") })),
      print: () => undefined,
      complain: (line) => err.push(line),
      isInteractive: false,
      sleep: async () => undefined,
    });
    expect([code, err]).toEqual([1, [`${url} cannot be reached: refused`]]);
  });
});
