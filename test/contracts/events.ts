import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { toCallId } from "#shared/calls/ids.ts";
import { createToken } from "#shared/settings/tokens.ts";
import { jsonRequest } from "../support/json-request.ts";
import { messageClientReceiver } from "../support/client-receiver-story.ts";
import { startReceiver } from "../support/receiver.ts";
import { freePort, type PlatformUnderTest, until } from "../support/service.ts";
import { useOpenService } from "../support/use-open-service.ts";
import {
  callBack,
  forgeCallbacks,
  forgedStatuses,
  type ReceivedCall,
  sharedSecret,
  verifiedCall,
} from "../support/webhook-callbacks.ts";

/** Token of the client whose receiver is killed. */
const crm = createToken();
/**
 * Clients whose receivers are well, hang, or are told of a big backlog, and one that makes receivers of its own, each
 * with its token.
 */
const others = {
  small: createToken(),
  ill: createToken(),
  big: createToken(),
  own: createToken(),
};
type Other = keyof typeof others;
/** Token of a client that the dial plan gives no receiver. */
const own = createToken();
const backlog = 600;
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
    const spoken = { status: "completed", seconds: 3, human: true };
    /** Statuses of callbacks that are right, and of wrong ones in the order of `forgedStatuses`. */
    const answered = { right: new Set<number>(), wrong: new Set<string>() };
    /**
     * Tells the end of a call twice, of every fourth one also before its own answer, and of every eighth one with wrong
     * callbacks in between.
     */
    async function reportEnd(call: ReceivedCall, answer: () => void): Promise<void> {
      const number = Number(call.phone_number.slice(-4));
      const tell = async () => answered.right.add(await callBack(call, spoken));
      if (number % 4 === 0) await tell();
      answer();
      await new Promise((next) => setTimeout(next, 500));
      if (number % 8 === 0) {
        const other = call.id.replace(/\d{5}$/, number === 8 ? "00000" : "00008");
        const statuses = await forgeCallbacks(call, other, { status: "busy" });
        answered.wrong.add(statuses.join());
      }
      await tell();
      await tell();
    }
    const noted = (): Noted[] =>
      existsSync(file)
        ? readFileSync(file, "utf8")
            .split("\n")
            .flatMap((line) => (line.endsWith("}") ? JSON.parse(line) : []))
        : [];

    const bench = useOpenService(
      platform,
      async (stateDirectory) => {
        port = await freePort();
        file = join(stateDirectory, "events.jsonl");
        await startOne();
        const taking = (_request: unknown, response: ServerResponse) =>
          void response.writeHead(204).end();
        return {
          killed: { close: endOne },
          // Each call is placed, and soon its provider tells that it was spoken.
          dialed: await startReceiver((request, response) => {
            const call = verifiedCall(request, response);
            if (call === undefined) return;
            void reportEnd(call, () => response.writeHead(200).end("{}"));
          }),
          small: await startReceiver(taking),
          big: await startReceiver(taking),
          ill: await startReceiver(() => undefined),
          own: await startReceiver(taking),
        };
      },
      ({ dialed, small, big, ill }) => ({
        plan: {
          agents: {
            "*": { provider: "webhook", url: `${dialed.url}/dial` },
            later: { provider: "rare", url: `${dialed.url}/later` },
          },
          providers: {
            webhook: { callsPerSecond: 4 },
            rare: { type: "webhook", callsPerSecond: 0.02 },
          },
          destinations: { allow: ["US"] },
          results: {},
          events: {
            crm: {
              url: `http://127.0.0.1:${port}/events`,
              types: ["call.placed", "call.ended", "request.finished"],
              echo: ["lead_id"],
              requestsPerSecond: 100,
            },
            small: { url: small.url },
            big: { url: big.url },
            ill: { url: ill.url },
          },
        },
        tokens: [
          { id: "crm", sha256: crm.sha256 },
          ...Object.entries(others).map(([id, { sha256 }]) => ({
            id,
            sha256,
            rights: id === "own" ? ["call", "events"] : ["call", "cancel"],
          })),
          { id: "story", sha256: own.sha256, rights: ["call", "events"] },
        ],
        environment: {
          EVENTS_CRM_SECRET: secret,
          WEBHOOK_SECRET: sharedSecret,
          SWEEP_SECONDS: "10",
        },
      }),
    );

    it(`loses no event though the receiver is killed ${kills.length} times, and delivers each under one id`, async () => {
      const { service, servers } = bench;
      const { dialed } = servers;
      const requestId = await bench.post(
        Array.from({ length: count }, (_, n) => ({
          phone_number: `+1303555${String(n).padStart(4, "0")}`,
          agent_id: "agent",
          context: { lead_id: `lead-${n}`, name: "Confidential" },
        })),
        crm.token,
      );
      for (const dialedBefore of kills) {
        await until(() => dialed.received.length >= dialedBefore);
        await endOne();
        await new Promise((next) => setTimeout(next, 400));
        await startOne();
      }
      const finished = `${requestId}.finished`;
      await until(() => noted().some(({ id }) => id === finished), { everyMs: 250 });
      const expected = Array.from({ length: count }, (_, n) =>
        [1, 2].map((sequence) => `${toCallId(requestId, n)}.${sequence}`),
      ).flat();
      const ids = () => new Set(noted().map(({ id }) => id));
      await until(() => ids().size === expected.length + 1, { everyMs: 250 });
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
      expect([[...answered.right], [...answered.wrong]]).toEqual([[204], [forgedStatuses.join()]]);
      expect(service.output()).not.toMatch(/result\.contradicted|call\.placed_late/);
    });

    it("delivers to a receiver that a client makes, signed with its secret", async () => {
      const call = { phone_number: "+13035570001", agent_id: "agent" };
      await messageClientReceiver(bench.service.address, own.token, call);
      expect(bench.service.output()).not.toContain("whsec_");
    });

    it("delivers to a client at once, while another's receiver hangs and a third has hundreds of events", async () => {
      const startedAt = Date.now();
      const { service, servers } = bench;
      const aCall = (n: number, agent_id = "agent") => ({
        phone_number: `+1303556${String(n).padStart(4, "0")}`,
        agent_id,
      });
      const postedTo = (client: Other) =>
        servers[client].received.filter(({ at }) => at >= startedAt);
      for (let n = 0; n < 4; n++) await bench.post(aCall(900 + n), others.ill.token);
      const calls = Array.from({ length: backlog }, (_, n) => aCall(n, "later"));
      const requestId = await bench.post(calls, others.big.token);
      await until(() => servers.ill.received.length > 0);
      const cancelled = await fetch(
        `${service.address}/v1/requests/${requestId}/cancel`,
        jsonRequest(others.big.token, "POST"),
      );
      expect(cancelled.status).toBe(200);
      await until(() => postedTo("big").length > 0);
      const ids: string[] = [];
      for (let n = 0; n < 8; n++) {
        const id = toCallId(await bench.post(aCall(800 + n), others.small.token), 0);
        ids.push(id);
        const event = () =>
          postedTo("small").find(({ text }) => text.includes("call.placed") && text.includes(id));
        await until(() => event() !== undefined, { everyMs: 20 });
      }
      const ended = () =>
        postedTo("small").filter(
          ({ text }) => text.includes("call.ended") && ids.some((id) => text.includes(id)),
        );
      await until(() => ended().length === 8);
      // The others are still where they were.
      expect(postedTo("big").length).toBeLessThan(backlog);
    });

    it("delivers to a client's own receivers while one of them hangs", async () => {
      const told = bench.servers.own;
      const askAs = async (method: string, path: string, body?: unknown): Promise<unknown> => {
        const response = await fetch(
          bench.service.address + path,
          jsonRequest(others.own.token, method, body),
        );
        expect(response.ok, `${path}: ${response.status}`).toBe(true);
        const text = await response.text();
        return text === "" ? { id: response.headers.get("x-request-id") } : JSON.parse(text);
      };
      const entry = { types: ["call.placed", "call.ended"], echo: ["lead_id"] };
      const made = await askAs("PUT", "/v1/receivers/main", { ...entry, url: told.url });
      await askAs("PUT", "/v1/receivers/ill", { ...entry, url: bench.servers.ill.url });
      await askAs("POST", "/v1/receivers/main/test");
      const context = { lead_id: "lead-own", name: "Confidential" };
      const call = { phone_number: "+13035558001", agent_id: "agent", context };
      const { id } = Object(await askAs("POST", "/v1/calls", call));
      const got = () => told.received.map(({ text }) => Object(JSON.parse(text)));
      const typesOf = () => new Set(got().map(({ type }) => String(type)));
      await until(() => typesOf().size === 3, { everyMs: 50 });
      expect([...typesOf()].toSorted()).toEqual(["call.ended", "call.placed", "receiver.test"]);
      const webhook = new Webhook(String(Object(made).secret));
      for (const { text, headers } of told.received) {
        webhook.verify(text, Object(headers));
        const { type, data } = Object(JSON.parse(text));
        if (type === "receiver.test") continue;
        expect([data.request_id, data.echo]).toEqual([id, { lead_id: "lead-own" }]);
      }
      // A try is listed after its answer has come.
      const listed = async () => {
        const { deliveries } = Object(await askAs("GET", "/v1/receivers/main/deliveries"));
        return new Set([deliveries].flat().map(({ type, status }) => `${type} ${status}`));
      };
      await until(async () => (await listed()).size === 3);
      expect([...(await listed())].toSorted()).toEqual([
        "call.ended 204",
        "call.placed 204",
        "receiver.test 204",
      ]);
      expect(bench.service.output()).not.toMatch(/3035558001|Confidential|lead-own/);
    });
  });
}
