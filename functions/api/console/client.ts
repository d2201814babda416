/** A call as the page shows it: see `callViewSchema`. */
export interface CallView {
  id: string;
  state: string;
  reason: string;
  agent_id: string;
  provider: string | null;
  request_id: string;
  number_tail: string;
  attempt: number;
  due_at: string | null;
  accepted_at: string;
  updated_at: string;
  provider_call_id: string | null;
  redial_of: string | null;
  redialed_as: string | null;
  can_be_revealed: boolean;
}

export interface Step {
  at: string;
  state: string;
  reason: string;
  due_at: string | null;
  by: string | null;
}

export interface Counts {
  counts: { hour: string; state: string; count: number }[];
  standing: Record<string, number>;
  standing_most: number;
  /** Time at which the last full round of the sweep began. */
  swept_at: string | null;
}

/** An operator's pause. Exactly one of `agent_id` and `account` is present. */
export interface Paused {
  agent_id?: string;
  account?: string;
}

/** Failure counts of a circuit breaker: an account's unanswered requests, or an agent's refusals by code. */
export type Failures =
  | { unanswered: number; in_row: number }
  | { refusals: Record<string, number> };

/** An open circuit breaker. */
export interface Breaker {
  key: string;
  kind: string;
  name: string;
  code: string;
  opened_at: string;
  probe_at: string;
  failures: Failures | null;
  /** Agents that use the route. Present for a route's breaker. */
  agents?: string[];
}

export interface Pauses {
  pauses: (Paused & { at: string; by: string })[];
  breakers: Breaker[];
  agents: string[];
  /** True if the plan serves agents that it does not name. */
  other_agents: boolean;
  accounts: string[];
}

/** The waiting calls of one client and one agent: see `backlogViewSchema`. */
export interface Backlog {
  client: string;
  agent_id: string;
  account: string | null;
  head: { call_id: string; due_at: string; accepted_at: string };
  waiting: number;
  called_up_to: string | null;
  held_by: string[];
}

export interface Backlogs {
  backlogs: Backlog[];
  waiting_most: number;
  cursor?: string;
}

export interface Revealed {
  phone_number: string;
  context: Record<string, string>;
}

/** An unsuccessful answer. Its message is meant for people. */
export class AskError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const base = location.pathname.replace(/\/+$/, "");

/** Sends a request to the operator's API on the page's own origin. */
export async function ask<Answer>(token: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(base + path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new AskError(0, "The service cannot be reached.");
  });
  const answer: Answer & { detail?: string; errors?: { pointer: string; detail: string }[] } =
    await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const errors = (answer.errors ?? []).map(
    ({ pointer, detail }) => `${pointer.slice(1)} ${detail}`,
  );
  throw new AskError(
    response.status,
    [answer.detail ?? `HTTP ${response.status}`, ...errors].join(" "),
  );
}
