import { describe, expect, it } from "vitest";
import { jsonRequest } from "../support/json-request.ts";
import { token } from "../support/open-service.ts";
import { startReceiver } from "../support/receiver.ts";
import { type PlatformUnderTest, until } from "../support/service.ts";
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

interface Told {
  type: string;
  data: Record<string, unknown>;
}

/** Describes calls that are tried again, on the whole service with a webhook that calls back. */
export function describeRetriedService(platform: PlatformUnderTest): void {
  describe(`${platform.script} with retries`, () => {
    const dialed: { phone_number: string; at: number }[] = [];
    const told: Told[] = [];
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
          setTimeout(() => void callBack(call, { status }), 300);
        }),
        receiver: await startReceiver(({ text }, response) => {
          told.push(JSON.parse(text));
          response.writeHead(204).end();
        }),
      }),
      ({ provider, receiver }) => {
        const retry = { attempts: 3, within: "24h", after: { busy: "5m", no_answer: "10m" } };
        return {
          plan: {
            agents: { of_webhook: { provider: "webhook", url: `${provider.url}/dial`, retry } },
            destinations: { allow: ["US"] },
            results: {},
            events: { "*": { url: receiver.url, types: ["call.ended", "request.finished"] } },
          },
          rights: ["call", "read"],
          environment: { WEBHOOK_SECRET: sharedSecret, RETRY_SPEED: String(speed) },
        };
      },
    );

    it("tries busy and unanswered calls again at the planned times, and nobody who declined", async () => {
      const post = (phone_number: string) => bench.post({ phone_number, agent_id: "of_webhook" });
      const [first, second] = [await post(retried), await post(declined)];
      const finished = () => told.filter(({ type }) => type === "request.finished");
      await until(() => finished().length === 2, { everyMs: 250 });

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
  });
}
