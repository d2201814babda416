import { run } from "#infra/cli/calls.ts";
import { createToken } from "#shared/settings/tokens.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { type ServiceSettings, token } from "#test/support/open-service.ts";
import { type Received, startReceiver } from "#test/support/receiver.ts";
import type { PlatformUnderTest, RunningService } from "#test/support/service.ts";
import { useOpenService } from "#test/support/use-open-service.ts";

/** A token of the same client, with the rights to follow and cancel its requests. */
export const reader = createToken();
export const operator = createToken();
const reviewAfterSeconds = 16;

export const numberOf = (index: number) => `+1303555${String(index).padStart(4, "0")}`;
export const callsTo = (agent_id: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    phone_number: numberOf(index),
    agent_id,
    context: { secret: `context of ${numberOf(index)}` },
  }));

/** Requests to `/waits` that are answered 429, before all others are taken. */
export const refusedFirst = 3;

/** Answers as the path says: a webhook receiver that fails in each way. */
export function answer(
  request: Received,
  response: Parameters<Parameters<typeof startReceiver>[0]>[1],
  received: Received[],
) {
  const before = received.filter(({ id }) => id === request.id).length - 1;
  switch (request.path) {
    case "/fails":
      // Fails until an operator redials the call.
      if (received.filter(({ path }) => path === "/fails").length > 1) response.end();
      else response.writeHead(500).end("a page about the failure");
      break;
    case "/resets":
      response.socket?.resetAndDestroy();
      break;
    case "/hangs":
      break;
    case "/busy":
      if (before === 0) response.writeHead(429, { "retry-after": "2" }).end();
      else response.writeHead(200).end();
      break;
    case "/waits": {
      const isRefused = received.filter(({ path }) => path === "/waits").length <= refusedFirst;
      if (isRefused) response.writeHead(429, { "retry-after": "6" }).end();
      else response.writeHead(200).end();
      break;
    }
    case "/unavailable":
      if (before === 0) response.writeHead(503, { "retry-after": "1" }).end();
      else response.writeHead(200).end();
      break;
    case "/refuses":
      response.writeHead(422).end("{}");
      break;
    case "/redirects":
      response.writeHead(302, { location: "/elsewhere" }).end();
      break;
    case "/again":
      if (before === 0) response.writeHead(500).end();
      else response.writeHead(200).end();
      break;
    default:
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ id: `provider_${request.id}` }));
  }
}

type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** Returns the settings of a service whose agents are the paths of `answer`. */
export const settingsFor = ({ url }: Receiver): ServiceSettings => ({
  tokens: [
    { id: "reader", client: "test", sha256: reader.sha256, rights: ["call", "read", "cancel"] },
  ],
  environment: { OPERATOR_TOKENS: JSON.stringify([{ id: "ops", sha256: operator.sha256 }]) },
  plan: {
    agents: {
      ...Object.fromEntries(
        ["fails", "resets", "busy", "waits", "unavailable", "refuses", "redirects"].map((name) => [
          name,
          { provider: "webhook", url: `${url}/${name}` },
        ]),
      ),
      hangs: { provider: "hanging", url: `${url}/hangs` },
      paced: { provider: "paced", url: `${url}/paced` },
      again: { provider: "webhook", url: `${url}/again`, idempotent: true },
      "*": { provider: "webhook", url: `${url}/dial` },
    },
    // A machine that does much else may answer late; a call whose answer comes too late is not dialed again.
    providers: {
      webhook: { timeoutSeconds: 20 },
      hanging: { type: "webhook", timeoutSeconds: 2 },
      paced: { type: "webhook", timeoutSeconds: 20, callsPerSecond: 1 },
    },
    reviewAfterSeconds,
  },
});

export const post = (
  service: Pick<RunningService, "address">,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
) => fetch(service.address + path, jsonRequest(token, "POST", body, headers));

/** A service of the tests of one `describe`, and the receiver that it dials. */
export interface ServiceBench {
  platform: PlatformUnderTest;
  service: RunningService;
  receiver: Receiver;
}

/** Starts a service before the tests of a `describe`, and ends it after them. */
export function useService(platform: PlatformUnderTest): ServiceBench {
  const bench = useOpenService(
    platform,
    async () => ({ receiver: await startReceiver(answer) }),
    ({ receiver }) => settingsFor(receiver),
  );
  return {
    platform,
    get service() {
      return bench.service;
    },
    get receiver() {
      return bench.servers.receiver;
    },
  };
}

/** Runs `npm run calls` like an operator. */
export async function runCalls({ service }: ServiceBench, ...words: string[]) {
  const out: string[] = [];
  const code = await run([...words, "--json"], {
    environment: {
      OUTBOUND_CALLS_URL: service.address,
      OUTBOUND_CALLS_OPERATOR_TOKEN: operator.token,
    },
    fetch,
    print: (line) => out.push(line),
    complain: (line) => out.push(line),
    isInteractive: false,
    sleep: async () => undefined,
  });
  return { code, answers: out.map((line): Record<string, unknown> => JSON.parse(line)) };
}
