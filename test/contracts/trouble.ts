import { afterAll, describe, expect, it } from "vitest";
import { createToken } from "#shared/settings/tokens.ts";
import type { Received, startReceiver } from "../support/receiver.ts";
import { callsTo, startReceiverBench } from "../support/schedule-bench.ts";
import { type PlatformUnderTest, until } from "../support/service.ts";

const tokens = { big: createToken(), small: createToken() };
type Client = keyof typeof tokens;

const seconds = (count: number) => count * 1000;
/** Duration of the outage. The simulation has one of 90 s, and of up to 5,000 calls. */
const outageSeconds = 30;

/**
 * Waits until it is a scenario's turn to begin. Thousands of calls accepted at one moment by eight services on two
 * cores would measure the stand-ins of the stores.
 */
function startAfter(secondsToWait: number, { script }: PlatformUnderTest): Promise<void> {
  const turn = seconds(script === "start" ? secondsToWait : secondsToWait + 6);
  return new Promise((next) => setTimeout(next, turn));
}

/** Ids of calls that were sent again though an earlier request may have rung, in any try of any scenario. */
const sentTwice: string[] = [];

/** Notes the calls of which another request came after one that was not refused. */
function countSentTwice(received: readonly Received[], refused: ReadonlySet<Received>): void {
  const rung = new Set<string>();
  for (const one of received.filter(({ path, id }) => path === "/dial" && id !== "")) {
    if (rung.has(one.id)) sentTwice.push(one.id);
    if (!refused.has(one)) rung.add(one.id);
  }
}

/** Starts a separate service with a receiver, under a plan. */
async function startBench(
  platform: PlatformUnderTest,
  planOf: (url: string) => object,
  answer?: Parameters<typeof startReceiver>[0],
  environment: Record<string, string> = {},
) {
  const entries = Object.entries(tokens).map(([id, { sha256 }]) => ({ id, sha256 }));
  const bench = await startReceiverBench(
    platform,
    (url) => ({ plan: planOf(url), tokens: entries, environment }),
    answer,
  );
  return {
    ...bench,
    post: (calls: object[], client: Client = "big") => bench.post(calls, tokens[client].token),
    /** Ends the service. `refused`: requests that surely rang nobody. */
    async end(refused: ReadonlySet<Received> = new Set()) {
      countSentTwice(bench.received, refused);
      await bench.end();
    },
  };
}

