import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createToken } from "../../shared/platform/tokens.ts";
import { makeStateDirectory, type PlatformUnderTest } from "../support/service.ts";
import { type Account, progressOf, settleAccount } from "./account.ts";
import { createLedgerReader } from "./ledger.ts";
import { endServices, startLives } from "./lives.ts";
import type { MemoryOfLife } from "./memory.ts";
import { startProvider } from "./provider.ts";
import { type AcceptedRequest, startStream, type StreamOptions } from "./stream.ts";

const progressMs = 5_000;
/** Longer than calls that were answered 429 wait. */
const receiptMsMax = 25_000;

/** How a platform is loaded. */
export interface LoadOptions extends Omit<StreamOptions, "address" | "token"> {
  minutes: number;
  /** 0: nothing is killed. */
  killEverySeconds: number;
  /** How long what was accepted may take to end, once nothing more is posted. */
  settleSecondsMax: number;
}

/** What came of it. */
export interface LoadResult {
  platform: string;
  /** In which calls were posted. */
  minutes: number;
  /** In which none were, before kills. */
  pausedSeconds: number;
  /** From the last answer to the end of the last call. */
  settleSeconds: number;
  account: Account;
  requests: AcceptedRequest[];
  /** Answers that no repeating would have changed. */
  refused: string[];
  /** Processes of functions that were killed. */
  functionKills: number;
  /** Kills of the whole service: calls accepted and not dialed by then, and seconds until it was ready again. */
  kills: { waiting: number; seconds: number }[];
  memory: MemoryOfLife[];
  /** Where its state and its log are, where something has failed. */
  kept?: string;
}

/** Whether something has been that must never be. */
export function hasFailed({ account, refused }: LoadResult): boolean {
  const { twice, lost, unrecorded, open } = account;
  return twice.length + lost.length + unrecorded.length + refused.length + open > 0;
}

/**
 * Runs one platform's service under a steady load while its processes are killed, and tells what became of every
 * call.
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
  /** Waits until so much of the load's time is over. */
  const moment = (seconds: number) =>
    sleep(Math.max(0, startedAt + pausedMs + seconds * 1000 - Date.now()));
  const isRecorded = async () => (await progressOf(accepted, receipts, ledger)).isAllRecorded;

  /**
   * The queue of `npm start` is in memory, unlike Cloudflare's: what only that has would die with it. So nothing is
   * killed before each call that was accepted has its row; then as the next one of those that wait is under way.
   * False where some get none.
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
      await moment(at);
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
    await moment(options.minutes * 60);
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

/** What is killed when, in seconds from the start. */
function killsOf(
  { script }: PlatformUnderTest,
  { minutes, killEverySeconds }: LoadOptions,
): { at: number; what: "function" | "service" }[] {
  if (killEverySeconds === 0) return [];
  const every = Math.min(killEverySeconds, minutes * 30);
  const count = Math.ceil((minutes * 60) / every) - 1;
  const times = Array.from({ length: count }, (_, index) => (index + 1) * every);
  // workerd has no process a function: what can be killed of it is all of it.
  if (script === "start") return times.map((at) => ({ at, what: "service" }));
  const middle = Math.floor(count / 2);
  return times.map((at, index) => ({ at, what: index === middle ? "service" : "function" }));
}

/** Whether something comes to hold in time. */
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
