import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hourMs } from "#shared/lib/units.ts";
import { messageSchema } from "#shared/ports/call-messages.ts";
import { createForecastBench } from "#test/support/forecast-bench.ts";
import { makeLeadFile } from "#test/support/lead-file.ts";
import { runCalls } from "#test/support/run-calls.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "send-"));
});
afterAll(() => rm(directory, { recursive: true }));

const from = ["--client", "crm"];
const named = ["--campaign", "spring", ...from];
const sales = ["--country", "us", "--agent", "agent_sales"];

/** Creates the command with a service and a dialer in memory. */
function createBench(plan: object = {}) {
  const bench = createForecastBench(plan);
  const calls = (...words: string[]) => runCalls(words, { app: bench.app });
  return {
    ...bench,
    calls,
    async send(text: string, ...words: string[]) {
      const file = join(directory, "leads.csv");
      await writeFile(file, text);
      return calls("send", file, ...words);
    },
    /** Dials what was accepted. Resolves to the numbers in the order of their calls. */
    async dial(): Promise<string[]> {
      for (const { open } of bench.queue.take()) {
        await bench.dialer.send(messageSchema.parse(JSON.parse(await open())));
      }
      await bench.dialer.simulate(600);
      return bench.dialer.dialed.map(({ call }) => call.request.phone_number);
    },
  };
}

