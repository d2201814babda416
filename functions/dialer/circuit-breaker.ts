import { createHash } from "node:crypto";
import type {
  DocumentKey,
  Documents,
  DocumentsRead,
  StoredDocument,
} from "../../shared/documents/documents.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import { accountNameOf, type Route } from "../../shared/providers/index.ts";
import type { ReadyDeps } from "./dialer.ts";

/** How soon an open breaker lets a first call through, and how seldom at last, in milliseconds. */
const intervals = {
  /** Requests stayed unanswered. */
  outage: { first: 15_000, last: 120_000 },
  /** The account or the route was refused. */
  refusal: { first: 60_000, last: 900_000 },
  /** One call of the agent at a time: a trickle, so that a bad list delays its own agent only. */
  agent: { first: 8_000, last: 8_000 },
} as const;
type Trouble = keyof typeof intervals;

/** Unanswered requests in a row that open an account's breaker. */
const unansweredInRowMax = 5;
/** Requests of which half unanswered open it. */
const requestsCounted = 20;
/** Equal refusals in a row, of different numbers, that open an agent's breaker. */
const refusalsInRowMax = 20;
const failuresLifeMs = 3_600_000;
const breakerLifeMs = 7 * 86_400_000;
/** Numbers that a process remembers to have counted for an agent. */
const countedNumbersMax = 1_000;

export type BreakerDocument = StoredDocument<"breaker">;

/** Names the breakers that a call of an agent along a route must pass, the account's first. */
function breakerNamesOf(agentId: string, route: Route): string[] {
  return [accountBreakerOf(route), routeBreakerOf(route), agentBreakerOf(agentId)];
}

function accountBreakerOf(route: Route): string {
  return `account:${accountNameOf(route)}`;
}

/** By the route's own fields: a corrected plan has another name, so its breaker starts closed. */
function routeBreakerOf(route: Route): string {
  return `route:${createHash("sha256").update(JSON.stringify(route)).digest("hex").slice(0, 16)}`;
}

function agentBreakerOf(agentId: string): string {
  return `agent:${agentId}`;
}

/** The documents that tell whether a call may pass, and what is counted against its account and agent. */
export function breakerKeysOf(agentId: string, route: Route): DocumentKey[] {
  const names = breakerNamesOf(agentId, route);
  return [
    ...names.map((key) => ({ kind: "breaker", key }) as const),
    { kind: "failures", key: accountBreakerOf(route) },
    { kind: "failures", key: agentBreakerOf(agentId) },
  ];
}

/** The open ones of the breakers that a call must pass. */
export function openBreakers(
  agentId: string,
  route: Route,
  documents: DocumentsRead,
): BreakerDocument[] {
  return breakerNamesOf(agentId, route).flatMap((name) => {
    const breaker = documents.get("breaker", name);
    return breaker?.value.state === "open" ? breaker : [];
  });
}

/** A probe that was taken: `giveBack` lets another call have it where nothing was sent. */
export interface Probe {
  giveBack(): Promise<void>;
}

/**
 * Takes the probe of every open breaker, by a write that only one caller can win.
 *
 * @returns undefined where another call has it, or its time has not come
 */
export async function takeProbe(
  breakers: readonly BreakerDocument[],
  { documents, clock, random }: Pick<ReadyDeps, "documents" | "clock" | "random">,
): Promise<Probe | undefined> {
  const taken: { before: BreakerDocument; version: string }[] = [];
  const probe: Probe = {
    async giveBack() {
      const changes = taken.map(({ before, version }) => ({
        next: { ...before, version: random.version() },
        seen: version,
      }));
      if (changes.length > 0) await documents.write(changes);
    },
  };
  for (const before of breakers) {
    const now = clock.now();
    const { intervalMs, probeAt } = before.value;
    const { last } = intervals[troubleOf(before)];
    const version = random.version();
    const value = {
      ...before.value,
      probeAt: now + intervalMs,
      intervalMs: grown(intervalMs, last),
    };
    const next = { ...before, value, version, expiresAt: now + breakerLifeMs };
    const [isTaken] =
      probeAt > now ? [false] : await documents.write([{ next, seen: before.version }]);
    if (isTaken !== true) {
      await probe.giveBack();
      return undefined;
    }
    taken.push({ before, version });
  }
  return probe;
}

