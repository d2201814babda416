import { describe, expect, it } from "vitest";
import { telnyx } from "#infra/stand-ins/telnyx.ts";
import { startStandIn } from "#infra/stand-ins/stand-in.ts";
import { environmentOf, forbiddenNumber, routeFields } from "../support/stand-ins.ts";
import { type PlatformUnderTest, until } from "../support/service.ts";
import { useOpenService } from "../support/use-open-service.ts";

const numbers = Array.from({ length: 20 }, (_, index) => `+13035550${100 + index}`);
const isForbidden = (number: string) => Number(number.at(-1)) % 2 === 1;
const permitted = numbers.filter((number) => !isForbidden(number));

/** Describes the whole service with a list of which Telnyx forbids every other number. */
export function describeForbiddenNumbers(platform: PlatformUnderTest): void {
  describe(`${platform.script} with numbers that Telnyx forbids`, () => {
    const bench = useOpenService(
      platform,
      async () => {
        const provider = await startStandIn(telnyx);
        const ofForbidden = numbers.filter(isForbidden);
        const when = ({ text }: { text: string }) => ofForbidden.some((one) => text.includes(one));
        provider.play({ how: "answer", ...forbiddenNumber }, { times: Infinity, when });
        return { provider };
      },
      ({ provider }) => ({
        plan: {
          agents: { "*": { provider: "telnyx", ...routeFields["telnyx"] } },
          providers: { telnyx: { baseUrl: provider.url, callsPerSecond: 1 } },
          destinations: { allow: ["US"] },
        },
        environment: environmentOf("telnyx", telnyx.secrets),
      }),
    );

    it("dials the permitted ones within a minute, and sends each once", async () => {
      await bench.post(numbers.map((phone_number) => ({ phone_number, agent_id: "a" })));
      const count = async (state: string) =>
        (await platform.rows(bench.service)).filter((row) => row.state === state).length;
      const isDone = async () => (await count("PLACED")) + (await count("REJECTED")) === 20;
      await until(isDone, { everyMs: 500 });
      expect([await count("PLACED"), await count("REJECTED")]).toEqual([10, 10]);
      const { calls, requests, problems } = bench.servers.provider;
      expect(calls.placed.map(({ number }) => number).toSorted()).toEqual(permitted);
      expect(requests).toHaveLength(20);
      expect(problems).toEqual([]);
      expect(bench.service.output()).not.toMatch(/breaker\.opened|303555/);
    });
  });
}
