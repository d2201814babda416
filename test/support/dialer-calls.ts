import { readyDeps } from "./entries.ts";
import { readRows } from "#test/support/reads.ts";
import { ensureBacklogs } from "#functions/dialer/record/open-backlogs.ts";
import { type Call, accountNameOf, type Route } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { CallState } from "#shared/calls/states.ts";
import { toCallId } from "#shared/calls/ids.ts";
import type {
  DocumentKey,
  StoredDocument,
  CancellationOrder,
  Kind,
  ValueOf,
} from "#shared/ports/document-kinds.ts";
import { type Cancellable, cancellationKeyOf } from "#shared/policy/cancellation-orders.ts";
import { doNotCallKeyOf, doNotCallListKey } from "#shared/policy/number-entries.ts";
import { type Pausable, pauseKeyOf } from "#shared/rules/pause.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { nameOfKey } from "#shared/lib/rotated-keys.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import type { CallQueue } from "#shared/ports/queue.ts";
import type { CallsMessage, Message } from "#shared/ports/call-messages.ts";
import { aCall, aRequestId, toCallsMessage } from "./calls.ts";
import type { createDialerBench } from "./dialer.ts";
import { rowIn } from "./rows.ts";
import { removeCurrent } from "./documents.ts";

export type Bench = ReturnType<typeof createDialerBench>;

/** The bench's HASH_KEY. */
export const hashKey = "5f".repeat(32);
/** The route of `agent_sales` in the bench's plan. */
export const webhook = { provider: "webhook", url: "http://127.0.0.1:9/dial" } as const;
export const unknown: DialOutcome = { kind: "unknown", code: "time_out" };

/** The account of `webhook`. */
export const ownAccount = "webhook:http://127.0.0.1:9";

/** A method of a port that is down. */
export const boom = async (): Promise<never> => {
  throw new Error("the network broke, with +12025550123 in its message");
};

/** A method of a port that never answers. */
export const silent = (): Promise<never> => new Promise(() => undefined);

/** Composes the message with one call. */
export const message = (call: Call): CallsMessage => toCallsMessage([call]);

/** Composes the message with all these calls of one request. */
export function request(calls: readonly Call[]): CallsMessage {
  const [first, ...rest] = calls;
  if (first === undefined) throw new Error("no call was given");
  return toCallsMessage([first, ...rest]);
}

/** Composes a dispatch of rows of an account, that of `agent_sales` unless another one is named. */
export const dispatchOf = (calls: readonly { id: string }[], account = ownAccount): Message => ({
  kind: "dispatch",
  rows: calls.map(({ id }) => ({ id, account })),
});
export const due = (...calls: { id: string }[]): Message => dispatchOf(calls);

/** Sends the calls of one request, in the order of their ids. */
export async function sendRequest(
  bench: Bench,
  count: number,
  fields: Partial<Call["request"]> = {},
): Promise<Call[]> {
  const requestId = aRequestId(bench.now());
  const calls = callsNow(bench, count, fields).map((call, index) => ({
    ...call,
    requestId,
    id: toCallId(requestId, index),
  }));
  await bench.send(request(calls));
  return calls;
}

/**
 * Sends each call in a message of its own; of more calls than an account may have dialed at once as they come, all stand
 * as rows and are dispatched.
 */
export async function sendEach(bench: Bench, ...calls: Call[]): Promise<void> {
  if (calls.length <= bench.deps.concurrency) {
    await bench.send(...calls.map(message));
    return;
  }
  for (const call of calls)
    await putIn(bench, "WAITING", call, { reason: "turn", dueAt: bench.now() });
  for (const call of calls) {
    const route = findAgentRoute(call.request.agent_id, bench.deps.settings.plan);
    await bench.send(dispatchOf([call], route === undefined ? ownAccount : accountNameOf(route)));
  }
}

/** Returns a number that no other index has. */
export const numberOf = (index: number) => `+1303555${String(index).padStart(4, "0")}`;

/** Returns a number of Iceland that no other index has, and its time zone. */
export const inUtc = (index = 0) => ({
  phone_number: `+354555${String(index).padStart(4, "0")}`,
  timezone: "UTC",
});

/** Returns calls that are accepted now, each with a request and number of its own: of Iceland, if they are in UTC. */
export function callsNow(
  bench: Bench,
  count: number,
  fields: Partial<Call["request"]> = {},
  more: Partial<Call> = {},
): Call[] {
  return Array.from({ length: count }, (_, index) =>
    aCallNow(
      bench,
      {
        ...(fields.timezone === "UTC" ? inUtc(index) : { phone_number: numberOf(index) }),
        ...fields,
      },
      more,
    ),
  );
}

/** Returns a call that is accepted now. */
export function aCallNow(
  bench: Bench,
  fields: Partial<Call["request"]> = {},
  more: Partial<Call> = {},
): Call {
  const posted = { phone_number: "+12025550123", agent_id: "agent_sales", ...fields };
  return aCall({ acceptedAt: bench.now(), request: posted, ...more });
}

/** Returns a call to one of the tests' agents, to the default number of the tests. */
export const callTo = (agent_id: string, more: Partial<Call> = {}): Call =>
  aCall({ request: { phone_number: "+12025550123", agent_id }, ...more });

