import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callIdOf } from "../../shared/calls/ids.ts";
import { createToken } from "../../shared/platform/tokens.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  freePort,
  makeStateDirectory,
  type PlatformUnderTest,
  type RunningService,
  startService,
  until,
} from "../support/service.ts";

const { token, sha256 } = createToken();
const secret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
const script = join(import.meta.dirname, "../support/event-receiver.ts");
const count = 80;
/**
 * Numbers of dialed calls at which the receiver is killed: so far apart that an event that failed is tried again in
 * between.
 */
const kills = [20, 56];

interface Noted {
  id: string;
  body: string;
}

/** Describes telling events, on the whole service, to a receiver that is killed while calls are placed. */
export function describeEvents(platform: PlatformUnderTest): void {
  describe(`${platform.script} with a receiver of events`, () => {
    let service: RunningService;
    let directory: Awaited<ReturnType<typeof makeStateDirectory>>;
    let dialed: Awaited<ReturnType<typeof startReceiver>>;
    let receiver: ChildProcess | undefined;
    let port: number;
    let file: string;
    const startOne = async () => {
      receiver = spawn(process.execPath, [script, String(port), file, secret], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      if (receiver.stdout !== null) await once(receiver.stdout, "data");
    };
    const endOne = async () => {
      receiver?.kill("SIGKILL");
      if (receiver?.exitCode === null && receiver.signalCode === null) await once(receiver, "exit");
    };
    const noted = (): Noted[] =>
      existsSync(file)
        ? readFileSync(file, "utf8")
            .split("\n")
            .flatMap((line) => (line.endsWith("}") ? JSON.parse(line) : []))
        : [];

    beforeAll(async () => {
      directory = await makeStateDirectory();
      port = await freePort();
      file = join(directory.path, "events.jsonl");
      await startOne();
      // Each call is placed, and soon its provider tells that it was spoken.
      dialed = await startReceiver(({ text }, response) => {
        response.writeHead(200).end("{}");
        const { callback_url } = Object(JSON.parse(text));
        setTimeout(() => {
          const body = JSON.stringify({ status: "completed", seconds: 3, human: true });
          void fetch(String(callback_url), { method: "POST", body }).catch(() => undefined);
        }, 500);
      });
      service = await startService(
        platform,
        {
          API_TOKENS: JSON.stringify([{ id: "crm", sha256 }]),
          EVENTS_CRM_SECRET: secret,
          SWEEP_SECONDS: "10",
          DIAL_PLAN: JSON.stringify({
            agents: { "*": { provider: "webhook", url: `${dialed.url}/dial` } },
            providers: { webhook: { callsPerSecond: 4 } },
            callingHours: { default: "always" },
            destinations: { allow: ["US"] },
            results: {},
            events: {
              crm: {
                url: `http://127.0.0.1:${port}/events`,
                types: ["call.placed", "call.ended", "request.finished"],
                echo: ["lead_id"],
                requestsPerSecond: 100,
              },
            },
          }),
        },
        directory.path,
      );
    });
    afterAll(async () => {
      await endOne();
      await service.end("SIGTERM");
      await dialed.close();
      await directory.remove();
    });

    it(`loses no event though the receiver is killed ${kills.length} times, and tells each under one id`, async () => {
      const response = await fetch(`${service.address}/v1/calls/batch`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(
          Array.from({ length: count }, (_, n) => ({
            phone_number: `+1303555${String(n).padStart(4, "0")}`,
            agent_id: "agent",
            context: { lead_id: `lead-${n}`, name: "Confidential" },
          })),
        ),
      });
      expect(response.status).toBe(201);
      const requestId = response.headers.get("x-request-id") ?? "";
      for (const dialedBefore of kills) {
        await until(() => dialed.received.length >= dialedBefore, 60_000);
        await endOne();
        await new Promise((next) => setTimeout(next, 400));
        await startOne();
      }
      const finished = `${requestId}.finished`;
      await until(() => noted().some(({ id }) => id === finished), 100_000, 250);
      const expected = Array.from({ length: count }, (_, n) =>
        [1, 2].map((sequence) => `${callIdOf(requestId, n)}.${sequence}`),
      ).flat();
      const ids = () => new Set(noted().map(({ id }) => id));
      await until(() => ids().size === expected.length + 1, 100_000, 250);
      expect([...ids()].toSorted()).toEqual([...expected, finished].toSorted());

      const bodies = new Map<string, string>();
      for (const { id, body } of noted()) {
        expect(body).toBe(bodies.get(id) ?? body);
        bodies.set(id, body);
      }
      const types = ["call.placed", "call.ended"];
      for (const id of expected) {
        const { type, data } = JSON.parse(bodies.get(id) ?? "");
        expect([type, data.echo]).toEqual([
          types[data.sequence - 1],
          { lead_id: `lead-${data.index}` },
        ]);
      }
      expect(JSON.parse(bodies.get(finished) ?? "").data).toMatchObject({
        total: count,
        counts: { by_state: { PLACED: count }, by_result: { completed: count } },
      });
      expect([...bodies.values()].join()).not.toMatch(/303555|Confidential/);
      expect(service.output()).not.toMatch(/303555|Confidential|lead-\d/);
      expect(dialed.received).toHaveLength(count);
    }, 240_000);
  });
}
