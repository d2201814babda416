import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { requestIdOf } from "#shared/calls/ids.ts";
import { minuteMs } from "#shared/lib/units.ts";
import { attributeOf, readSpans } from "../support/collector.ts";
import { startReceiver } from "../support/receiver.ts";
import { type PlatformUnderTest, until } from "../support/service.ts";
import { useOpenService } from "../support/use-open-service.ts";

/** Calls that are posted one after another, so that each has a delivery with spans of its own. */
const callsMax = 25;
/** Time after a failure in which a process sends nothing (docs/traces.md). */
const pauseMs = minuteMs;

/** Ways in which a collector keeps its senders waiting. It reads what they send. */
const slowAnswers: Record<string, (response: ServerResponse) => void> = {
  "answers nothing": () => undefined,
  "answers after three seconds": (response) => {
    setTimeout(() => response.end("{}"), 3_000);
  },
};
const prompt = (response: ServerResponse) => void response.end("{}");

/**
 * Describes the whole service with a collector that is up and slow.
 *
 * @param processes functions of the dialer that send spans or metrics at once, each with a breaker of its own
 */
export function describeSlowCollectors(platform: PlatformUnderTest, processes: number): void {
  describe(`${platform.script} with a slow collector`, () => {
    let answer: (response: ServerResponse) => void = prompt;
    /** Requests that the collector has, and has not answered. */
    const open = new Set<ServerResponse>();
    const bench = useOpenService(
      platform,
      async () => ({
        collector: await startReceiver((_one, response) => {
          open.add(response);
          response.on("close", () => open.delete(response));
          answer(response);
        }),
        provider: await startReceiver((one, response) =>
          response.writeHead(201).end(JSON.stringify({ id: `placed ${one.id}` })),
        ),
      }),
      ({ collector, provider }) => ({
        plan: {
          agents: { sales: { provider: "webhook", url: `${provider.url}/dial` } },
          traces: { share: 1 },
        },
        environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
      }),
    );

    const posted: string[] = [];
    const idsDialed = () => bench.servers.provider.received.map(({ id }) => requestIdOf(id));
    /** Posts a call, and waits until it is dialed. */
    const postOne = async (): Promise<string> => {
      const id = await bench.post({ phone_number: "+13035550123", agent_id: "sales" });
      posted.push(id);
      await until(() => idsDialed().includes(id));
      return id;
    };
    const haveSpans = (id: string) =>
      bench.servers.collector
        .to("/v1/traces")
        .some(({ text }) => readSpans(text).some((span) => attributeOf(span, "request_id") === id));
    const linesOf = (event: string) =>
      bench.service
        .output()
        .split("\n")
        .filter((line) => line.includes(`"${event}"`));

    it.each(Object.keys(slowAnswers))(
      "that %s delays no call, and has the next spans",
      async (how) => {
        const { collector } = bench.servers;
        answer = prompt;
        const first = await postOne();
        await until(() => haveSpans(first));

        answer = slowAnswers[how] ?? prompt;
        const told = linesOf("traces.not_sent").length;
        await postOne();
        await until(() => linesOf("traces.not_sent").length > told);
        expect(linesOf("traces.not_sent").at(-1)).toContain("TimeoutError");
        const asked = collector.received.length;
        const beganAt = Date.now();
        for (let count = 0; count < callsMax; count++) await postOne();
        // Each process learns of it by one request, and has one a minute. Without that each delivery would have its own.
        const minutes = Math.ceil((Date.now() - beganAt) / pauseMs);
        expect(collector.received.length - asked).toBeLessThanOrEqual(processes * minutes);
        // The service ends them, though nobody answers.
        await until(() => open.size === 0);

        answer = prompt;
        let last = "";
        await until(
          async () => {
            if (last !== "" && haveSpans(last)) return true;
            last = await postOne();
            return haveSpans(last);
          },
          { everyMs: 2_000 },
        );
      },
    );

    it("has dialed each call once, in its first delivery", async () => {
      expect(idsDialed().toSorted()).toEqual(posted.toSorted());
      const arePlaced = async () =>
        (await platform.rows(bench.service)).every(({ state }) => state === "PLACED");
      await until(arePlaced);
      const rows = await platform.rows(bench.service);
      expect(rows).toHaveLength(posted.length);
      const once = { attempt: 1, claims: 1 };
      for (const { attempt, claims } of rows)
        expect({ attempt, claims: claims.length }).toEqual(once);
      expect(linesOf("alarm")).toEqual([]);
    });
  });
}
