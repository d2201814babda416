/**
 * Measures the whole service of each platform over its local engines: calls a second of a batch, and the time
 * from the acceptance of a lone call to the provider's receipt of its request.
 */
import { openService } from "../support/open-service.ts";
import { aws, cloudflare } from "../support/platforms.ts";
import { startSlowProvider } from "../support/receiver.ts";
import { type PlatformUnderTest, type RunningService, until } from "../support/service.ts";
import { callRequest } from "./competitors/payload.ts";
import { processesOf } from "../support/processes.ts";
import { cpuOfProcess, summary } from "./measure.ts";
import { report, table, type Target } from "./report.ts";

/** Calls of one batch, and batches that count. */
const batchCalls = 5_000;
const batches = 3;
const loneCalls = 40;
/** Response time of the provider. */
const answerMs = 5;
const endMsMax = 120_000;

interface Measured {
  name: string;
  /** Calls a second of each batch, from its acceptance to the receipt of its last request. */
  callsPerSecond: number[];
  /** CPU of a batch's call, of all processes of the service with their local engines, in microseconds. */
  cpuUs: number;
  /** Times from the answer 201 to a lone call's request, in milliseconds. */
  loneMs: number[];
}

/** Returns the CPU that the processes of a service have spent so far, in microseconds. */
async function cpuUsOf(service: RunningService): Promise<number> {
  const spent = await Promise.all(processesOf(service).map(({ pid }) => cpuOfProcess(pid)));
  return spent.reduce((sum, one) => sum + one, 0);
}

async function measure(platform: PlatformUnderTest): Promise<Measured> {
  const { service, servers, post, end } = await openService(
    platform,
    async () => ({ provider: await startSlowProvider(answerMs) }),
    ({ provider }) => ({
      plan: {
        agents: { "*": { provider: "webhook", url: `${provider.url}/dial` } },
        providers: { webhook: { concurrency: 25 } },
      },
    }),
  );
  const { provider } = servers;
  let accepted = 0;
  /** Posts a batch. @returns seconds from the answer to the last request */
  const dialBatch = async (count: number): Promise<number> => {
    const from = accepted;
    accepted += count;
    await post(Array.from({ length: count }, (_, n) => callRequest(from + n)));
    const startedAt = Date.now();
    await until(() => provider.received.length >= accepted, { hangMs: endMsMax, everyMs: 5 });
    return ((provider.received[accepted - 1]?.at ?? 0) - startedAt) / 1000;
  };
  try {
    await dialBatch(500); // compiles the code
    const callsPerSecond: number[] = [];
    const cpuBefore = await cpuUsOf(service);
    for (let n = 0; n < batches; n++)
      callsPerSecond.push(batchCalls / (await dialBatch(batchCalls)));
    const cpuUs = ((await cpuUsOf(service)) - cpuBefore) / (batches * batchCalls);
    const loneMs: number[] = [];
    for (let n = 0; n < loneCalls; n++) {
      accepted += 1;
      await post(callRequest(accepted));
      const answeredAt = Date.now();
      await until(() => provider.received.length >= accepted, { hangMs: endMsMax, everyMs: 5 });
      loneMs.push(Math.max(0, (provider.received[accepted - 1]?.at ?? 0) - answeredAt));
    }
    const twice = accepted - new Set(provider.received.map(({ id }) => id)).size;
    if (twice !== 0) throw new Error(`${twice} calls were dialed twice`);
    return { name: platform.name, callsPerSecond, cpuUs, loneMs };
  } finally {
    await end("SIGKILL");
  }
}

const measured = [await measure(cloudflare), await measure(aws)];
const rounded = ({ median, low, high }: ReturnType<typeof summary>) =>
  `${Math.round(median)} (${Math.round(low)}–${Math.round(high)})`;
const targets = measured.flatMap(({ name, callsPerSecond, loneMs }): Target[] => {
  const rate = summary(callsPerSecond);
  const lone = summary(loneMs);
  return [
    {
      what: `whole service over local engines, calls a second of a batch of ${batchCalls}, ${name}`,
      target: "≥ 600",
      measured: rounded(rate),
      met: rate.median >= 600,
    },
    {
      what: `a lone call from 201 to the provider's receipt, median, ${name}`,
      target: "< 150 ms",
      measured: `${rounded(lone)} ms`,
      met: lone.median < 150,
    },
  ];
});
report({
  title: "The whole service",
  text: `The service as \`npm start\` and \`npm run start:aws\` run it, with a provider that answers after ${answerMs} ms. ${batches} batches of ${batchCalls} calls, one after the other, each from its answer 201 until the provider has its last request; then ${loneCalls} lone calls, each posted when the one before has been dialed.\n\n${table(
    ["", "Calls a second", "CPU of a call, µs", "Lone call, ms"],
    measured.map(({ name, callsPerSecond, cpuUs, loneMs }) => [
      name,
      rounded(summary(callsPerSecond)),
      String(Math.round(cpuUs)),
      rounded(summary(loneMs)),
    ]),
  )}`,
  targets,
});