describe("npm run calls -- send", () => {
  it("has each good one of 300 leads dialed once, though it is sent twice, and names each bad one", async () => {
    const { send, dial, calls } = createBench();
    const { csv, numbers, badLines } = makeLeadFile(300);
    const fix = join(directory, "fix.csv");
    const words = [...named, ...sales, "--refused", fix];
    const checked = await send(csv, ...words);
    expect([checked.code, checked.err]).toEqual([2, ""]);
    expect(checked.out).toContain("CSV, UTF-8, separated by ;, 300 rows, 291 leads.");
    expect(checked.out).toContain("Name → context; Mobile → number; Segment → context");
    expect(checked.out).toContain("Nothing was sent. To send 291 leads as client crm");
    expect(await dial()).toEqual([]);
    const sent = await send(csv, ...words, "--yes");
    expect(sent.out).toContain("Sent: 291 calls as campaign spring, in 1 request.");
    const lines = (await readFile(fix, "utf8")).trimEnd().split("\n").slice(1);
    expect(lines.map((line) => Number.parseInt(line, 10))).toEqual(badLines);
    for (const campaign of ["spring", "summer"]) {
      const again = await send(csv, "--campaign", campaign, ...from, ...sales, "--yes");
      expect([again.code, again.err]).toEqual([2, expect.stringContaining("as campaign spring.")]);
    }
    expect((await dial()).toSorted()).toEqual(numbers.toSorted());
    const listed = await calls("list", "--state", "PLACED", "--limit", "1", "--json");
    expect(JSON.parse(listed.out).campaign).toBe("spring");
  });

  it("calls nobody twice by the rows to fix, though some have the numbers of leads", async () => {
    const { send, dial } = createBench();
    const fix = join(directory, "fix.csv");
    const rows = [
      "2025550101,Mars,unread zone of a lead",
      "2025550101,UTC,the lead",
      "202-555-0101,UTC,the lead again",
      "2025550101,UTC,a lead,with too many fields",
      "20255501,UTC,a digit too few",
    ];
    const leads = `phone,tz,note\n${rows.join("\n")}\n`;
    const { code, out } = await send(leads, ...named, ...sales, "--refused", fix, "--yes");
    expect([code, out]).toEqual([2, expect.stringContaining("4 rows are not sent:")]);
    const fixed = (await readFile(fix, "utf8"))
      .replace("Mars", "UTC")
      .replace("20255501,", "2025550102,")
      .replace(",with", " with");
    await send(fixed, ...named, ...sales, "--yes");
    expect((await dial()).toSorted()).toEqual(["+12025550101", "+12025550102"]);
  });

  it("is previewed for a client's tests as the tests that it would be", async () => {
    const { send } = createBench();
    const words = ["--campaign", "spring", ...sales, "--client", "test:crm"];
    const real = await send("phone\n3035550123\n", ...named, ...sales);
    expect([real.code, real.out]).toEqual([
      0,
      expect.stringContaining("To send 1 lead as client crm,"),
    ]);
    const refused = await send("phone\n3035550123\n", ...words);
    expect([refused.code, refused.out]).toEqual([2, expect.stringContaining("1 row is not sent")]);
    const test = await send("phone\n2025550123\n", ...words);
    expect(test.out).toContain(
      "To send 1 lead as client test:crm, as tests that phone nobody, repeat",
    );
  });

  it("sends the same leads once more where --again says so", async () => {
    const { send, dial } = createBench();
    const leads = "phone\n2025550100\n2025550101\n";
    await send(leads, ...named, ...sales, "--yes");
    const checked = await send(leads, ...named, ...sales);
    expect(checked.out).toContain("Nothing was sent. To send 2 leads as client crm");
    expect(checked.out).toContain("with --yes --again: everybody is then called, also those");
    await send("phone\n2025550101\n2025550100\n", ...named, ...sales, "--yes", "--again");
    expect((await dial()).toSorted()).toEqual(
      ["+12025550100", "+12025550101"].flatMap((number) => [number, number]),
    );
  });

  it("says how to continue what was begun as another campaign, and that --again calls everybody", async () => {
    const { send, dial, app } = createBench();
    const leads = "phone\n2025550100\n2025550101\n";
    const request = app.request.bind(app);
    app.request = async (path, ...more) => {
      const url = String(path instanceof Request ? path.url : path);
      if (url.endsWith("/clients/crm/calls")) throw new Error("the request is lost");
      return request(path, ...more);
    };
    const first = ["--campaign", "spring sale", ...from, ...sales, "--yes"];
    expect(await send(leads, ...first)).toMatchObject({ code: 1 });
    app.request = request;
    const { out } = await send(leads, ...named, ...sales);
    expect(out).toContain("as campaign spring sale, 0 of 1 requests.");
    expect(out).toContain(
      "To send the rest as client crm, repeat the command with --campaign 'spring sale' --yes. With --yes --again: everybody",
    );
    expect((await send(leads, ...first)).out).toContain("Sending continues.");
    expect(await dial()).toEqual(["+12025550100", "+12025550101"]);
  });

  it("resumes with the same words if sending once more was interrupted", async () => {
    const { send, dial, app } = createBench();
    const words = [...named, ...sales, "--yes"];
    await send("phone\n2025550100\n", ...words);
    const request = app.request.bind(app);
    app.request = async (path, ...more) => {
      const answer = await request(path, ...more);
      if (String(path instanceof Request ? path.url : path).endsWith("/clients/crm/calls"))
        throw new Error("the answer is lost");
      return answer;
    };
    const interrupted = await send("phone\n2025550100\n", ...words, "--again");
    expect(interrupted).toMatchObject({ code: 1, err: expect.stringContaining("reached") });
    app.request = request;
    const { code, out } = await send("phone\n2025550100\n", ...words, "--again");
    expect([code, out]).toEqual([0, expect.stringContaining("Sending continues.")]);
    expect(await dial()).toEqual(["+12025550100", "+12025550100"]);
  });

  it("offers nobody to be fixed who was accepted before, though the service would refuse them now", async () => {
    const mondays = { callingHours: { default: { mon: ["09:00-18:00"] } }, expireAfterHours: 24 };
    const { send, dial, app, dialer } = createBench(mondays);
    const fix = join(directory, "accepted.csv");
    const words = [...named, ...sales, "--yes", "--refused", fix];
    const leads = "phone\n2025550100\n2025550101\n3105550100\n";
    const request = app.request.bind(app);
    app.request = async (path, ...more) => {
      const answer = await request(path, ...more);
      if (String(path instanceof Request ? path.url : path).endsWith("/clients/crm/calls"))
        throw new Error("the answer is lost");
      return answer;
    };
    dialer.advance(7 * hourMs);
    expect(await send(leads, ...words)).toMatchObject({ code: 1 });
    const dialed = await dial();
    expect(dialed).toHaveLength(3);
    app.request = request;
    dialer.advance(6 * hourMs);
    for (const done of ["Sent: 3 calls as campaign spring", "This file was sent"]) {
      const { out } = await send(leads, ...words);
      expect(out).toContain(done);
      expect(out).not.toContain("not sent");
    }
    dialer.advance(162 * hourMs);
    await send(await readFile(fix, "utf8").catch(() => ""), ...words);
    expect(await dial()).toEqual(dialed);
  });

  it("leaves out what is on the do-not-call list, and what the service would refuse", async () => {
    const { send, dial, calls } = createBench();
    await calls("dnc", "add", "+12025550101");
    const leads = "tel,agent,tz\n+12025550100,agent_sales,UTC\n+12025550101,agent_sales,UTC\n";
    const more = "+12025550102,agent_gone,UTC\n+33612345678,agent_sales,UTC\n";
    const { out, err, code } = await send(leads + more, ...named, "--yes");
    expect([code, err]).toEqual([2, expect.stringContaining("--refused FILE")]);
    expect(out).toMatch(/3 .*is on the do-not-call list/);
    expect(out).toMatch(/4 .*agent_id is no agent of the dial plan/);
    expect(out).toMatch(/5 .*phone_number is at a destination/);
    expect(out).toContain("Sent: 1 call as campaign spring");
    expect(await dial()).toEqual(["+12025550100"]);
  });

  it("takes columns as --map names them, and prints JSON alone", async () => {
    const { send, dial } = createBench();
    const mapped = ["--map", "number=two", "--map", "ignored=one", "--map", "agent=three"];
    const checked = await send("phone\n2025550100\n1\n", ...named, ...sales, "--json");
    expect(JSON.parse(checked.out)).toMatchObject({ calls: 1, refused: [{ line: 3 }], sent: null });
    const { out } = await send(
      "one,two,three\n2025550100,2025550101,agent_support\n",
      ...named,
      ...mapped,
      "--country",
      "US",
      "--yes",
      "--json",
    );
    expect(JSON.parse(out)).toMatchObject({ client: "crm", campaign: "spring", calls: 1 });
    expect(await dial()).toEqual(["+12025550101"]);
  });

  it("sends nothing where it is not sure which column has the numbers, also with --yes", async () => {
    const { send, dial } = createBench();
    const words = [...named, ...sales, "--yes"];
    const two = "account_no,Home Phone,Bob's Mobile\n2025550174,2025550101,2025550102\n";
    const unsure: [string, string][] = [
      [two, "--map 'number=Home Phone' or --map 'number=Bob'\\''s Mobile'"],
      [
        "account_no,reach\n2025550174,2025550101\n",
        "--map number=account_no or --map number=reach",
      ],
      ["customer_no\n2025550101\n2025550102\n2025550103\n", "--map number=customer_no"],
    ];
    for (const [leads, choices] of unsure) {
      const { code, out, err } = await send(leads, ...words);
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain(`Nothing was sent. Choose with ${choices}.`);
      const json = await send(leads, ...words, "--json");
      expect([json.code, json.out]).toEqual([2, ""]);
      // Another column that is named decides nothing.
      const other = await send(
        leads,
        ...words,
        "--map",
        "ignored=" + leads.split(",")[0]?.split("\n")[0],
      );
      expect([other.code, other.out]).toEqual([2, ""]);
    }
    expect(await dial()).toEqual([]);
    const { code } = await send(two, ...words, "--map", "number=Home Phone");
    expect([code, await dial()]).toEqual([0, ["+12025550101"]]);
  });

  it("takes a column for agents only if it has agents of the plan, and says so", async () => {
    const { send, dial } = createBench();
    const people = "phone,Agent\n2025550101,Jane Doe\n";
    const { out } = await send(people, ...named, ...sales, "--yes");
    expect(out).toContain("phone → number; Agent → context");
    expect(out).toContain("Agent is context: it names no agent of the dial plan.");
    const own = await send("phone,Agent\n2025550102,agent_support\n", ...named, ...sales);
    expect(own.out).toContain("Agent names the agent of each row.");
    const other = ["--map", "agent=Agent", "--country", "US", "--again"];
    const mapped = await send(people, ...named, ...other);
    expect(mapped.out).toContain("agent_id is no agent of the dial plan");
    expect(mapped.out).not.toContain("Agent is context");
    expect(await dial()).toEqual(["+12025550101"]);
  });

  it("says what is wrong with its words", async () => {
    const { send, calls } = createBench();
    const wrong: [string[], string][] = [
      [[], "needs --campaign"],
      [["--campaign", "x"], "--client is one that may place calls: crm, "],
      [["--campaign", "x", "--client", "nobody"], "--client is one that may place calls: crm, "],
      [[...named, "--map", "number=x"], "a column of phone"],
      [[...named, "--map", "phone=phone"], "a role of number, agent"],
      [[...named, ...sales, "--lost", "x"], "--lost is accepted or not-accepted"],
      [["--campaign", "é".repeat(65), ...from, ...sales, "--yes"], "422"],
    ];
    for (const [words, why] of wrong) {
      expect((await send("phone\n2025550100\n", ...words)).err).toContain(why);
    }
    expect((await calls("send", ...named)).err).toContain("needs a file");
    expect(await send("a,b\n1,2\n", ...named)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^Choose one column.* --map ROLE=COLUMN/),
    });
    expect(await send("[1", ...named)).toMatchObject({ code: 2 });
    expect((await calls("send", "none.csv", ...named)).err).toContain("none.csv cannot be read");
  });
});
