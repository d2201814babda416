import { describe, expect, it } from "vitest";
import { startStandIn } from "#infra/stand-ins/stand-in.ts";
import { ultravox } from "#infra/stand-ins/ultravox.ts";
import { jsonRequest } from "../support/json-request.ts";
import { token } from "../support/open-service.ts";
import { startReceiver } from "../support/receiver.ts";
import { type PlatformUnderTest, until } from "../support/service.ts";
import { environmentOf, routeFields } from "../support/stand-ins.ts";
import { useOpenService } from "../support/use-open-service.ts";
import { callBack, sharedSecret, verifiedCall } from "../support/webhook-callbacks.ts";

/** Retries come so many times sooner than the plan says. */
const speed = 300;
const delaysMs = [300_000 / speed, 600_000 / speed];
/** The end of each try, by the number. */
const ends: Record<string, string[]> = {
  "+13035551000": ["busy", "no_answer", "completed"],
  "+13035551001": ["declined", "completed"],
};
const [retried = "", declined = ""] = Object.keys(ends);
/** Callees who ask to be called back in some seconds: the webhook's, and that of the stand-in. */
const asking = ["+13035551002", "+13035551114"] as const;
const callBackSeconds = 5;

const eventTypes = ["call.ended", "call.call_back", "request.finished"];

/** Starts Ultravox, whose calls end after a second. */
async function startUltravox() {
  const standIn = await startStandIn(ultravox);
  Object.assign(standIn.settings, { ringSeconds: 0, talkSeconds: 1, callBackSeconds });
  return standIn;
}

interface Told {
  type: string;
  data: Record<string, unknown>;
}

/** Describes calls that follow others, on the whole service with a webhook that calls back and Ultravox's stand-in. */
export function describeRetriedService(platform: PlatformUnderTest): void {
  describe(`${platform.script} with retries`, () => {
    const dialed: { phone_number: string; at: number }[] = [];
    const told: Told[] = [];
    /** Times for which the webhook's callee asked. */
    const wished: number[] = [];
    const bench = useOpenService(
      platform,
      async () => ({
        provider: await startReceiver((request, response) => {
          const call = verifiedCall(request, response);
          if (call === undefined) return;
          const { phone_number } = call;
          const before = dialed.filter((one) => one.phone_number === phone_number).length;
          dialed.push({ phone_number, at: Date.now() });
          response.writeHead(200).end("{}");
          const status = ends[phone_number]?.[before] ?? "completed";
          const at = Math.floor(Date.now() / 1000 + callBackSeconds) * 1000;
          const isAsking = phone_number === asking[0] && before === 0;
          if (isAsking) wished.push(at);
          const wish = isAsking ? { call_back_at: new Date(at).toISOString() } : {};
          // The last one may come once the test has ended, and the service is gone.
          const report = () => callBack(call, { status, ...wish }).catch(() => undefined);
          setTimeout(() => void report(), 300);
        }),
        standIn: await startUltravox(),
        receiver: await startReceiver(({ text }, response) => {
          told.push(JSON.parse(text));
          response.writeHead(204).end();
        }),
      }),
      ({ provider, receiver, standIn }) => {
        const callBacks = { within: "1d", most: 1 };
        const retry = { attempts: 3, within: "24h", after: { busy: "5m", no_answer: "10m" } };
        return {
          plan: {
            agents: {
              of_webhook: { provider: "webhook", url: `${provider.url}/dial`, retry, callBacks },
              of_ultravox: { provider: "ultravox", ...routeFields["ultravox"], callBacks },
            },
            providers: { ultravox: { baseUrl: standIn.url } },
            destinations: { allow: ["US"] },
            results: {},
            events: { "*": { url: receiver.url, types: eventTypes } },
          },
          rights: ["call", "read"],
          environment: {
            ...environmentOf("ultravox", ultravox.secrets),
            WEBHOOK_SECRET: sharedSecret,
            RETRY_SPEED: String(speed),
          },
        };
      },
    );

    it("tries busy and unanswered calls again at the planned times, and nobody who declined", async () => {
      const post = (phone_number: string) => bench.post({ phone_number, agent_id: "of_webhook" });
      const [first, second] = [await post(retried), await post(declined)];
      const toldOf = (what: string) => told.filter(({ type }) => type === what);
      // Events come in any order: the last end may be told after its request's.
      await until(
        () => toldOf("request.finished").length === 2 && toldOf("call.ended").length >= 4,
        { everyMs: 250 },
      );

      const times = dialed.flatMap((one) => (one.phone_number === retried ? one.at : []));
      expect(times).toHaveLength(3);
      for (const [index, delayMs] of delaysMs.entries()) {
        expect((times[index + 1] ?? 0) - (times[index] ?? 0)).toBeGreaterThanOrEqual(delayMs);
      }
      expect(dialed.filter((one) => one.phone_number === declined)).toHaveLength(1);
      const endsOf = (id: string) =>
        told
          .filter(({ type, data }) => type === "call.ended" && data["request_id"] === id)
          .map(({ data }) => [data["try"], data["tries_left"], Object(data["result"]).status])
          .toSorted(([one], [other]) => Number(one) - Number(other));
      expect(endsOf(first)).toEqual([
        [1, 2, "busy"],
        [2, 1, "no_answer"],
        [3, 0, "completed"],
      ]);
      expect(endsOf(second)).toEqual([[1, 0, "declined"]]);
      const response = await fetch(
        `${bench.service.address}/v1/requests/${first}`,
        jsonRequest(token, "GET"),
      );
      expect(await response.json()).toMatchObject({
        finished: true,
        counts: { by_state: { PLACED: 1 }, by_result: { completed: 1 } },
        calls: [{ tries: [{}, {}, { result: { status: "completed" } }] }],
      });
      for (const row of await platform.rows(bench.service)) expect(row.request).toBeNull();
    });

    it("calls callees back once who asked for it, by a webhook's callback and by a provider's record", async () => {
      const { standIn } = bench.servers;
      const [ofWebhook, ofUltravox] = [
        await bench.post({ phone_number: asking[0], agent_id: "of_webhook" }),
        await bench.post({ phone_number: asking[1], agent_id: "of_ultravox" }),
      ];
      const posts = () => standIn.requests.filter(({ text }) => text.includes(asking[1]));
      await until(() => posts().length === 1, { everyMs: 250 });
      // The stand-in's call has ended by then, and its provider calls back.
      await new Promise((next) => setTimeout(next, 1_500));
      const [url] =
        /http:\/\/127\.0\.0\.1:\d+\/callbacks\/[^"&\s]+/.exec(posts()[0]?.text ?? "") ?? [];
      expect((await fetch(url ?? "", { method: "POST", body: "{}" })).status).toBe(204);
      const times = () => dialed.flatMap((one) => (one.phone_number === asking[0] ? one.at : []));
      await until(() => times().length === 2 && posts().length === 2, { everyMs: 250 });
      expect(times()[1]).toBeGreaterThanOrEqual(wished[0] ?? Infinity);
      const promises = (id: string) =>
        told.filter(({ type, data }) => type === "call.call_back" && data["request_id"] === id);
      for (const id of [ofWebhook, ofUltravox]) {
        await until(() => promises(id).length > 0);
        expect(promises(id)).toMatchObject([
          { data: { call_back: { by: "service", reason: null } } },
        ]);
      }
      const finished = () =>
        told.filter(({ type, data }) => {
          return type === "request.finished" && data["request_id"] === ofWebhook;
        });
      await until(() => finished().length === 1, { everyMs: 250 });
      expect(finished()).toMatchObject([{ data: { counts: { promised: 1 } } }]);
    });
  });
}