export const stateOf = async (bench: Bench, { id }: { id: string }) => (await bench.row(id))?.state;

/** Resolves to the states of calls, in order. */
export const statesOf = (bench: Bench, calls: readonly { id: string }[]) =>
  Promise.all(calls.map((call) => stateOf(bench, call)));

export const allIn = (calls: readonly unknown[], state: CallState) => calls.map(() => state);

export const idsDialed = (bench: Bench) => bench.dialed.map(({ call }) => call.id);

/** Resolves to the row of a call. @throws if there is none */
export async function rowOf(bench: Bench, { id }: { id: string }): Promise<CallRow> {
  const row = await bench.row(id);
  if (row === undefined) throw new Error("the call has no row");
  return row;
}

/** Resolves to all rows in a state. */
export const rowsIn = async (bench: Bench, state: CallState): Promise<CallRow[]> =>
  (await bench.rows.list({ state, limit: 100_000 })).rows;

/** Puts rows into the ledger, over existing ones, with the documents of the backlogs that they wait in. */
export async function put(bench: Bench, ...rows: CallRow[]): Promise<void> {
  const waiting = rows.filter(({ state }) => state === "WAITING");
  await ensureBacklogs(waiting, readyDeps(bench.deps));
  const current = await readRows(
    bench.rows,
    rows.map(({ id }) => id),
  );
  await bench.rows.write(
    rows.map((next) => ({ next, seen: current.get(next.id)?.version ?? null })),
  );
}

/** Puts the row of a call into the ledger, through the transitions of the state machine, now. */
export async function putIn(
  bench: Bench,
  state: CallState,
  call: Call,
  more: { reason?: string; dueAt?: number; at?: number; route?: Route } = {},
): Promise<CallRow> {
  const row = rowIn(state, call, { at: bench.now(), ...more });
  await put(bench, row);
  return row;
}

/** Resolves to the document under a key. */
export const documentOf = async <K extends Kind>(bench: Bench, kind: K, key: string) =>
  (await bench.documents.read([{ kind, key }])).get(kind, key);

/** Writes a document over the one under its key. */
export async function putDocument<K extends Kind>(
  bench: Bench,
  { kind, key }: DocumentKey<K>,
  value: ValueOf<K>,
  expiresAt: number | null = null,
): Promise<void> {
  const seen = (await documentOf(bench, kind, key))?.version ?? null;
  const version = bench.deps.random.version();
  const next: StoredDocument<K> = { kind, key, version, value, expiresAt };
  await bench.documents.write([{ next, seen }]);
}

/** Pauses calls, until a time if one is given. */
export const pause = (bench: Bench, what: Pausable, until?: number) =>
  putDocument(
    bench,
    pauseKeyOf(what),
    { of: what, at: bench.now(), by: "ops", until },
    until ?? null,
  );
export const resume = (bench: Bench, what: Pausable) =>
  removeCurrent(bench.documents, pauseKeyOf(what));
export const cancel = (bench: Bench, what: Cancellable, more: Partial<CancellationOrder> = {}) =>
  putDocument(bench, cancellationKeyOf(what), {
    of: what,
    orders: [{ client: null, at: bench.now(), by: "ops", indexes: null, ...more }],
  });

export const hashOf = (number: string) => hashNumber(number, hashKey).numberHash;

/** Puts a number onto the do-not-call list, which is made under a key. */
export async function neverCall(bench: Bench, number: string, key = hashKey): Promise<void> {
  const { numberHash } = hashNumber(number, key);
  const name = nameOfKey(key);
  await putDocument(bench, doNotCallKeyOf(numberHash), { at: bench.now() });
  await putDocument(bench, doNotCallListKey, { keys: [name], current: null });
}

/** Formats a time as ISO 8601, to the second. */
export const iso = (at: number | null | undefined) =>
  at === null || at === undefined ? at : new Date(at).toISOString().slice(0, 19);

/** Puts waiting calls into the ledger, due in this many milliseconds, ordered by their ids. */
export async function putWaiting(
  bench: Bench,
  count: number,
  inMs: number,
  more: Partial<Call> = {},
): Promise<Call[]> {
  const calls = callsNow(bench, count, {}, more).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  for (const call of calls) await putIn(bench, "WAITING", call, { dueAt: bench.now() + inMs });
  return calls;
}

/** Returns the ids of the dispatched rows on the queue, including delayed ones. */
export const idsDispatched = (bench: Bench) =>
  bench.queued().flatMap((one) => (one.kind === "dispatch" ? one.rows.map(({ id }) => id) : []));

/** Makes the queue accept dispatches and lose them, until `fix` is called. */
export function loseDispatches(bench: Bench): { lost: string[]; fix(): void } {
  const { queue } = bench.deps;
  const lost: string[] = [];
  const sendMany: CallQueue["sendMany"] = async (messages) => {
    for (const { message: one } of messages) {
      if (one.kind === "dispatch") lost.push(...one.rows.map(({ id }) => id));
    }
    return messages.length;
  };
  bench.deps.queue = { ...queue, sendMany };
  return {
    lost,
    fix() {
      bench.deps.queue = queue;
    },
  };
}
