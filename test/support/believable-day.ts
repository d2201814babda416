import type { Call } from "#shared/calls/call-request.ts";
import type { CallResult } from "#shared/calls/call-result.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { CallState } from "#shared/calls/states.ts";
import { toCallId, createRequestId, modeOf } from "#shared/calls/ids.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import { parseDialPlan } from "./plans.ts";
import { changedStep, rowStep, usageKeyOf } from "#shared/policy/usage.ts";
import type { UsageStep } from "#shared/policy/usage-ends.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { Kind, ValueOf } from "#shared/ports/document-kinds.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { rowIn, writeRows } from "./rows.ts";
import { pauseKeyOf } from "#shared/rules/pause.ts";

const minuteMs = 60_000;

/** A dial plan with three agents at three providers, and rules of places. */
export const dayPlan = {
  agents: {
    agent_sales: { provider: "vapi", agent: "assistant-1", from: "number-1" },
    agent_survey: { provider: "retell", agent: "agent-1", from: "+12025550100" },
    agent_paris: {
      provider: "twilio",
      answerUrl: "https://example.com/twiml",
      from: "+33123456789",
    },
  },
  providers: {
    vapi: { callsPerSecond: 2, concurrency: 10 },
    retell: { callsPerSecond: 1 },
    twilio: { callsPerSecond: 1 },
  },
  callingHours: { default: "us-federal" },
  countries: { CA: { callingHours: "canada" }, FR: { callingHours: "france" } },
  regions: { florida: { callingHours: "us-florida" } },
  maxCalls: { count: 7, days: 7 },
  defaultTimeZone: "America/New_York",
  destinations: { allow: ["US", "CA", "FR"] },
};

const plan = parseDialPlan(dayPlan, {});

/** Calls of one request in a state, a part of a batch. */
interface Part {
  state: CallState;
  count: number;
  reason: string;
  /** Minutes before now in which they came into the state, from and to. */
  minutesAgo?: [number, number];
  dueInMinutes?: number;
  /** Results in turn. */
  results?: CallResult["status"][];
}

/** Results of people who mostly answer, and of people who mostly do not. */
const talkative: CallResult["status"][] = [
  "completed",
  "completed",
  "no_answer",
  "completed",
  "voicemail",
  "completed",
  "busy",
];
const quiet: CallResult["status"][] = ["no_answer", "voicemail", "no_answer", "declined"];

interface Batch {
  agent: string;
  campaign?: string;
  client: string;
  acceptedMinutesAgo: number;
  numberStart: string;
  parts: Part[];
}

/** The day's batches: one under way, one that ended, one that waits for its hours, and one with trouble. */
const batches: Batch[] = [
  {
    agent: "agent_sales",
    campaign: "November offers",
    client: "crm",
    acceptedMinutesAgo: 95,
    numberStart: "+120255",
    parts: [
      { state: "PLACED", count: 1480, reason: "placed", minutesAgo: [94, 2], results: talkative },
      { state: "REJECTED", count: 46, reason: "http_400", minutesAgo: [90, 2] },
      { state: "DIALING", count: 6, reason: "claimed" },
      { state: "WAITING", count: 640, reason: "pace", dueInMinutes: 1 },
      { state: "WAITING", count: 228, reason: "hours:regions.florida", dueInMinutes: 35 },
    ],
  },
  {
    agent: "agent_survey",
    campaign: "How was your stay?",
    client: "research",
    acceptedMinutesAgo: 240,
    numberStart: "+141555",
    parts: [
      { state: "PLACED", count: 262, reason: "placed", minutesAgo: [238, 60], results: quiet },
      { state: "NEEDS_REVIEW", count: 7, reason: "outcome_unknown", minutesAgo: [58, 30] },
      { state: "WAITING", count: 91, reason: "breaker_open", dueInMinutes: 4 },
    ],
  },
  {
    agent: "agent_paris",
    campaign: "November offers",
    client: "crm",
    acceptedMinutesAgo: 20,
    numberStart: "+331425",
    parts: [{ state: "WAITING", count: 310, reason: "hours:countries.FR", dueInMinutes: 1060 }],
  },
  {
    agent: "agent_sales",
    client: "shop",
    acceptedMinutesAgo: 420,
    numberStart: "+130355",
    parts: [
      {
        state: "PLACED",
        count: 574,
        reason: "placed",
        minutesAgo: [415, 260],
        results: talkative,
      },
      { state: "REJECTED", count: 18, reason: "do_not_call", minutesAgo: [415, 400] },
      { state: "CANCELLED", count: 8, reason: "operator", minutesAgo: [300, 290] },
    ],
  },
];

function rowsOf(batch: Batch, now: number, place: number): CallRow[] {
  const acceptedAt = now - batch.acceptedMinutesAgo * minuteMs;
  const requestId = createRequestId(acceptedAt, String(place + 1).padStart(32, "7"));
  const batchCalls = batch.parts.reduce((sum, { count }) => sum + count, 0);
  // Neighbours in a list are of all states: each part is spread over the whole batch.
  const placed = batch.parts
    .flatMap((part) =>
      Array.from({ length: part.count }, (_, n) => ({ part, n, at: (n + 0.5) / part.count })),
    )
    .toSorted((one, other) => one.at - other.at);
  return placed.map(({ part, n }, index) => {
    const call: Call = {
      id: toCallId(requestId, index),
      requestId,
      batchCalls,
      client: batch.client,
      mode: modeOf(batch.client),
      acceptedAt,
      ...(index === 0 ? { first: "request" as const } : {}),
      ...(batch.campaign === undefined ? {} : { labels: { campaign: batch.campaign } }),
      request: {
        phone_number: `${batch.numberStart}${10_000 + index}`,
        agent_id: batch.agent,
        // Twilio's fetched TwiML carries no context.
        ...(batch.agent === "agent_paris" ? {} : { context: { first_name: "Ada" } }),
      },
    };
    return rowOf(call, part, n, now);
  });
}

