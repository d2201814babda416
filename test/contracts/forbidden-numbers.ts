import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { telnyx } from "../../infra/stand-ins/telnyx.ts";
import { startStandIn, type StandIn } from "../../infra/stand-ins/stand-in.ts";
import { createToken } from "../../shared/settings/tokens.ts";
import { environmentOf, forbiddenNumber, routeFields } from "../support/stand-ins.ts";
import {
  makeStateDirectory,
  type PlatformUnderTest,
  type RunningService,
  startService,
  until,
} from "../support/service.ts";

const { token, sha256 } = createToken();
const numbers = Array.from({ length: 20 }, (_, index) => `+13035550${100 + index}`);
const isForbidden = (number: string) => Number(number.at(-1)) % 2 === 1;
const permitted = numbers.filter((number) => !isForbidden(number));

/** Describes the whole service with a list of which Telnyx forbids every other number. */
export function describeForbiddenNumbers(platform: PlatformUnderTest): void {
  describe(`${platform.script} with numbers that Telnyx forbids`, () => {
    let provider: StandIn;
    let service: RunningService;
    let directory: Awaited<ReturnType<typeof makeStateDirectory>>;
    beforeAll(async () => {
      directory = await makeStateDirectory();
      provider = await startStandIn(telnyx);
      const ofForbidden = numbers.filter(isForbidden);
      const when = ({ text }: { text: string }) => ofForbidden.some((one) => text.includes(one));
      provider.play({ how: "answer", ...forbiddenNumber }, { times: Infinity, when });
      const environment = {
        API_TOKENS: JSON.stringify([{ id: "test", sha256 }]),
        ...environmentOf("telnyx", telnyx.secrets),
        DIAL_PLAN: JSON.stringify({
          agents: { "*": { provider: "telnyx", ...routeFields["telnyx"] } },
          providers: { telnyx: { baseUrl: provider.url, callsPerSecond: 1 } },
          callingHours: { default: "always" },
          destinations: { allow: ["US"] },
        }),
      };
      service = await startService(platform, environment, directory.path);
    });
    afterAll(async () => {
      await service.end("SIGTERM");
      await provider.close();
      await directory.remove();
    });

    it("dials the permitted ones within a minute, and sends each once", async () => {
      const response = await fetch(`${service.address}/v1/calls/batch`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(numbers.map((phone_number) => ({ phone_number, agent_id: "a" }))),
      });
      expect(response.status).toBe(201);
      const count = async (state: string) =>
        (await platform.rows(service)).filter((row) => row.state === state).length;
      const isDone = async () => (await count("PLACED")) + (await count("REJECTED")) === 20;
      await until(isDone, 60_000, 500);
      expect([await count("PLACED"), await count("REJECTED")]).toEqual([10, 10]);
      const { calls, requests, problems } = provider;
      expect(calls.placed.map(({ number }) => number).toSorted()).toEqual(permitted);
      expect(requests).toHaveLength(20);
      expect(problems).toEqual([]);
      expect(service.output()).not.toMatch(/breaker\.opened|303555/);
    });
  });
}
