/**
 * Measures accounts whose pace is above what the machine can do, beside an account without a pace, over each platform's
 * local engines and beside processes that keep cores busy; and an account whose provider answers slowly.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { openService } from "../support/open-service.ts";
import { aws, cloudflare } from "../support/platforms.ts";
import { startSlowProvider } from "../support/receiver.ts";
import { type PlatformUnderTest, until } from "../support/service.ts";
import { peakOf } from "../simulation/rates.ts";
import { callRequest } from "./competitors/payload.ts";
import { report, table, type Target } from "./report.ts";

/**
 * A provider that answers at once, and calls that are left out on both sides: the first ones compile the code, the last ones
 * wait for a turn.
 */
const quick = { answerMs: 5, calls: 2_500, edge: 300 };
/** A provider that answers as slowly as one of voice agents may. */
const slow = { answerMs: 500, calls: 1_200, edge: 200 };
const slowPace = 40;
const endMsMax = 300_000;
const paces = [undefined, 100, 300, 500, 1000];
const cores = availableParallelism();

interface Paced {
  callsPerSecond: number;
  /** Maximum requests within one second. */
  peak: number;
}

/** Dials a batch at a pace. */
async function dial(
  platform: PlatformUnderTest,
  pace: number | undefined,
  { answerMs, calls, edge }: typeof quick,
): Promise<Paced> {
  const { servers, post, end } = await openService(
    platform,
    async () => ({ provider: await startSlowProvider(answerMs) }),
    ({ provider }) => ({
      plan: {
        agents: { "*": { provider: "webhook", url: `${provider.url}/dial` } },
        providers: {
          webhook: { concurrency: 25, ...(pace === undefined ? {} : { callsPerSecond: pace }) },
        },
      },
    }),
  );
  const { received } = servers.provider;
  try {
    await post(Array.from({ length: calls }, (_, n) => callRequest(n)));
    await until(() => received.length >= calls, { hangMs: endMsMax, everyMs: 50 });
    const times = received.map(({ at }) => at).toSorted((a, b) => a - b);
    const inner = times.slice(edge, -edge);
    const seconds = ((inner.at(-1) ?? 0) - (inner[0] ?? 0)) / 1000;
    return { callsPerSecond: (inner.length - 1) / seconds, peak: peakOf(times) };
  } finally {
    await end("SIGKILL");
  }
}

const startBusy = (count: number): ChildProcess[] =>
  Array.from({ length: count }, () =>
    spawn(process.execPath, ["-e", "for(;;);"], { stdio: "ignore" }),
  );

const rows: string[][] = [];
const targets: Target[] = [];
for (const platform of [cloudflare, aws]) {
  for (const busy of [1, cores]) {
    const processes = startBusy(busy);
    let unpaced = 0;
    for (const pace of paces) {
      const { callsPerSecond, peak } = await dial(platform, pace, quick);
      if (pace === undefined) unpaced = callsPerSecond;
      const possible = Math.min(unpaced, pace ?? Infinity);
      const share = callsPerSecond / possible;
      rows.push([
        `${platform.name}, ${busy} busy`,
        String(pace ?? "none"),
        callsPerSecond.toFixed(1),
        share.toFixed(2),
        String(peak),
      ]);
      console.log(rows.at(-1)?.join("  "));
      if (pace === undefined) continue;
      const where = `${platform.name}, ${busy} busy processes`;
      targets.push(
        {
          what: `account of ${pace} a second, share of what the machine does without a pace; ${where}`,
          target: "≥ 0.9",
          measured: share.toFixed(2),
          met: share >= 0.9,
        },
        {
          what: `the same: requests in its fullest second`,
          target: `≤ ${Math.ceil(pace * 1.1) + 1}`,
          measured: String(peak),
          met: peak <= Math.ceil(pace * 1.1) + 1,
        },
      );
    }
    for (const one of processes) one.kill("SIGKILL");
  }
  const { callsPerSecond, peak } = await dial(platform, slowPace, slow);
  const share = callsPerSecond / slowPace;
  const texts = [callsPerSecond.toFixed(1), share.toFixed(2), String(peak)];
  rows.push([`${platform.name}, answers of ${slow.answerMs} ms`, String(slowPace), ...texts]);
  console.log(rows.at(-1)?.join("  "));
  targets.push({
    what: `account of ${slowPace} a second whose provider answers in ${slow.answerMs} ms, share of its pace; ${platform.name}`,
    target: "≥ 0.9",
    measured: share.toFixed(2),
    met: share >= 0.9,
  });
}

report({
  title: "Paces above what a machine can do, and with slow answers",
  text: `A batch of ${quick.calls} calls over the platform's local engines, beside processes that keep so many of ${cores} cores busy; the first and the last ${quick.edge} are left out. The share is of what the account could have: its pace, or what the same machine did without one. Of a provider that answers slowly: ${slow.calls} calls beside nothing, without ${slow.edge} on both sides.\n\n${table(
    ["", "pace", "calls a second", "share", "most in a second"],
    rows,
  )}`,
  targets,
});
