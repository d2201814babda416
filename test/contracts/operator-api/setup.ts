import { readRow } from "#test/support/reads.ts";
import { randomBytes } from "node:crypto";
import { beforeEach, expect } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import type { CallState } from "#shared/calls/states.ts";
import type { DeadLetters } from "#shared/ports/dead-letters.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { Kind, ValueOf } from "#shared/ports/document-kinds.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { randomVersion } from "#shared/lib/random.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { Message } from "#shared/ports/call-messages.ts";
import { aCall, aRequestId } from "#test/support/calls.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { validated } from "#test/support/validated-answers.ts";
import { jsonRequest } from "#test/support/json-request.ts";

export interface OperatorApiUnderTest {
  request(path: string, init?: RequestInit): Promise<Response>;
  queued(count: number): Promise<Message[]>;
  queuedEvents(count: number): Promise<EventMessage[]>;
  /** The ledger that the API uses. */
  ledger(): CallLedger;
  documents(): Documents;
  deadLetters(): DeadLetters;
}

export const hashKey = apiEnvironment.HASH_KEY;

export interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, never> & {
    calls: { id: string; state: string; number_tail: string }[];
    entries: { action: string; target: string; by: string; count: number | null }[];
    history: { state: string; reason: string; by: string | null }[];
    errors: { pointer?: string; parameter?: string; detail: string }[];
    counts: { state: string; count: number }[];
    current: Record<string, number>;
    pauses: { agent_id?: string; account?: string }[];
    breakers: { key: string }[];
    backlogs: { agent_id: string; head: { call_id: string }; holders: object[] }[];
    id: string;
    state: string;
    cursor: string;
    cancelled: number;
    replayed: number;
    receivers: { name: string; exhausted_calls: number }[];
    exhausted: { id: string }[];
    dead_letters: { name: string }[];
    detail: string;
  };
}

/** The API of the tests of one `describe`, and their helpers. */
export type OperatorApiBench = ReturnType<typeof useOperatorApi>;

/** Cancels a call's request as its client does, and returns the status. */
export async function cancelAsClient(
  { request }: Pick<OperatorApiBench, "request">,
  callId: string,
): Promise<number> {
  const path = `/v1/requests/${requestIdOf(callId)}/cancel`;
  const { status } = await request(path, jsonRequest(tokens.crmDesk, "POST", {}));
  return status;
}

/** Creates an API before each test of a `describe`. */
export function useOperatorApi(create: () => OperatorApiUnderTest) {
  let api: OperatorApiUnderTest;
  let ledger: CallLedger;
  let documents: Documents;
  let agent: string;
  let requestId: string;
  beforeEach(() => {
    api = validated(create());
    ledger = api.ledger();
    documents = api.documents();
    agent = `agent_${randomBytes(6).toString("hex")}`;
    requestId = aRequestId(Date.now());
  });

  async function ask(path: string, body?: unknown, token = tokens.operator): Promise<Answer> {
    const { status, headers, text } = await send(path, body, token);
    return { status, headers, body: JSON.parse(text === "" ? "{}" : text) };
  }
  async function send(path: string, body?: unknown, token = tokens.operator) {
    const response = await api.request(`/operator${path}`, jsonRequest(token, undefined, body));
    const { status, headers } = response;
    const text = await response.text();
    return { status, headers, text };
  }
  /** Puts a call into the ledger in this state. */
  async function callIn(
    state: CallState,
    more: Partial<Call> = {},
    agent_id = agent,
  ): Promise<Call> {
    const call = aCall({
      requestId,
      acceptedAt: Date.now(),
      ...more,
      request: { phone_number: "+12025550123", agent_id, context: { name: "Zoë" } },
    });
    await writeRows([rowIn(state, call)], ledger, documents);
    return call;
  }
  const rowOf = async ({ id }: { id: string }) => await readRow(ledger, id);
  const documentOf = async <K extends Kind>(kind: K, key: string) =>
    (await documents.read([{ kind, key }])).get(kind, key);
  async function putDocument<K extends Kind>(
    kind: K,
    key: string,
    value: ValueOf<K>,
    expiresAt = Date.now() + 3_600_000,
  ) {
    const seen = (await documentOf(kind, key))?.version ?? null;
    const next = { kind, key, version: randomVersion(), value, expiresAt };
    expect(await documents.write([{ next, seen }])).toEqual([true]);
  }

  return {
    request: (path: string, init?: RequestInit) => api.request(path, init),
    queued: (count: number) => api.queued(count),
    queuedEvents: (count: number) => api.queuedEvents(count),
    get ledger() {
      return ledger;
    },
    get deadLetters() {
      return api.deadLetters();
    },
    get documents() {
      return documents;
    },
    /** An agent that no other test uses. */
    get agent() {
      return agent;
    },
    /** A request that no other test uses. */
    get requestId() {
      return requestId;
    },
    ask,
    callIn,
    rowOf,
    documentOf,
    putDocument,
  };
}
