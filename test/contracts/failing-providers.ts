import { describe, expect, it } from "vitest";
import type { StandInRequest } from "#infra/stand-ins/endpoint.ts";
import type { Failure } from "#infra/stand-ins/failures.ts";
import { startStandIn, type StandIn } from "#infra/stand-ins/stand-in.ts";
import { environmentOf, imitationOf } from "../support/stand-ins.ts";
import { type PlatformUnderTest, until } from "../support/service.ts";
import { useOpenService } from "../support/use-open-service.ts";

const count = 24;
/** Returns a number: indexes 0 to 23 belong to Vapi, 24 to 47 to Retell, and those from 48 on to Twilio. */
const numberOf = (index: number) => `+13035550${String(100 + index)}`;

/** True for a third of the numbers: with more of them unanswered, the account's breaker would open. */
const isTroubled = (number: string) => Number(number.slice(-2)) % 3 === 0;
const isEven = (number: string) => Number(number.at(-1)) % 2 === 0;
/** Selects requests by the number that they are to phone, which is in the body as JSON or as a form. */
const to =
  (isMeant: (number: string) => boolean) =>
  ({ text }: StandInRequest) =>
    isMeant(/(?:\+|%2B)(1303555\d{4})/.exec(text)?.[1] ?? "");

const start = (type: string) => startStandIn(imitationOf(type));

/** Starts a provider that answers 429 to the first two requests of every third call, and refuses numbers that end in 7. */
async function startVapi(): Promise<StandIn> {
  const vapi = await start("vapi");
  const body = { message: ["customer.number must be …"], statusCode: 400 };
  const endsIn7 = to((number) => number.endsWith("7"));
  vapi.play({ how: "answer", status: 400, body }, { times: Infinity, when: endsIn7 });
  const headers = { "retry-after": "1" };
  for (let index = 0; index < count; index += 3) {
    const when = to((number) => `+${number}` === numberOf(index));
    vapi.play({ how: "answer", status: 429, body: {}, headers }, { times: 2, when });
  }
  return vapi;
}

/** Starts a provider that fails for troubled numbers, and phones the even ones of them nevertheless. */
async function startTroubled(
  type: string,
  failure: Exclude<Failure, { how: "slow" }>,
): Promise<StandIn> {
  const standIn = await start(type);
  const isPhoned = to((number) => isTroubled(number) && isEven(number));
  standIn.play({ ...failure, places: true }, { times: Infinity, when: isPhoned });
  standIn.play(failure, { times: Infinity, when: to(isTroubled) });
  return standIn;
}

/** Describes the whole service with providers that fail, each in its own way. */
export function describeFailingProviders(platform: PlatformUnderTest): void {
  describe(`${platform.script} with three providers that fail`, () => {
    const bench = useOpenService(
      platform,
      async () => ({
        vapi: await startVapi(),
        retell: await startTroubled("retell", { how: "hang" }),
        twilio: await startTroubled("twilio", {
          how: "answer",
          status: 500,
          body: { code: 20500, message: "Internal Server Error" },
        }),
      }),
      ({ vapi, retell, twilio }) => {
        const limits = { timeoutSeconds: 2, concurrency: 5, callsPerSecond: 10, burst: 5 };
        return {
          plan: {
            agents: {
              vapi: { provider: "vapi", agent: "asst_9", from: "phone_1" },
              retell: { provider: "retell-us", from: "+12025550100" },
              twilio: { provider: "twilio", from: "+12025550100", stream: "wss://example.com/" },
            },
            providers: {
              vapi: { baseUrl: vapi.url, ...limits },
              "retell-us": { type: "retell", baseUrl: retell.url, ...limits },
              twilio: { baseUrl: twilio.url, ...limits },
            },
            reviewAfterSeconds: 30,
          },
          environment: {
            ...environmentOf("vapi", imitationOf("vapi").secrets),
            ...environmentOf("retell-us", imitationOf("retell").secrets),
            ...environmentOf("twilio", imitationOf("twilio").secrets),
          },
        };
      },
    );

    it("phones nobody twice, and hands to a person exactly those that could not be known", async () => {
      const { vapi, retell, twilio } = bench.servers;
      const calls = ["vapi", "retell", "twilio"].flatMap((agent_id, provider) =>
        Array.from({ length: count }, (_, n) => ({
          phone_number: numberOf(provider * count + n),
          agent_id,
          context: { name: `context ${n}` },
        })),
      );
      // Two simultaneous calls to one number: Twilio phones both, and its list cannot tell them apart.
      const twice = { phone_number: "+13035550190", agent_id: "twilio" };
      // These calls go first and alone, so that both are under way at the same time whatever happens to the
      // others.
      await bench.post([twice, twice]);
      await until(() => twilio.requests.length === 2);
      await bench.post(calls);
      const ended = new Set<string>(["PLACED", "REJECTED", "NEEDS_REVIEW"]);
      const open = async () => {
        const rows = await platform.rows(bench.service);
        const left = rows.filter(({ state }) => !ended.has(state));
        const told = left.map(({ agentId, state, reason, dueAt, attempt }) =>
          [agentId, state, reason, attempt, new Date(dueAt ?? 0).toISOString()].join(" "),
        );
        return rows.length === calls.length + 2 ? told : [`${rows.length} rows`, ...told];
      };
      await until(async () => (await open()).length === 0, { everyMs: 1000 }).catch(async () => {
        expect(await open()).toEqual([]); // on failure, prints the open calls
      });

      const all = [vapi, retell, twilio];
      const ids = all.flatMap(({ calls: { placed } }) => placed.map(({ ourId }) => ourId ?? ""));
      expect(all.flatMap((provider) => provider.calls.placedTwice())).toEqual([]);
      expect(all.flatMap(({ problems }) => problems)).toEqual([]);
      const requests = [...retell.requests, ...twilio.requests];
      const asked = requests.filter(
        ({ method, path }) => method === "POST" && path !== "/v3/list-calls",
      );
      expect(asked).toHaveLength(2 * count + 2); // a call that may have been placed was sent once
      for (const { path, query } of requests) {
        expect(`${path}?${query.toString()}`).not.toMatch(/3035550/);
      }

      const rows = await platform.rows(bench.service);
      const stateOf = (number: string, { agent_id }: { agent_id: string }) => {
        if (agent_id === "vapi") return number.endsWith("7") ? "REJECTED" : "PLACED";
        return isTroubled(number) && !isEven(number) ? "NEEDS_REVIEW" : "PLACED";
      };
      const expected = [
        ...calls.map((call) => `${call.agent_id} ${stateOf(call.phone_number, call)}`),
        ...[1, 2].map(() => "twilio NEEDS_REVIEW"),
      ];
      expect(rows.map(({ agentId, state }) => `${agentId} ${state}`).toSorted()).toEqual(
        expected.toSorted(),
      );
      // Rows in review keep the whole call. None of them is known to have been placed, except the two to one
      // number.
      const reviewed = rows.filter(({ state }) => state === "NEEDS_REVIEW");
      for (const row of reviewed) {
        const { request } = row;
        const isOfTwo = request?.phone_number === twice.phone_number;
        if (isOfTwo) expect(request).toEqual(twice);
        else expect(calls).toContainEqual(request);
        expect(ids.includes(row.id)).toBe(isOfTwo);
      }
      for (const { id, state } of rows) if (state === "PLACED") expect(ids).toContain(id);
      expect(bench.service.output().match(/303555|context \d/)?.[0]).toBeUndefined();
    });
  });
}
