import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callsOf, createForecastBench } from "#test/support/forecast-bench.ts";
import { runCalls } from "#test/support/run-calls.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "forecast-"));
});
afterAll(() => rm(directory, { recursive: true }));

const paced = { providers: { webhook: { callsPerSecond: 0.1 } } };

/** Creates the command with a service in memory. Time passes in the dialer while the command sleeps. */
function createBench(plan: object = paced) {
  const bench = createForecastBench(plan);
  const calls = (...words: string[]) =>
    runCalls(words, { app: bench.app, sleep: (ms) => bench.dialer.simulate(ms / 1000) });
  const forecast = async (posted: unknown, ...words: string[]) => {
    const file = join(directory, "leads.json");
    await writeFile(file, JSON.stringify(posted));
    return calls("forecast", "--file", file, "--client", "crm", ...words);
  };
  return { bench, calls, forecast };
}

describe("npm run calls -- forecast", () => {
  it("shows people when calls go, and what decides", async () => {
    const { code, out } = await createBench().forecast(callsOf(3));
    expect(code).toBe(0);
    expect(out).toContain("3 calls posted at 2026-06-01T10:00:00.000Z: 2 wait, 1 now.");
    expect(out).toContain("the last at 2026-06-01T10:00:20.000Z");
    expect(out).toMatch(/webhook:http.*pace/);
    expect(out).not.toContain("5550000");
  });

  it("names what a batch is refused for, and exits with 2", async () => {
    const { code, out } = await createBench().forecast([{ phone_number: "+12025550123" }]);
    expect(code).toBe(2);
    expect(out).toContain("/0/agent_id is required");
  });

  it("reads a CSV of leads as the page does, and names the lines that it cannot read", async () => {
    const { bench, calls } = createBench();
    const file = join(directory, "leads.csv");
    await writeFile(file, "Name,Mobile\nAda,(202) 555-0142\nBob,12\nEve,+1 202 555 0143\n");
    const words = ["--file", file, "--client", "crm", "--country", "US"];
    words.push("--agent", "agent_sales");
    const { code, out } = await calls("forecast", ...words);
    expect(out).toContain("2 calls posted at 2026-06-01T10:00:00.000Z: 1 wait, 1 now.");
    expect(out).toMatch(/Name → context; Mobile → number/);
    expect(out).toMatch(/Line 3 phone number/);
    expect(out).not.toMatch(/Line [24]/);
    expect(code).toBe(2);
    const { out: rows } = await calls("forecast", ...words, "--csv");
    const listed = rows.split("\n").filter((line) => /^(line|\d),/.test(line));
    expect(listed.map((line) => line.split(",")[0])).toEqual(["line", "2", "4"]);
    expect(bench.dialer.queued()).toEqual([]);
  });

  it("prints every call as CSV", async () => {
    const { out } = await createBench().forecast(callsOf(2), "--csv");
    expect(out.split("\n")).toEqual([
      "index,outcome,at,account,reason,errors",
      "0,now,2026-06-01T10:00:00.000Z,webhook:http://127.0.0.1:9,,",
      "1,wait,2026-06-01T10:00:10.000Z,webhook:http://127.0.0.1:9,pace,",
    ]);
  });

  it("compares a plan of a file with the deployed one", async () => {
    const file = join(directory, "plan.json");
    const agents = { agent_sales: { provider: "webhook", url: "http://127.0.0.1:9/dial" } };
    const plan = { agents, callingHours: { default: "always" }, destinations: { allow: ["IS"] } };
    await writeFile(file, JSON.stringify(plan));
    const { out } = await createBench().forecast(callsOf(3), "--plan", file);
    expect(out).toMatch(/deployed[^\n]*10:00:20/);
    expect(out).toMatch(/sent [^\n]*10:00:00/);
  });

  it("understands the example of the documentation", async () => {
    const posted: unknown = JSON.parse(await readFile("docs/examples/leads.json", "utf8"));
    const { out } = await createBench({}).forecast(posted);
    expect(out).toContain("1 refused, 3 now");
    expect(out).toContain("/3/time_zone");
    expect(await readFile("docs/operators.md", "utf8")).toContain("docs/examples/leads.json");
  });

  it("says what is wrong with its files", async () => {
    const { calls } = createBench();
    expect((await calls("forecast")).err).toContain("forecast needs --file");
    expect((await calls("forecast", "--file", "none.json")).err).toContain("cannot be read");
    expect((await calls("forecast", "--file", "README.md")).err).toContain("is not JSON");
  });
});

describe("npm run calls -- request", () => {
  it("prints a line for each change until the request is finished", async () => {
    const { bench, calls } = createBench();
    const response = await bench.post(callsOf(3));
    await bench.dialer.simulate(1);
    const id = response.headers.get("x-request-id") ?? "";
    const { code, out } = await calls("request", id);
    const lines = out.split("\n");
    expect(code).toBe(0);
    expect(lines.length).toBeGreaterThan(1);
    expect(lines[0]).toMatch(/^1 of 3 ended: 2 WAITING, 1 PLACED/);
    expect(lines.at(-1)).toBe("3 of 3 ended: 3 PLACED");
    expect((await calls("request", "01KAJ6Y5G0QZ3N4T7V8W9XABCD")).code).toBe(2);
  });
});

it("npm run calls -- list --csv quotes what a spreadsheet would misread", async () => {
  const { bench, calls } = createBench({
    agents: { "*": { provider: "webhook", url: "http://127.0.0.1:9/dial" } },
  });
  await bench.post([{ phone_number: "+12025550123", agent_id: '=1+"x",y' }]);
  await bench.dialer.simulate(1);
  const [head, line] = (await calls("list", "--csv")).out.split("\n");
  expect(head).toContain("id,state,reason,result,agent_id");
  expect(line).toContain(`"'=1+""x"",y"`);
});