/** Describes one caller's trouble beside another's calls, on any platform. */
export function describeTrouble(platform: PlatformUnderTest): void {
  describe(`${platform.script}, idle`, () => {
    it("dials a lone call by its own delivery, at least half of the time", async () => {
      const bench = await startBench(platform, (url) => ({
        agents: { "*": { provider: "webhook", url: `${url}/dial` } },
      }));
      for (let n = 1; n <= 15; n++) {
        await bench.post(callsTo(`lone_${n}`, 1));
        await until(() => bench.received.length === n, { everyMs: 5 });
        await new Promise((next) => setTimeout(next, 200));
      }
      const waited = bench.service.output().match(/"event":"call\.waiting"/g) ?? [];
      await bench.end();
      // The first one ever of an account waits for a look.
      expect(waited.length).toBeLessThanOrEqual(8);
    });
  });

  // The tests run concurrently, each with a service of its own, as they mostly wait.
  describe.concurrent(`${platform.script} with trouble`, () => {
    afterAll(() => expect(sentTwice).toEqual([]));

    it("dials 80 calls of one host in time, while another hangs on 600", async () => {
      await startAfter(4, platform);
      const bench = await startBench(
        platform,
        (url) => ({
          agents: {
            hangs: { provider: "hanging", url: `${url}/hangs` },
            works: { provider: "paced", url: `${url}/dial` },
          },
          providers: {
            hanging: { type: "webhook", timeoutSeconds: 5 },
            paced: { type: "webhook", callsPerSecond: 2 },
          },
        }),
        (request, response) => {
          if (request.path !== "/hangs") response.writeHead(200).end("{}");
        },
      );
      await bench.post(callsTo("hangs", 600));
      await until(() => bench.receivedBy("hangs").length > 0);
      await bench.post(callsTo("works", 80));
      await until(() => bench.receivedBy("works").length === 80).catch(() => {});
      const hung = bench.receivedBy("hangs").length;
      await bench.end();
      expect(bench.receivedBy("works")).toHaveLength(80);
      // All of them were dialed while most of the others still waited.
      expect(hung).toBeLessThan(300);
    });

    it("dials another client's calls on the same account, beside 200 that are answered 500", async () => {
      await startAfter(32, platform);
      const bench = await startBench(
        platform,
        (url) => ({
          agents: {
            bad: { provider: "vapi", agent: "assistant-bad", from: "number-1" },
            good: { provider: "vapi", agent: "assistant-good", from: "number-1" },
          },
          providers: { vapi: { baseUrl: url, callsPerSecond: 5, timeoutSeconds: 5 } },
        }),
        (request, response) => {
          if (request.text.includes("assistant-bad")) response.writeHead(500).end("{}");
          else response.writeHead(201).end(JSON.stringify({ id: `call-${Math.random()}` }));
        },
        { VAPI_API_KEY: "key" },
      );
      const of = (assistant: string) =>
        bench.received.filter(({ path, text }) => path === "/call" && text.includes(assistant));
      await bench.post(callsTo("bad", 200), "big");
      await bench.post(callsTo("good", 60), "small");
      await until(() => of("assistant-good").length === 60).catch(() => {});
      const failed = of("assistant-bad").length;
      await bench.end();
      expect(of("assistant-good")).toHaveLength(60);
      // They kept their share of the account's pace: how long that takes is shown in simulated time.
      expect(failed).toBeLessThan(100);
    });

    it("fills the five lines of a receiver that answers 429 while they are busy", async () => {
      await startAfter(14, platform);
      let busy = 0;
      const taken = new Set<string>();
      const refusedOnes = new Set<Received>();
      const bench = await startBench(
        platform,
        (url) => ({ agents: { "*": { provider: "webhook", url: `${url}/dial` } } }),
        (request, response) => {
          if (busy >= 5) {
            refusedOnes.add(request);
            response.writeHead(429).end("{}");
            return;
          }
          busy += 1;
          setTimeout(() => (busy -= 1), seconds(1));
          taken.add(request.id);
          response.writeHead(200).end("{}");
        },
      );
      await bench.post(callsTo("campaign", 60));
      await until(() => taken.size === 60).catch(() => {});
      const refused = bench.received.length - taken.size;
      await bench.end(refusedOnes);
      expect(taken.size).toBe(60);
      expect(refused).toBeLessThan(80);
    });

    it("sends few of 200 calls into an outage, and the others soon after it", async () => {
      await startAfter(0, platform);
      let isOut = true;
      const answered = { failed: new Set<string>(), placed: new Set<string>() };
      const bench = await startBench(
        platform,
        (url) => ({ agents: { "*": { provider: "webhook", url: `${url}/dial` } } }),
        (request, response) => {
          if (isOut) answered.failed.add(request.id);
          else answered.placed.add(request.id);
          response.writeHead(isOut ? 500 : 200).end("{}");
        },
      );
      await bench.post(callsTo("campaign", 200));
      await new Promise((next) => setTimeout(next, seconds(outageSeconds)));
      isOut = false;
      const isDone = () => answered.failed.size + answered.placed.size >= 200;
      await until(isDone, { everyMs: 500 }).catch(() => {});
      await bench.end();
      expect(answered.failed.size).toBeLessThanOrEqual(60);
      expect(answered.failed.size + answered.placed.size).toBe(200);
      // A call sent during the outage may have been placed: it is never sent again.
      for (const id of answered.failed) expect(answered.placed.has(id)).toBe(false);
    });

    it("dials one client's single call in time, beside another's 800 at five a second", async () => {
      await startAfter(23, platform);
      const bench = await startBench(platform, (url) => ({
        agents: { "*": { provider: "webhook", url: `${url}/dial` } },
        providers: { webhook: { callsPerSecond: 5 } },
      }));
      await bench.post(callsTo("campaign", 800), "big");
      await until(() => bench.receivedBy("campaign").length >= 10);
      await bench.post(callsTo("single", 1), "small");
      await until(() => bench.receivedBy("single").length === 1).catch(() => {});
      const before = bench.receivedBy("campaign").length;
      await bench.end();
      expect(bench.receivedBy("single")).toHaveLength(1);
      // The moments of the next eight seconds, 40, are given out when it comes. A busy machine takes longer.
      expect(before).toBeLessThan(300);
    });
  });
}