function rowOf(call: Call, part: Part, n: number, now: number): CallRow {
  const { state, count, reason, minutesAgo: [from, to] = [1, 1], dueInMinutes = 1, results } = part;
  const at = now - (from - ((from - to) * (n + 1)) / count) * minuteMs;
  const dueAt = now + dueInMinutes * minuteMs + n * 500;
  const route = findAgentRoute(call.request.agent_id, plan);
  const row = rowIn(state, call, { at, reason, dueAt, ...(route && { route }) });
  if (state === "NEEDS_REVIEW") return asked(row, at);
  const status = results?.[n % results.length];
  if (status === undefined) return row;
  return { ...row, providerCallId: `simulated-${n}`, result: resultAt(status, at) };
}

/** Returns a call that look-ups did not find, so that a person reviews it. */
function asked(row: CallRow, at: number): CallRow {
  const [claimed, ...rest] = row.history;
  const sentAt = at - 5 * minuteMs;
  const step = (seconds: number, reason: string) => ({
    at: sentAt + seconds * 1000,
    state: "UNKNOWN" as const,
    reason,
  });
  return {
    ...row,
    claimedAt: sentAt,
    unknownSince: sentAt + 30_000,
    misses: 4,
    history: [
      ...(claimed === undefined ? [] : [{ ...claimed, at: sentAt }]),
      step(30, "time_out"),
      step(60, "not_found"),
      ...rest,
    ],
  };
}

function resultAt(status: CallResult["status"], at: number): CallResult {
  const isAnswered = status === "completed";
  return {
    status,
    human: isAnswered ? true : null,
    word: status,
    answeredAt: isAnswered ? at + 9000 : null,
    endedAt: at + 80_000,
    seconds: isAnswered ? 71 : null,
  };
}

/** Returns the usage of the rows by its keys: each call was accepted, came into its state and, if it was placed, ended. */
function usageOf(rows: readonly CallRow[], now: number): Map<string, Record<string, number>> {
  const usage = new Map<string, Record<string, number>>();
  const add = (at: number, { of, counters }: UsageStep) => {
    const { key } = usageKeyOf(at, of);
    const sums = usage.get(key) ?? {};
    for (const [name, count] of Object.entries(counters)) sums[name] = (sums[name] ?? 0) + count;
    usage.set(key, sums);
  };
  for (const row of rows) {
    const { acceptedAt, updatedAt, result } = row;
    const requests = row.first === "request" ? 1 : 0;
    add(acceptedAt, { of: row, counters: { accepted: 1, requests } });
    const polled = { ...row, result: null, dueAt: result === null ? row.dueAt : now };
    const entered = rowStep(polled, updatedAt);
    const { accepted: _, requests: __, ...counters } = entered.counters;
    add(updatedAt, { ...entered, counters });
    const endedAt = result?.endedAt ?? updatedAt;
    add(endedAt, changedStep(polled, { ...polled, dueAt: row.dueAt, result }, endedAt));
  }
  return usage;
}

/** Fills a ledger with a believable day of calls, an open circuit breaker, a pause and an audit log. */
export async function fillWithADay(
  ledger: CallLedger,
  documents: Documents,
  now: number,
): Promise<void> {
  const rows = batches.flatMap((batch, place) => rowsOf(batch, now, place));
  await writeRows(rows, ledger, documents);
  const put = async <K extends Kind>(kind: K, key: string, value: ValueOf<K>) => {
    const next = { kind, key, version: `${kind}-${key}`, value, expiresAt: null };
    await documents.write([{ next, seen: null }]);
  };
  for (const [key, counters] of usageOf(rows, now)) await put("usage", key, counters);
  await put("sweep", "sweep", {
    epoch: 4,
    leaseUntil: 0,
    fullRoundAt: now - 24_000,
    roundBeganAt: now - 24_000,
    watchAfter: null,
  });
  await put("breaker", "account:retell", {
    state: "open",
    code: "http_503",
    openedAt: now - 58 * minuteMs,
    probeAt: now + 4 * minuteMs,
    intervalMs: 8 * minuteMs,
    cause: "unreachable" as const,
    room: 0,
    blamed: [],
  });
  await put("counters", "account:retell", { unreachable: 0, inRow: 12 });
  const paused = pauseKeyOf({ agent: "agent_paris" });
  const at = now - 18 * minuteMs;
  await put(paused.kind, paused.key, { of: { agent: "agent_paris" }, at, by: "ada" });
  await put("pace", "vapi", { arrivalUs: (now + 2500) * 1000 });
  const served = { client: "", agents: {}, completed: [4, 4], sent: [], allowance: 8 };
  await put("dispatcher", "dispatcher", {
    holder: "day",
    since: now - 20_000,
    beatAt: now - 1000,
    accounts: { vapi: { ...served, why: "pace" }, retell: { ...served, why: "breaker_open" } },
  });
  for (const [minutes, action, target, count] of actions) {
    const time = now - minutes * minuteMs;
    const counted = count === undefined ? {} : { count };
    const key = `${String(time).padStart(15, "0")}#${minutes}`;
    await put("audit", key, { at: time, by: "ada", action, target, ...counted });
  }
}

const actions: [minutesAgo: number, action: string, target: string, count?: number][] = [
  [18, "pause", "agent agent_paris"],
  [130, "do_not_call_add", "do-not-call list", 212],
  [298, "cancel", "agent agent_sales", 8],
];
