import { openService, type ServiceSettings } from "./open-service.ts";
import { startReceiver } from "./receiver.ts";
import type { PlatformUnderTest } from "./service.ts";

const numberOf = (index: number) => `+1303555${String(index).padStart(4, "0")}`;

/** Starts a separate service with a receiver, which takes each call unless another answer is given. */
export async function startReceiverBench(
  platform: PlatformUnderTest,
  settingsOf: (url: string) => ServiceSettings,
  answer: Parameters<typeof startReceiver>[0] = (_request, response) =>
    response.writeHead(200).end("{}"),
) {
  const { service, servers, post, end } = await openService(
    platform,
    async () => ({ receiver: await startReceiver(answer) }),
    ({ receiver }) => settingsOf(receiver.url),
  );
  const { received } = servers.receiver;
  return {
    service,
    received,
    receivedBy: (agent: string) =>
      received.filter(({ text }) => text.includes(`"agent_id":"${agent}"`)),
    post,
    end,
  };
}

/** Starts a separate service with a receiver, under a plan. */
export const startBench = (platform: PlatformUnderTest, planOf: (route: object) => object) =>
  startReceiverBench(platform, (url) => ({
    plan: planOf({ provider: "webhook", url: `${url}/dial` }),
  }));
export type Bench = Awaited<ReturnType<typeof startBench>>;

/** Returns calls to different numbers. */
export const callsTo = (agent_id: string, count: number, more: object = {}) =>
  Array.from({ length: count }, (_, index) => ({
    phone_number: numberOf(index),
    agent_id,
    ...more,
  }));
