import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  makeStateDirectory,
  type PlatformUnderTest,
  startService,
  until,
} from "#test/support/service.ts";
import { run } from "#infra/cli/calls.ts";
import { makeLeadFile } from "#test/support/lead-file.ts";
import { callsTo, operator, post, type ServiceBench, useService } from "./setup.ts";

/** Rows of the list of leads; `npm run test:leads` sends 10,000. */
const leads = Number(process.env["LEADS"] ?? 300);

/** A short run of the whole service, for every change: it starts, dials each call once, and refuses what is wrong. */
export function describeFirstRun(platform: PlatformUnderTest): void {
  describe(`${platform.script} for the first time`, () => {
    it("prints a command that works when pasted, and simulates the call", async () => {
      const directory = await makeStateDirectory();
      const service = await startService(platform, {}, directory.path);
      const [, testToken = ""] = /^Test token: (oc_\w+),/m.exec(service.output()) ?? [];
      const [command = "", realToken = ""] =
        /^export TOKEN=(oc_\w+)\ncurl [^]*?'$/m.exec(service.output()) ?? [];
      for (const pasted of [command, command.replace(realToken, testToken)]) {
        const answered = await new Promise<string>((done) => {
          execFile("sh", ["-c", pasted], (_error, stdout) => done(stdout));
        });
        expect(answered).toMatch(/^HTTP\/1.1 201 Created/);
      }
      await until(() => service.output().includes("simulator: would dial +•••••••••23"));
      await until(() => service.output().split('"event":"call.placed"').length === 3);
      expect(await (await fetch(`${service.root}/healthz`)).text()).toBe("ok\n");
      await until(async () => (await fetch(`${service.root}/readyz`)).ok, { everyMs: 500 });
      // The tokens of this run appear in the ready block, and in no event.
      expect(service.output().split(realToken)).toHaveLength(3);
      expect(service.output().split(testToken)).toHaveLength(2);
      await service.end("SIGTERM", "npm");
      await directory.remove();
    });
  });

  describe(`${platform.script} for a short while`, () => {
    const bench = useService(platform);

    it("hands a call and a batch of 100 over, each call once, though they are posted again", async () => {
      for (let n = 0; n < 2; n++) {
        const single = callsTo("one", 1)[0];
        const one = await post(bench.service, "/v1/calls", single, { "idempotency-key": "one" });
        const batch = callsTo("hundred", 100);
        const key = { "idempotency-key": "hundred" };
        const hundred = await post(bench.service, "/v1/calls/batch", batch, key);
        expect([one.status, hundred.status]).toEqual([201, 201]);
      }
      await until(() => bench.receiver.to("/dial").length >= 101);
      await new Promise((next) => setTimeout(next, 1000));
      expect(new Set(bench.receiver.to("/dial").map(({ id }) => id)).size).toBe(101);
      expect(bench.receiver.to("/dial")).toHaveLength(101);
      expect(bench.service.output().match(/303555\d{4}|context of/)?.[0]).toBeUndefined();
    });

    it("serves the operator's page and its parts from files beside the API", async () => {
      const page = await fetch(`${bench.service.address}/operator`);
      expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'/);
      const parts = [...(await page.text()).matchAll(/(?:href|src)="(operator\/[^"]+)"/g)];
      expect(parts.map(([, path]) => path)).toEqual(["operator/page.css", "operator/page.js"]);
      for (const [, path = ""] of parts) {
        // A browser resolves the path against that of the page.
        const part = await fetch(new URL(path, page.url));
        expect([path, part.status, part.headers.get("x-content-type-options")]).toEqual([
          path,
          200,
          "nosniff",
        ]);
        expect((await part.text()).length).toBeGreaterThan(1000);
      }
    });

    it("refuses a batch for one bad element, and a request without a token", async () => {
      const before = bench.receiver.received.length;
      const calls: object[] = callsTo("bad", 100);
      calls[51] = { phone_number: "not a number", agent_id: "bad" };
      const refused = await post(bench.service, "/v1/calls/batch", calls);
      expect(await refused.json()).toMatchObject({ errors: [{ pointer: "/51/phone_number" }] });
      const call = callsTo("bad", 1)[0];
      const authorization = "Bearer oc_wrong";
      const unknown = await post(bench.service, "/v1/calls", call, { authorization });
      expect([refused.status, unknown.status]).toEqual([422, 401]);
      await new Promise((next) => setTimeout(next, 1000));
      expect(bench.receiver.received).toHaveLength(before);
    });

    it("has each good one of a list of leads dialed once, though it is sent twice, and names each bad one", async () => {
      const { csv, numbers, badLines } = makeLeadFile(leads);
      const directory = await makeStateDirectory();
      const [file, fix] = ["leads.csv", "fix.csv"].map((name) => join(directory.path, name));
      await writeFile(file ?? "", csv);
      const words = ["--campaign", "spring", "--agent", "leads", "--country", "US"];
      const send = () =>
        sendAsCommand(bench, ["send", file ?? "", ...words, "--refused", fix ?? "", "--yes"]);
      const first = await send();
      expect([first.code, first.text]).toEqual([
        2,
        expect.stringContaining(`Sent: ${numbers.length} calls as campaign spring`),
      ]);
      const second = await send();
      expect([second.code, second.text]).toEqual([
        2,
        expect.stringContaining("409 This file was sent"),
      ]);
      const lines = (await readFile(fix ?? "", "utf8")).trimEnd().split("\n").slice(1);
      expect(lines.map((line) => Number.parseInt(line, 10))).toEqual(badLines);
      const dialed = () =>
        bench.receiver
          .to("/dial")
          .map(({ text }): { agent_id: string; phone_number: string } => JSON.parse(text))
          .flatMap(({ agent_id, phone_number }) => (agent_id === "leads" ? phone_number : []));
      await until(() => dialed().length >= numbers.length, { everyMs: 500 });
      await new Promise((next) => setTimeout(next, 1000));
      expect(dialed().toSorted()).toEqual(numbers.toSorted());
      expect(bench.service.output()).not.toMatch(/Lead, \d/);
      await directory.remove();
    });
  });
}

/** Runs `npm run calls` with the token of an operator. */
async function sendAsCommand({ service }: ServiceBench, words: string[]) {
  const lines: string[] = [];
  const code = await run([...words, "--client", "test"], {
    environment: {
      OUTBOUND_CALLS_URL: service.address,
      OUTBOUND_CALLS_OPERATOR_TOKEN: operator.token,
    },
    fetch,
    print: (line) => lines.push(line),
    complain: (line) => lines.push(line),
    isInteractive: false,
    sleep: (ms) => new Promise((passed) => setTimeout(passed, ms)),
  });
  return { code, text: lines.join("\n") };
}
