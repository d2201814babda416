import type { DialOutcome } from "#shared/providers/provider.ts";
import { createDialerBench } from "./dialer.ts";
import {
  aCallNow,
  type Bench,
  dispatchOf,
  documentOf,
  numberOf,
  ownAccount,
  putDocument,
  putIn,
  webhook,
} from "./dialer-calls.ts";

const vapi = { provider: "vapi", agent: "a", from: "n" };
/** `agent_sales` and `agent_other` share an account; `hook` is a webhook of its own. */
const plan = {
  agents: { agent_sales: vapi, agent_other: vapi, hook: webhook },
  providers: { vapi: { callsPerSecond: 100 } },
};

export const unreachable: DialOutcome = { kind: "unknown", code: "http_500" };
export const placed: DialOutcome = { kind: "placed" };
export const refused: DialOutcome = { kind: "account_refused", code: "http_401" };
export const busy = (retryAfterSeconds?: number): DialOutcome => ({
  kind: "not_placed",
  code: "http_429",
  retryAfterSeconds,
});

/** Names of the breakers of the shared account, of the webhook's, and of a backlog. */
export const account = "account:vapi";
export const hookAccount = `account:${ownAccount}`;
export const backlogOf = (client: string, agent = "agent_sales") =>
  `backlog:${JSON.stringify([client, agent])}`;
export const own = backlogOf("crm");

export const createBreakersBench = (more: { concurrency?: number } = {}) =>
  createDialerBench({ plan, startAt: "2026-06-01T10:00Z", ...more });

export const breakerOf = async (bench: Bench, key: string) =>
  (await documentOf(bench, "breaker", key))?.value;
export const stateOfBreaker = async (bench: Bench, key: string) =>
  (await breakerOf(bench, key))?.state;
/** Resolves to the time until a breaker's probe, in milliseconds. */
export const probeIn = async (bench: Bench, key: string) =>
  ((await breakerOf(bench, key))?.probeAt ?? 0) - bench.now();
export const opened = (bench: Bench) =>
  bench.eventsOf("breaker.opened").map(({ breaker }) => breaker);

export const times = (count: number, outcome: DialOutcome) =>
  Array.from({ length: count }, () => outcome);

/** A call that is due, of a client and to an agent. */
interface DueOf {
  client?: string;
  agent_id?: string;
  timezone?: string;
  phone_number?: string;
}

let people = 0;

/** Puts rows that are due into the ledger, each to a number of its own. */
export async function putDue(bench: Bench, count: number, of: DueOf = {}) {
  const { client = "crm", agent_id = "agent_sales", ...fields } = of;
  const calls = Array.from({ length: count }, () => {
    people += 1;
    return aCallNow(bench, { phone_number: numberOf(people), agent_id, ...fields }, { client });
  });
  for (const call of calls) await putIn(bench, "WAITING", call, { dueAt: bench.now() });
  return calls;
}

/** Delivers rows of one account in one dispatch that no dispatcher sent. */
export async function deliverRows(
  bench: Bench,
  calls: readonly { id: string; request: { agent_id: string } }[],
): Promise<void> {
  const isHook = calls[0]?.request.agent_id === "hook";
  await bench.send(dispatchOf(calls, isHook ? ownAccount : "vapi"));
  await bench.deliver();
}

/** Dials one row after another, each with one of the answers and in a delivery of its own. */
export async function dialEach(
  bench: Bench,
  outcomes: readonly DialOutcome[],
  of: DueOf = {},
): Promise<void> {
  for (const outcome of outcomes) {
    bench.answer = async () => outcome;
    await deliverRows(bench, await putDue(bench, 1, of));
    bench.advance(1);
  }
}

/** Opens a breaker, like the dialer does. */
export const openBreaker = (
  bench: Bench,
  key: string,
  more: Partial<NonNullable<Awaited<ReturnType<typeof breakerOf>>>> = {},
) =>
  putDocument(
    bench,
    { kind: "breaker", key },
    {
      state: "open",
      cause: "account_refused",
      code: "http_401",
      openedAt: bench.now(),
      probeAt: bench.now() + 60_000,
      intervalMs: 60_000,
      room: 0,
      blamed: [],
      ...more,
    },
  );

/** Returns the intervals between requests from `from` on, in seconds. */
export function gapsSince(bench: Bench, from: number): number[] {
  const at = bench.dialed.filter((one) => one.at >= from).map((one) => one.at);
  return at.slice(1).map((time, n) => (time - (at[n] ?? 0)) / 1000);
}
