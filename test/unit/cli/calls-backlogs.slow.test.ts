import { describe, expect, it } from "vitest";
import { createOperatorBench, isoOf, minuteMs, now } from "#test/support/operator-bench.ts";
import { runCalls } from "#test/support/run-calls.ts";

/** Creates the command with a service in memory. */
function createBench() {
  const bench = createOperatorBench();
  async function calls(words: string) {
    const { code, out, err } = await runCalls(words.split(" "), bench);
    expect([code, err]).toEqual([0, ""]);
    expect(out).not.toMatch(/2025550123|Zoë/);
    return out;
  }
  return { ...bench, calls };
}

describe("npm run calls -- backlogs", () => {
  it("lists backlogs, with their due times and what holds them", async () => {
    const { calls, wait, pause } = createBench();
    expect(await calls("backlogs")).toBe("None.\nOldest due: none.\nLast full sweep: none yet.");
    await wait("agent_sales", -2 * minuteMs, { count: 2 });
    await wait("agent_support", -minuteMs, { client: "shop", count: 501 });
    await pause({ agent: "agent_sales" });
    await pause({ account: "webhook" });
    const table = await calls("backlogs");
    expect(table).toMatch(/agent_sales +crm .* 2 .* Paused: agent agent_sales\./);
    expect(table).toMatch(/agent_support +shop .* 501 .* Paused: account webhook\./);
    expect(table).toContain(
      `Oldest due: ${isoOf(now - 2 * minuteMs)}.\nLast full sweep: none yet.`,
    );
  });

  it("prints each backlog whole for scripts, page after page up to the limit", async () => {
    const { calls, wait } = createBench();
    for (let n = 0; n < 201; n++) await wait("agent_sales", n, { client: `client_${n}` });
    const linesOf = async (words: string) =>
      (await calls(words)).split("\n").map((line): object => JSON.parse(line));
    const all = await linesOf("backlogs --limit 1000 --json");
    expect(all).toHaveLength(201);
    expect(all[200]).toMatchObject({
      client: "client_200",
      waiting: 1,
      head: { due_at: isoOf(now + 200) },
      holders: [{ calls: 1 }],
    });
    expect(await linesOf("backlogs --json")).toEqual(all.slice(0, 50));
    expect(await linesOf("backlogs --limit 1 --json")).toEqual(all.slice(0, 1));
  });
});

describe("npm run calls in a pipe", () => {
  it("prints a row a line, whole, with tabs between the cells and nothing else", async () => {
    const bench = createOperatorBench();
    const [id = ""] = await bench.wait("agent_sales", -minuteMs);
    const piped = (words: string) => runCalls(words.split(" "), { ...bench, isPiped: true });
    const { out, err } = await piped("list --state waiting");
    expect([out.split("\n").length, out.split("\t").slice(0, 3), err]).toEqual([
      1,
      [id, "WAITING", "r"],
      "",
    ]);
    expect(out).not.toMatch(/ {2}|│/);
    expect((await piped("list --state needs-review")).out).toBe("");
    expect((await piped(`show ${id}`)).out.split("\n")).toContain(`id\t${id}`);
  });

  it("resumes the breaker that its table shows, tells its version, and completes in three shells", async () => {
    const { app, open, breakersOf, breakers } = createOperatorBench();
    await open(breakersOf("agent_sales").account);
    const { out } = await runCalls(["pauses"], { app, isPiped: true });
    const [shown = ""] = out.split("\t");
    expect(shown).toMatch(/^breaker account:/);
    expect((await runCalls(["resume", "--breaker", shown], { app })).code).toBe(0);
    expect(await breakers()).toEqual([]);
    expect((await runCalls(["--version"], { app })).out).toMatch(/^\d+\.\d+\.\d+/);
    for (const shell of ["bash", "zsh", "fish"]) {
      const script = (await runCalls(["completion", shell], { app })).out;
      expect(script).toMatch(/backlogs/);
      expect(script).toMatch(/not-placed/);
    }
    expect((await runCalls(["completion", "tcsh"], { app })).code).toBe(2);
  });
});

describe("npm run calls -- pauses", () => {
  it("lists the open breakers and their failures", async () => {
    const { calls, open, put, breakersOf } = createBench();
    const { account, backlog } = breakersOf("agent_sales");
    const other = backlog.replace("agent_sales", "agent_support");
    for (const key of [account, backlog, other]) await open(key);
    await put("counters", account, { answered: 1, unreachable: 7, inRow: 5 });
    await put("counters", `${backlog} refusals`, { http_404: 20, "in US": 20 });
    const table = await calls("pauses");
    expect(table).toMatch(/breaker account:\S+ .* 7 unanswered, 5 in a row /);
    expect(table).toMatch(/breaker backlog:\S+agent_sales\S+ .* 20 http_404 of US/);
    const [json = ""] = (await calls("pauses --json")).split("\n");
    expect(JSON.parse(json)).toMatchObject({
      what: `breaker ${account}`,
      kind: "account",
      failures: { unreachable: 7, in_row: 5 },
    });
  });
});
