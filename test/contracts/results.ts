import { describe, expect, it } from "vitest";
import { startStandIn } from "#infra/stand-ins/stand-in.ts";
import { twilio } from "#infra/stand-ins/twilio.ts";
import { ultravox } from "#infra/stand-ins/ultravox.ts";
import type { ResultStatus } from "#shared/calls/call-result.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { startLines } from "./live-calls.ts";
import { jsonRequest } from "../support/json-request.ts";
import { token } from "../support/open-service.ts";
import { startReceiver } from "../support/receiver.ts";
import { type PlatformUnderTest, until } from "../support/service.ts";
import { useOpenService } from "../support/use-open-service.ts";
import { environmentOf, routeFields } from "../support/stand-ins.ts";
import {
  callBack,
  forgeCallbacks,
  forgedStatuses,
  type ReceivedCall,
  sharedSecret,
  verifiedCall,
} from "../support/webhook-callbacks.ts";

/** The ends of calls to numbers with these last digits, as the stand-ins have them. */
const ends: Record<string, ResultStatus> = {
  0: "completed",
  7: "voicemail",
  8: "no_answer",
  9: "busy",
};
const agents = ["of_twilio", "of_ultravox", "of_webhook"] as const;
const calls = agents.flatMap((agent_id, tens) =>
  Object.keys(ends).map((digit) => ({ phone_number: `+1303555${tens}10${digit}`, agent_id })),
);
const endOf = ({ phone_number }: { phone_number: string }) => ends[phone_number.slice(-1)];
/** The status that a call's provider can tell: without a SIP trunk, Ultravox tells only that nobody has joined. */
function toldOf(call: (typeof calls)[number]): ResultStatus | undefined {
  const end = endOf(call);
  if (call.agent_id !== "of_ultravox") return end;
  return end === "voicemail" || end === "completed" ? "completed" : "unknown";
}

