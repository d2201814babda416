/**
 * `npm run test:polling`: dials lone calls beside a thousand clients that poll for their requests, and without them, in
 * turns. Prints the times from the answer 201 to the provider's receipt as a Markdown table. `--platform aws` is for
 * comparisons by hand: its local engines are one process each, whose times vary more than the limit allows.
 */
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { printHelp } from "#infra/cli/help.ts";
import { createToken } from "#shared/settings/tokens.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { table } from "../bench/report.ts";
import { aws, cloudflare } from "../support/platforms.ts";
import { jsonRequest } from "../support/json-request.ts";
import { openService } from "../support/open-service.ts";
import { startReceiver } from "../support/receiver.ts";
import { type PlatformUnderTest, until } from "../support/service.ts";

/** Maximum p95 with polling, as a multiple of that without; differences of a few milliseconds are noise. */
const ratioMax = 1.25;
const noiseMs = 25;
const postedAtOnce = 8;
printHelp(`npm run test:polling -- [OPTIONS]

Dials lone calls beside clients that poll for their requests, and without them, in turns.

  --platform cloudflare|aws   (cloudflare)
  --clients N                 that poll (1000)
  --every SECONDS             between two requests of a client (10)
  --rounds N                  with and without them (5)
  --calls N                   lone calls of a round (50)
  --gap MS                    between two of them (250)

Exit code: 0 the p95 stays the same within noise, and every poll is answered 200; 1 not so.`);
const { values: given } = parseArgs({
  options: {
    platform: { type: "string", default: "cloudflare" },
    clients: { type: "string", default: "1000" },
    every: { type: "string", default: "10" },
    rounds: { type: "string", default: "5" },
    calls: { type: "string", default: "50" },
    gap: { type: "string", default: "250" },
  },
});
const platforms: Record<string, PlatformUnderTest> = { cloudflare, aws };
const [clients, everyMs, rounds, calls, gapMs] = [
  Number(given.clients),
  Number(given.every) * 1000,
  Number(given.rounds),
  Number(given.calls),
  Number(given.gap),
];

interface Poller {
  token: string;
  requestId: string;
}

/** Returns what a client asks for, in turns. */
function pathsOf({ requestId }: Poller): string[] {
  return [
    `/v1/requests/${requestId}`,
    "/v1/requests?limit=20",
    `/v1/calls/${toCallId(requestId, 0)}`,
    `/v1/requests/${requestId}/calls?state=PLACED`,
  ];
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

async function measure(platform: PlatformUnderTest): Promise<boolean> {
  const receivedAt = new Map<string, number>();
  const tokens = Array.from({ length: clients + 1 }, () => createToken());
  const rights = ["call", "read"];
  const bench = await openService(
    platform,
    async () => ({
      provider: await startReceiver(({ id, at }, response) => {
        receivedAt.set(id, at);
        response.writeHead(200, { "content-type": "application/json" }).end('{"id":"stub"}');
      }),
    }),
    ({ provider }) => ({
      plan: {
        agents: { "*": { provider: "webhook", url: `${provider.url}/dial` } },
        providers: { webhook: { concurrency: 25 } },
      },
      tokens: tokens.map(({ sha256 }, n) => ({ id: `client-${n}`, sha256, rights })),
      environment: { CLIENT_RIGHTS: "read" },
    }),
  );
  let posted = 0;
  /** Posts a call. @returns its request's id */
  async function post(token: string): Promise<string> {
    const phone_number = `+1303555${String(1000 + (posted++ % 9000)).padStart(4, "0")}`;
    return bench.post({ phone_number, agent_id: "sales" }, token);
  }
  /** Dials lone calls. @returns milliseconds from each answer to its request */
  async function dialAll(token: string): Promise<number[]> {
    const times: number[] = [];
    for (let n = 0; n < calls; n++) {
      const id = toCallId(await post(token), 0);
      const acceptedAt = Date.now();
      await until(() => receivedAt.has(id), { hangMs: 60_000, everyMs: 2 });
      times.push(Math.max(0, (receivedAt.get(id) ?? 0) - acceptedAt));
      await sleep(gapMs);
    }
    return times;
  }
  const answers = { count: 0, failed: 0, ms: 0 };
  async function poll(poller: Poller, n: number, signal: AbortSignal): Promise<void> {
    await sleep((everyMs * n) / clients);
    const paths = pathsOf(poller);
    for (let turn = n; !signal.aborted; turn++) {
      const startedAt = Date.now();
      const url = `${bench.service.address}${paths[turn % paths.length]}`;
      const response = await fetch(url, jsonRequest(poller.token, "GET"));
      await response.text();
      answers.count += 1;
      answers.ms += Date.now() - startedAt;
      if (response.status !== 200) answers.failed += 1;
      await sleep(Math.max(0, everyMs - (Date.now() - startedAt)));
    }
  }

  try {
    const [own, ...others] = tokens.map(({ token }) => token);
    const pollers: Poller[] = [];
    for (let start = 0; start < others.length; start += postedAtOnce) {
      const some = others.slice(start, start + postedAtOnce);
      pollers.push(
        ...(await Promise.all(
          some.map(async (token) => ({ token, requestId: await post(token) })),
        )),
      );
    }
    await until(() => receivedAt.size >= clients, { hangMs: 300_000, everyMs: 100 });
    await dialAll(own ?? ""); // warms up
    const quiet: number[][] = [];
    const polled: number[][] = [];
    for (let round = 0; round < rounds; round++) {
      quiet.push(await dialAll(own ?? ""));
      const stop = new AbortController();
      const polling = pollers.map((poller, n) => poll(poller, n, stop.signal));
      await sleep(everyMs); // until all of them poll
      polled.push(await dialAll(own ?? ""));
      stop.abort();
      await Promise.all(polling);
    }
    const rows = [quiet, polled].map((all) => {
      const sorted = all.flat().toSorted((one, other) => one - other);
      const p95s = all
        .map((times) =>
          percentile(
            times.toSorted((one, other) => one - other),
            0.95,
          ),
        )
        .toSorted((one, other) => one - other);
      return { p50: percentile(sorted, 0.5), p95: percentile(sorted, 0.95), p95s };
    });
    const [without, beside] = rows;
    const ratio = (beside?.p95 ?? NaN) / (without?.p95 ?? NaN);
    console.log(
      table(
        [platform.name, "p50, ms", "p95, ms", "p95 of each round, ms"],
        rows.map(({ p50, p95, p95s }, index) => [
          index === 0 ? "nobody polls" : `${clients} clients poll every ${everyMs / 1000} s`,
          String(p50),
          String(p95),
          p95s.join(", "),
        ]),
      ),
    );
    const mean = Math.round(answers.ms / Math.max(1, answers.count));
    console.log(
      `p95: ${ratio.toFixed(2)} × (at most ${ratioMax}, or ${noiseMs} ms); ${answers.count} answers, ${mean} ms each, ${answers.failed} not 200`,
    );
    const slower = (beside?.p95 ?? NaN) - (without?.p95 ?? NaN);
    return (ratio <= ratioMax || slower <= noiseMs) && answers.failed === 0;
  } finally {
    await bench.end("SIGINT");
  }
}

const platform = platforms[given.platform];
if (platform === undefined) throw new Error("--platform is cloudflare or aws");
if (!(await measure(platform))) process.exitCode = 1;
