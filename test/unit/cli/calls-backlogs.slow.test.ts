import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { pauseKeyOf } from "#shared/rules/pause.ts";
import { createTestApi } from "#test/support/api.ts";
import { dayPlan } from "#test/support/believable-day.ts";
import { apiEnvironment } from "#test/support/environment.ts";
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
    // Long cells stay whole, and the sentences below a table are no rows.
    const reason = "the campaign of this client was stopped by its owner until the list is clean";
    await bench.wait("agent_support", -minuteMs, { client: "shop", count: 3 });
    const of = { agent: "agent_sales" };
    const { kind, key } = pauseKeyOf(of);
    await bench.put(kind, key, { of, at: now, by: "operator", reason });
    const waiting = await piped("backlogs");
    const cells = waiting.out.split("\n").map((line) => line.split("\t"));
    expect(cells.map(({ length }) => length)).toEqual([8, 8]);
    const named = cells.map(([agent, client, , calls]) => `${agent} ${client} ${calls}`);
    expect(new Set(named)).toEqual(new Set(["agent_sales crm 1", "agent_support shop 3"]));
    expect(waiting.err).toMatch(/^Oldest due: .*\nLast full sweep: none yet\.$/);
    expect((await piped("pauses")).out).toContain(`\tpaused by operator: ${reason}\t`);
    const stats = (await piped("stats")).out.split("\n");
    expect(stats.filter((line) => !line.includes("\t"))).toEqual([]);
  });

  it("resumes the breaker that its table shows, prints its version, and completes in three shells", async () => {
    const { app, open, breakersOf, breakers } = createOperatorBench();
    for (const key of Object.values(breakersOf("agent_sales"))) {
      for (const look of [{ isPiped: true }, { columns: 80 }]) {
        await open(key);
        const { out } = await runCalls(["pauses"], { app, ...look });
        const [shown = ""] = /^breaker \S+/m.exec(out) ?? [];
        expect(shown).toBe(`breaker ${key}`);
        expect((await runCalls(["resume", "--breaker", shown], { app })).code).toBe(0);
        expect(await breakers()).toEqual([]);
      }
    }
    expect((await runCalls(["--version"], { app })).out).toMatch(/^\d+\.\d+\.\d+/);
    for (const shell of ["bash", "zsh", "fish"]) {
      const script = (await runCalls(["completion", shell], { app })).out;
      expect(script).toMatch(/backlogs/);
      expect(script).toMatch(/not-placed/);
    }
    expect((await runCalls(["completion", "tcsh"], { app })).code).toBe(2);
    const script = (await runCalls(["completion", "bash"], { app })).out;
    const completed = (...typed: string[]) => {
      const words = ["calls", ...typed].map((word) => `'${word}'`).join(" ");
      const asked = `COMP_WORDS=(${words}); COMP_CWORD=${typed.length}; _calls; echo "\${COMPREPLY[@]}"`;
      return execFileSync("bash", ["-c", `${script}\n${asked}`], { encoding: "utf8" }).trim();
    };
    expect(completed("pau")).toBe("pause pauses");
    expect(completed("resume", "--b")).toBe("--breaker");
    expect(completed("resolve", "--not")).toBe("--not-placed");
    expect(completed("resume", "pau")).toBe("");
  });
});

describe("a number that is typed", () => {
  it("is read as on the page, by every command, and what was understood is said", async () => {
    const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(dayPlan) };
    const { app } = createTestApi({ environment });
    const typed = "(202) 555-0142";
    for (const words of [
      ["list", "--number", typed],
      ["dnc", "add", typed],
      ["dnc", "check", typed],
      ["erase", typed, "--yes"],
    ]) {
      const { code, err } = await runCalls(words, { app });
      expect([words, code, err]).toEqual([words, 0, `${typed} is read as +12025550142.`]);
    }
    const french = ["dnc", "check", "01 42 55 50 01", "--country", "FR"];
    expect((await runCalls(french, { app })).err).toContain("is read as +33142555001.");
    const { code, err } = await runCalls(["dnc", "check", "(202) 555-014"], { app });
    expect([code, err]).toEqual([
      2,
      "(202) 555-014 has too few or too many digits for US. Nothing was sent.",
    ]);
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