/** The moments from `from` up to `until` at which an open breaker lets a probe through, should each of them fail. */
export function probeTimesOf(breaker: BreakerDocument, from: number, until: number): number[] {
  const { last } = intervals[troubleOf(breaker)];
  const times: number[] = [];
  let { intervalMs } = breaker.value;
  for (let at = Math.max(from, breaker.value.probeAt); at <= until;) {
    times.push(at);
    at += Math.max(1000, intervalMs);
    intervalMs = grown(intervalMs, last);
  }
  return times;
}

function grown(intervalMs: number, last: number): number {
  return Math.min(intervalMs * 2, Math.max(last, intervalMs));
}

function troubleOf({ key, value }: BreakerDocument): Trouble {
  if (key.startsWith("agent:")) return "agent";
  return value["trouble"] === "outage" ? "outage" : "refusal";
}

/** Keeps count of what providers answer, and opens and closes breakers by it. */
export function createBreakers(deps: ReadyDeps) {
  const { documents, clock, random, log, memory } = deps;

  async function open(name: string, code: string, trouble: Trouble, read: DocumentsRead) {
    const standing = read.get("breaker", name);
    if (standing?.value.state === "open") return;
    const now = clock.now();
    const { first } = intervals[trouble];
    const value = {
      state: "open" as const,
      code,
      trouble,
      openedAt: now,
      probeAt: now + first,
      intervalMs: first,
      closedAt: standing?.value.closedAt ?? 0,
    };
    const next = {
      kind: "breaker" as const,
      key: name,
      version: random.version(),
      value,
      expiresAt: now + breakerLifeMs,
    };
    const [isOpened] = await documents.write([{ next, seen: standing?.version ?? null }]);
    memory.breakersOpened += 1;
    if (isOpened !== true) return; // somebody else has opened it
    const due_at = new Date(value.probeAt).toISOString();
    log("alarm", "breaker.opened", { breaker: name, code, due_at });
  }

  const breakerNow = async (name: string): Promise<BreakerDocument | undefined> =>
    (await documents.read([{ kind: "breaker", key: name }])).get("breaker", name);

  /** Closes what is open, and forgets what was counted. Dropped on a conflict. */
  async function close(names: readonly string[], read: DocumentsRead) {
    const now = clock.now();
    for (const name of names) {
      const wasOpen = read.get("breaker", name)?.value.state === "open";
      // Read anew: the probe that tells of the success has changed it since.
      const standing = wasOpen ? await breakerNow(name) : undefined;
      if (standing?.value.state === "open") {
        const value = { ...standing.value, state: "closed" as const, closedAt: now };
        const next = { ...standing, value, version: random.version() };
        const [isClosed] = await documents.write([{ next, seen: standing.version }]);
        if (isClosed === true) {
          log("info", "breaker.closed", { breaker: name });
          const account = /^account:(.*)$/s.exec(name)?.[1];
          if (account !== undefined) await restartMarks(account, deps);
        }
      }
      const failures = read.get("failures", name);
      if (failures !== undefined && Object.keys(failures.value).length > 0) {
        const next = { ...failures, value: {}, version: random.version() };
        await documents.write([{ next, seen: failures.version }]);
      }
    }
  }

  /** Counts for the account whether a request was answered: only where failures are known is there a row to break. */
  async function countAnswer(route: Route, code: string | undefined, read: DocumentsRead) {
    const name = accountBreakerOf(route);
    const known = read.get("failures", name);
    const isAnswered = code === undefined;
    if (isAnswered && (known?.value["unanswered"] ?? 0) === 0) return;
    const counters = isAnswered ? { answered: 1 } : { unanswered: 1, inRow: 1 };
    const expiresAt = clock.now() + failuresLifeMs;
    const all = await documents.add({ kind: "failures", key: name }, counters, expiresAt);
    const { answered = 0, unanswered = 0, inRow = 0 } = all;
    const isHalf = answered + unanswered >= requestsCounted && unanswered >= answered;
    if (!isAnswered && (inRow >= unansweredInRowMax || isHalf)) {
      await open(name, code, "outage", read);
    }
    if (isAnswered || answered + unanswered > requestsCounted)
      await settleCounters(name, isAnswered);
  }

  /** An answer ends the row of failures; above twenty requests both counts are halved. */
  async function settleCounters(name: string, isAnswered: boolean) {
    const standing = (await documents.read([{ kind: "failures", key: name }])).get(
      "failures",
      name,
    );
    if (standing === undefined) return;
    const { answered = 0, unanswered = 0, inRow = 0 } = standing.value;
    const half = answered + unanswered > requestsCounted ? 2 : 1;
    const value = {
      answered: Math.floor(answered / half),
      unanswered: Math.floor(unanswered / half),
      inRow: isAnswered ? 0 : inRow,
    };
    const next = { ...standing, value, version: random.version() };
    await documents.write([{ next, seen: standing.version }]);
  }

  /** An account has answered: its breaker is closed where it is open, else the answer is counted. */
  async function noteAnswer(account: string, route: Route, read: DocumentsRead) {
    if (read.get("breaker", account)?.value.state === "open") return close([account], read);
    return countAnswer(route, undefined, read);
  }

  /** Counts one refusal of an agent's call, each number once in this process. */
  async function countRefusal(
    agentId: string,
    code: string,
    numberHash: string,
    read: DocumentsRead,
  ) {
    const name = agentBreakerOf(agentId);
    const counted = memory.countedNumbers.get(name) ?? new Set<string>();
    memory.countedNumbers.set(name, counted);
    if (counted.has(numberHash)) return;
    if (counted.size >= countedNumbersMax) counted.clear();
    counted.add(numberHash);
    const known = read.get("failures", name);
    const isOther = Object.keys(known?.value ?? {}).some((one) => one !== code);
    if (known !== undefined && isOther) {
      const next = { ...known, value: { [code]: 1 }, version: random.version() };
      await documents.write([{ next, seen: known.version }]);
      return;
    }
    const expiresAt = clock.now() + failuresLifeMs;
    const all = await documents.add({ kind: "failures", key: name }, { [code]: 1 }, expiresAt);
    if ((all[code] ?? 0) >= refusalsInRowMax) await open(name, code, "agent", read);
  }

  return {
    /**
     * Keeps count after an outcome.
     *
     * @param read breakers and failures as they were read for the call
     */
    async keep(
      outcome: DialOutcome,
      call: { agentId: string; route: Route; numberHash: string },
      read: DocumentsRead,
    ): Promise<void> {
      const { agentId, route, numberHash } = call;
      const [account = "", ofRoute = "", agent = ""] = breakerNamesOf(agentId, route);
      switch (outcome.kind) {
        case "placed":
          await noteAnswer(account, route, read);
          return close([ofRoute, agent], read);
        case "unknown":
          return countAnswer(route, outcome.code, read);
        case "account_refused":
          return open(account, outcome.code, "refusal", read);
        case "route_refused":
          await noteAnswer(account, route, read);
          return open(ofRoute, outcome.code, "refusal", read);
        case "rejected":
        case "forbidden":
          await noteAnswer(account, route, read); // it was good enough to judge the call
          if (outcome.kind === "rejected" && outcome.blamesNumber === true) return undefined;
          return countRefusal(agentId, outcome.code, numberHash, read);
        case "not_placed":
          return countAnswer(route, outcome.unanswered === true ? outcome.code : undefined, read);
      }
    },
  };
}

/** Makes marks that were set before now count no more: what they say is called up found its breaker open. */
async function restartMarks(
  account: string,
  { documents, clock, random }: { documents: Documents } & Pick<ReadyDeps, "clock" | "random">,
): Promise<void> {
  const key = { kind: "account", key: account } as const;
  const standing = (await documents.read([key])).get("account", account);
  if (standing === undefined) return;
  const value = { ...standing.value, restartedAt: clock.now() };
  const next = { ...standing, value, version: random.version() };
  await documents.write([{ next, seen: standing.version }]);
}
