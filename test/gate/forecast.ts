import { type CallRow, toCall, waitingBacklogOf } from "#shared/calls/call-row.ts";
import { hashedNumberOf } from "#shared/calls/ids.ts";
import { minuteMs } from "#shared/lib/units.ts";
import { allHashesOf } from "#shared/telephony/phone-number.ts";
import { type Dialing, randomWorld } from "./delivered.ts";
import { accountIn, routeIn } from "./routes.ts";
import { createChance } from "./random.ts";
import { readOf } from "./random-documents.ts";

/** Forecasts of one side, and what it says holds calls now. */
export interface Forecasting extends Dialing {
  forecast(posted: object, plan: object, inputs: object): Promise<object>;
  holdersNow(read: object, plan: object): (waiting: object) => object;
}

/** Has both sides forecast the same random calls. Returns their answers, as text. */
export async function forecastBoth(
  seed: number,
  { was, is }: { was: Forecasting; is: Forecasting },
): Promise<{ was: string; is: string }> {
  const answerOf = (side: Forecasting) =>
    forecast(seed, side, was).catch((error: unknown) => `throws ${Object(error).name}`);
  return { was: await answerOf(was), is: await answerOf(is) };
}

async function forecast(seed: number, side: Forecasting, planned: Forecasting): Promise<string> {
  const { plan, hashKeys, now, rows, requested, documents } = randomWorld(seed, planned);
  const { agents, settings } = side.parse(plan, hashKeys);
  const chance = createChance(seed);
  const waiting = rows.flatMap((row) => waitingOf(row) ?? []);
  const fresh = requested.flatMap(({ call }) => call ?? []);
  const calls = [...fresh, ...waiting.map(({ call }) => call)];
  const numbers = calls.map(hashedNumberOf);
  const accounts = calls.flatMap((call) => routeIn(agents, call) ?? []).map(accountIn);
  const read = {
    waiting,
    documents: readOf(documents, false),
    hashes: new Map(numbers.map((number) => [number, allHashesOf(number, hashKeys)])),
    caps: new Map(numbers.map((number) => [number, chance.is(0.3) ? [now - minuteMs] : []])),
    agents: new Set(calls.map(({ request }) => request.agent_id)),
    seenPaces: new Map(
      accounts.flatMap((one) => (chance.is(0.3) ? [[one, { intervalUs: 7e6, burst: 1 }]] : [])),
    ),
  };
  const client = fresh[0]?.client ?? "crm";
  const posted = {
    calls: fresh.map(({ request }) => ({ request })),
    client,
    agents: ["*"],
    at: now,
  };
  const ends: object = await side.forecast(posted, settings, { read, hashKeys, now });
  const holderOf = side.holdersNow(read, { ...settings, now, isOther: false });
  // A reason of an account has its name now, whether it is of its row or of the account.
  const held = waiting.map((one) => ({ ...holderOf(one), name: undefined }));
  return JSON.stringify({ ends: Object.entries(ends).map(endsIn), held });
}

function waitingOf(row: CallRow) {
  const call = row.state === "WAITING" ? toCall(row) : undefined;
  const { dueAt, reason } = row;
  if (call === undefined || dueAt === null) return undefined;
  return { call, backlog: waitingBacklogOf(row), dueAt, reason, hasNumber: true };
}

/** Returns the ends of a list of forecasted calls, without what they were resolved to. */
function endsIn([name, list]: [string, unknown]): unknown[] {
  const all: object[] = Array.isArray(list) ? list.map(Object) : [];
  return all.map((one) => {
    const { end, account, delays, isUnread, dueAt }: Record<string, unknown> = { ...one };
    return { name, end: endIn(Object(end)), account, delays: delaysIn(delays), isUnread, dueAt };
  });
}

/** Names of limits that were not the reasons of rows then. */
const limitsThen: Readonly<Record<string, string>> = {
  speed: "slow",
  caps: "max_calls",
  pause: "paused",
};

/** Returns an end by its reason of today: the seen speed of an account is one. */
function endIn(end: { reason?: string }): object {
  return end.reason === "in_flight" ? { ...end, reason: "slow" } : end;
}

function delaysIn(delays: unknown): object[] {
  const all: Partial<Record<"limit" | "reason" | "rule" | "ms", string>>[] = Array.isArray(delays)
    ? delays
    : [];
  return all.map(({ limit = "", reason = limitsThen[limit] ?? limit, rule, ms }) => {
    const name = reason.split(":", 1)[0];
    return { reason: name, rule: name === "not_before" ? "" : rule, ms };
  });
}
