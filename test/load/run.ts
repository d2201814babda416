import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createToken } from "#shared/settings/tokens.ts";
import { makeStateDirectory, type PlatformUnderTest } from "../support/service.ts";
import { type Account, progressOf, settleAccount } from "./account.ts";
import { createLedgerReader } from "./ledger.ts";
import { endServices, startLives } from "./lives.ts";
import type { MemoryOfLife } from "./memory.ts";
import { startProvider } from "./provider.ts";
import { type AcceptedRequest, startStream, type StreamOptions } from "./stream.ts";

const progressMs = 5_000;
/** Longer than the wait of calls that were answered 429. */
const receiptMsMax = 25_000;

/** Options of a load run on a platform. */
export interface LoadOptions extends Omit<StreamOptions, "address" | "token"> {
  minutes: number;
  /** Interval between kills; 0: nothing is killed. */
  killEverySeconds: number;
  /** Maximum time for accepted calls to end, once nothing more is posted. */
  settleSecondsMax: number;
}

/** Result of a load run. */
export interface LoadResult {
  platform: string;
  /** Minutes in which calls were posted. */
  minutes: number;
  /** Seconds before kills in which no calls were posted. */
  pausedSeconds: number;
  /** Seconds from the last answer to the end of the last call. */
  settleSeconds: number;
  account: Account;
  requests: AcceptedRequest[];
  /** Answers that repetition would not have changed. */
  refused: string[];
  /** Number of killed processes of functions. */
  functionKills: number;
  /** Kills of the whole service: accepted calls not yet dialed, and seconds until it was ready again. */
  kills: { waiting: number; seconds: number }[];
  memory: MemoryOfLife[];
  /** Folder of its state and its log, if something has failed. */
  kept?: string;
}

/** Returns true if a guarantee was broken. */
export function hasFailed({ account, refused }: LoadResult): boolean {
  const { twice, lost, unrecorded, open } = account;
  return twice.length + lost.length + unrecorded.length + refused.length + open > 0;
}

/**
 * Runs one platform's service under a steady load while its processes are killed, and reports the fate of
 * every call.
 */
export async function runLoad(
  platform: PlatformUnderTest,
  options: LoadOptions,
  tell: (line: string) => void,
): Promise<LoadResult> {
  const provider = await startProvider();
  const { receipts } = provider;
  const directory = await makeStateDirectory();
  const { token, sha256 } = createToken();
  const operator = createToken();
  const environment = {
    API_TOKENS: JSON.stringify([{ id: "load", sha256 }]),
    OPERATOR_TOKENS: JSON.stringify([{ id: "load-operator", sha256: operator.sha256 }]),
    VISIBILITY_SECONDS: "10",
    DIAL_PLAN: JSON.stringify({
      ...provider.plan,
      callingHours: { default: "always" },
      destinations: { allow: ["*"] },
      reviewAfterSeconds: 5,
    }),
  };
  const service = await startLives(platform, environment, directory.path);
  const ledger = createLedgerReader(service.address, operator.token, Date.now() - 60_000);
  const stream = startStream({ ...options, address: service.address, token });
  const { accepted, refused } = stream;
  const kills: LoadResult["kills"] = [];
  let functionKills = 0;
  let pausedMs = 0;

  const startedAt = Date.now();
  const say = (line: string) =>
    tell(`${platform.name} ${Math.round((Date.now() - startedAt) / 1000)} s: ${line}`);
  const callsAccepted = () => accepted.reduce((sum, { count }) => sum + count, 0);
  const progress = setInterval(() => {
    const requests = `${accepted.length} of ${stream.posted()} requests accepted`;
    const calls = `${receipts.ids.size} of ${callsAccepted()} calls dialed`;
    say(`${requests}, ${calls}; ${functionKills} + ${kills.length} kills`);
  }, progressMs);
  /** Waits until this many seconds of the load's time are over. */
  const permitAt = (seconds: number) =>
    sleep(Math.max(0, startedAt + pausedMs + seconds * 1000 - Date.now()));
  const isRecorded = async () => (await progressOf(accepted, receipts, ledger)).isAllRecorded;

  /**
   * Waits until each accepted call has its row, then until a waiting one is under way, before a kill: the
   * queue of `npm start` is in memory, unlike Cloudflare's, so calls on the queue alone would die with it.
   * Resolves to false if some calls get no row.
   */
  async function drainQueue(): Promise<boolean> {
    const pausedAt = Date.now();
    await stream.pause();
    const drained = await becomes(isRecorded, options.settleSecondsMax * 1000);
    const before = receipts.times.size;
    if (drained) await becomes(() => receipts.times.size > before, receiptMsMax, 5);
    pausedMs += Date.now() - pausedAt;
    return drained;
  }

  try {
    for (const { at, what } of killsOf(platform, options)) {
      await permitAt(at);
      if (what === "function") functionKills += service.killFunction() ? 1 : 0;
      else {
        if (platform.script === "start" && !(await drainQueue())) {
          say("not killed, as some calls have no row");
          stream.resume();
          continue;
        }
        const waiting = callsAccepted() - receipts.ids.size;
        kills.push({ waiting, seconds: await service.kill(stream.resume) });
      }
    }
    await permitAt(options.minutes * 60);
    await service.memory.end();
    await stream.stop();
    const answeredAt = Date.now();
    const hasEnded = async () => {
      const { isAllRecorded, open } = await progressOf(accepted, receipts, ledger);
      return isAllRecorded && open === 0;
    };
    if (!(await becomes(hasEnded, options.settleSecondsMax * 1000, 1000))) {
      say(`not all has ended in ${options.settleSecondsMax} s`);
    }
    const result: LoadResult = {
      platform: platform.name,
      minutes: (answeredAt - startedAt - pausedMs) / 60_000,
      pausedSeconds: pausedMs / 1000,
      settleSeconds: (Date.now() - answeredAt) / 1000,
      account: await settleAccount(accepted, receipts, ledger),
      requests: accepted,
      refused,
      functionKills,
      kills,
      memory: service.memory.lives,
    };
    await service.end("SIGTERM");
    if (!hasFailed(result)) {
      await directory.remove();
      return result;
    }
    await writeFile(join(directory.path, "service.log"), service.log());
    return { ...result, kept: directory.path };
  } catch (error) {
    say(`the state is kept in ${directory.path}`);
    throw error;
  } finally {
    clearInterval(progress);
    endServices();
    await provider.close();
  }
}

/** Returns the targets of kills and their times, in seconds from the start. */
function killsOf(
  { script }: PlatformUnderTest,
  { minutes, killEverySeconds }: LoadOptions,
): { at: number; what: "function" | "service" }[] {
  if (killEverySeconds === 0) return [];
  const every = Math.min(killEverySeconds, minutes * 30);
  const count = Math.ceil((minutes * 60) / every) - 1;
  const times = Array.from({ length: count }, (_, index) => (index + 1) * every);
  // workerd has no process per function, so only all of it can be killed.
  if (script === "start") return times.map((at) => ({ at, what: "service" }));
  const middle = Math.floor(count / 2);
  return times.map((at, index) => ({ at, what: index === middle ? "service" : "function" }));
}

/** Resolves to true if a condition holds in time. */
async function becomes(
  holds: () => boolean | Promise<boolean>,
  msMax: number,
  everyMs = 200,
): Promise<boolean> {
  const end = Date.now() + msMax;
  while (!(await holds())) {
    if (Date.now() > end) return false;
    await sleep(everyMs);
  }
  return true;
}
