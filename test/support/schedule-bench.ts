import { expect } from "vitest";
import { createToken } from "../../shared/settings/tokens.ts";
import { startReceiver } from "./receiver.ts";
import {
  makeStateDirectory,
  type PlatformUnderTest,
  type RunningService,
  startService,
} from "./service.ts";

const { token, sha256 } = createToken();
const numberOf = (index: number) => `+1303555${String(index).padStart(4, "0")}`;

/** Starts a separate service with a receiver, under a plan. */
export async function startBench(platform: PlatformUnderTest, planOf: (route: object) => object) {
  const receiver = await startReceiver((_request, response) => response.writeHead(200).end("{}"));
  const directory = await makeStateDirectory();
  const service: RunningService = await startService(
    platform,
    {
      API_TOKENS: JSON.stringify([{ id: "test", sha256 }]),
      DIAL_PLAN: JSON.stringify({
        callingHours: { default: "always" },
        destinations: { allow: ["*"] },
        ...planOf({ provider: "webhook", url: `${receiver.url}/dial` }),
      }),
    },
    directory.path,
  );
  return {
    service,
    received: receiver.received,
    receivedBy: (agent: string) =>
      receiver.received.filter(({ text }) => text.includes(`"agent_id":"${agent}"`)),
    async post(calls: object[]) {
      const { status } = await fetch(`${service.address}/v1/calls/batch`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(calls),
      });
      expect(status).toBe(201);
    },
    async end() {
      await service.end("SIGTERM");
      await receiver.close();
      await directory.remove();
    },
  };
}
export type Bench = Awaited<ReturnType<typeof startBench>>;

/** Returns calls to different numbers. */
export const callsTo = (agent_id: string, count: number, more: object = {}) =>
  Array.from({ length: count }, (_, index) => ({
    phone_number: numberOf(index),
    agent_id,
    ...more,
  }));