/** Describes results told by callbacks, on the whole service with three types of provider. */
export function describeResults(platform: PlatformUnderTest): void {
  describe(`${platform.script} with results`, () => {
    /** Calls whose signature the webhook has verified. */
    const taken: ReceivedCall[] = [];
    /** Statuses of callbacks that came before the webhook's own answer. */
    const early: number[] = [];
    const bench = useOpenService(
      platform,
      async () => {
        const standIns = {
          ofTwilio: await startStandIn(twilio),
          ofUltravox: await startStandIn(ultravox),
        };
        for (const { settings } of Object.values(standIns))
          Object.assign(settings, { ringSeconds: 0, talkSeconds: 1 });
        const receiver = await startReceiver((request, response) => {
          const call = verifiedCall(request, response);
          if (call === undefined) return;
          taken.push(call);
          const answer = () => setTimeout(() => response.writeHead(200).end("{}"), 300);
          void callBack(call, { status: endOf(call), human: null })
            .then((status) => early.push(status))
            .finally(answer);
        });
        return { ...standIns, receiver, tenLines: await startLines() };
      },
      ({ ofTwilio, ofUltravox, receiver, tenLines }) => {
        const pace = { callsPerSecond: 20 };
        const route = { provider: "twilio", machineDetection: "Enable" };
        return {
          plan: {
            agents: {
              of_twilio: { ...route, ...routeFields["twilio"] },
              of_ultravox: { provider: "ultravox", ...routeFields["ultravox"] },
              of_webhook: { provider: "webhook", url: `${receiver.url}/dial` },
              of_lines: tenLines.agent,
            },
            providers: {
              twilio: { baseUrl: ofTwilio.url, ...pace },
              ultravox: { baseUrl: ofUltravox.url, ...pace },
              lines: tenLines.account,
            },
            destinations: { allow: ["US"] },
            results: {},
          },
          rights: ["call", "read"],
          environment: {
            ...environmentOf("twilio", twilio.secrets),
            ...environmentOf("ultravox", ultravox.secrets),
            WEBHOOK_SECRET: sharedSecret,
            LINES_SECRET: sharedSecret,
          },
        };
      },
    );

    /** Callback addresses that a provider was given, by the number of the call. */
    const addressesIn = (requests: readonly { text: string }[]) =>
      requests.flatMap(({ text }) => {
        const plain = decodeURIComponent(text);
        const [url] = /http:\/\/127\.0\.0\.1:\d+\/callbacks\/[^"&\s]+/.exec(plain) ?? [];
        const [phone_number] = /\+1303555\d{4}/.exec(plain) ?? [];
        return url === undefined || phone_number === undefined ? [] : [{ url, phone_number }];
      });
    const post = async (url: string, body: string) =>
      (await fetch(url, { method: "POST", body })).status;

    it("reports the right result of every call, though callbacks are duplicated, mixed up and forged", async () => {
      const { service, servers } = bench;
      const { receiver } = servers;
      const standIns = [servers.ofTwilio, servers.ofUltravox];
      const id = await bench.post(calls);
      const hints = () => standIns.flatMap(({ requests }) => addressesIn(requests));
      await until(() => hints().length === 8 && receiver.received.length === 4);
      await new Promise((next) => setTimeout(next, 1500)); // the stand-ins' calls end

      expect(taken).toHaveLength(4);
      for (const { url } of [...hints(), ...addressesIn(receiver.received)].toReversed()) {
        expect(await post(`${url.slice(0, -1)}${url.endsWith("A") ? "B" : "A"}`, "")).toBe(404);
      }
      for (const { url } of [...hints(), ...hints().toReversed()]) {
        expect(await post(url, "CallStatus=completed&To=none")).toBe(204);
      }
      const forgeAll = async () => {
        for (const [index, call] of taken.entries()) {
          const other = taken[(index + 1) % taken.length]?.id ?? "";
          expect(await forgeCallbacks(call, other, { status: "declined" })).toEqual(forgedStatuses);
        }
      };
      const tell = async (some: readonly ReceivedCall[]) => {
        for (const call of [...some, ...some.toReversed()]) {
          const result = { status: endOf(call), more: "is left out of account" };
          expect(await callBack(call, result, { of: `${call.id}.end` })).toBe(204);
        }
      };
      const read = async () => {
        const url = `${service.address}/v1/requests/${id}`;
        return Object(await (await fetch(url, jsonRequest(token, "GET"))).json());
      };
      const told = async () =>
        (await read()).calls.flatMap((one: { id: string; result: unknown }) =>
          one.result === null ? [] : [one.id],
        );
      await forgeAll();
      // Two of the webhook's calls have been told before its answer alone.
      const applyDelivery = new Set(taken.slice(2).map((call) => call.id));
      const countTold = async () =>
        (await told()).filter((one: string) => applyDelivery.has(one)).length;
      await until(async () => (await countTold()) === applyDelivery.size, { everyMs: 250 });
      await tell(taken.slice(0, 2));
      await until(async () => (await read()).finished === true, { everyMs: 500 });
      await forgeAll();
      await tell(taken); // late, and told already
      expect(early).toEqual([204, 204, 204, 204]);
      const shown = await read();
      expect(shown.counts).toEqual({
        by_state: { PLACED: 12 },
        by_result: { completed: 4, voicemail: 2, no_answer: 2, busy: 2, unknown: 2 },
      });
      const statuses = shown.calls.map((one: { id: string; result: { status: string } }) => [
        one.id,
        one.result.status,
      ]);
      expect(statuses).toEqual(calls.map((call, index) => [toCallId(id, index), toldOf(call)]));
      expect(standIns.map((one) => one.calls.placed.length)).toEqual([4, 4]);
      expect(receiver.received).toHaveLength(4);
      expect(standIns.flatMap(({ problems }) => problems)).toEqual([]);
      expect(service.output()).not.toMatch(/303555|result\.contradicted|call\.placed_late/);
      for (const [event, count] of [
        ["callback.unverified", 4],
        ["callback.malformed", 2],
      ] as const) {
        const lines = service.output().split("\n");
        for (const call of taken) {
          const ofCall = lines.filter((line) => line.includes(event) && line.includes(call.id));
          expect([event, ofCall.length]).toEqual([event, 2 * count]);
        }
      }
    });

    it("never has more live calls than the plan allows, and all are placed", async () => {
      await bench.servers.tenLines.check(bench.post);
    });
  });
}
