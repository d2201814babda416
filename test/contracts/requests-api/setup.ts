import { readRows } from "#test/support/reads.ts";
import { beforeEach } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import type { CallState } from "#shared/calls/states.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { aCall, aRequestId } from "#test/support/calls.ts";
import { tokens } from "#test/support/environment.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { validated } from "#test/support/validated-answers.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import type { OperatorApiUnderTest } from "../operator-api/setup.ts";

interface Answer {
  status: number;
  headers: Headers;
  text: string;
  body: Record<string, never> & {
    accepted_at: string;
    total: number;
    counts?: { by_state: Record<string, number> };
    finished?: boolean;
    requests: {
      id: string;
      total: number;
      labels?: { campaign: string };
      known: boolean;
      finished?: boolean;
    }[];
    history: { state: string; reason: string; try: number }[];
    calls: { id: string; index: number; state: string; reason: string; due_at: string | null }[];
    cursor: string;
    cancelled: number;
    ordered?: number | null;
    detail: string;
    errors: { pointer?: string; header?: string; parameter?: string }[];
  };
}

export type RequestsApiBench = ReturnType<typeof useRequestsApi>;

/** Creates an API before each test of a `describe`, and a request's id that no other test uses. */
export function useRequestsApi(create: () => OperatorApiUnderTest) {
  let api: OperatorApiUnderTest;
  let requestId: string;
  beforeEach(() => {
    api = validated(create());
    requestId = aRequestId(Date.now());
  });

  async function answerTo(path: string, init: RequestInit): Promise<Answer> {
    const response = await api.request(path, init);
    const text = await response.text();
    const body = JSON.parse(text === "" ? "{}" : text);
    return { status: response.status, headers: response.headers, text, body };
  }
  /** Asks for a request; `path` is what follows `/v1/requests/`. */
  const show = (path = requestId, token = tokens.crmDesk) =>
    answerTo(`/v1/requests/${path}`, { headers: { authorization: `Bearer ${token}` } });
  /** Asks for anything below `/v1`. */
  const get = (path: string, token = tokens.crmDesk) =>
    answerTo(`/v1${path}`, { headers: { authorization: `Bearer ${token}` } });
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    api.request(path, jsonRequest(tokens.crm, "POST", body, headers));
  const cancel = (body?: unknown, { id = requestId, token = tokens.crmDesk } = {}) =>
    answerTo(`/v1/requests/${id}/cancel`, jsonRequest(token, "POST", body));
  /** Writes rows of the request, in these states by their indexes; undefined: no row yet. */
  async function write(
    states: readonly (CallState | undefined)[],
    more: Partial<Call> = {},
  ): Promise<Call[]> {
    const id = more.requestId ?? requestId;
    const calls = states.map((_, index) => ({
      ...aCall({ acceptedAt: Date.now(), requestId: id, batchCalls: states.length, ...more }),
      id: toCallId(id, index),
    }));
    const rows = calls.flatMap((call, index) => {
      const state = states[index];
      return state === undefined ? [] : [rowIn(state, call)];
    });
    await writeRows(rows, api.ledger(), api.documents());
    return calls;
  }
  const statesOf = async (calls: readonly Call[]) => {
    const rows = await readRows(
      api.ledger(),
      calls.map(({ id }) => id),
    );
    return calls.map(({ id }) => rows.get(id)?.state);
  };

  return {
    request: (path: string, init?: RequestInit) => api.request(path, init),
    queued: (count: number) => api.queued(count),
    queuedEvents: (count: number) => api.queuedEvents(count),
    documents: () => api.documents(),
    ledger: () => api.ledger(),
    get requestId() {
      return requestId;
    },
    show,
    get,
    post,
    cancel,
    write,
    statesOf,
  };
}
