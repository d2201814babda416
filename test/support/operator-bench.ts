import { accountNameOf } from "#shared/calls/call-request.ts";
import { expect } from "vitest";
import type { Backlogs } from "#functions/operator/backlogs.ts";
import type { Pauses } from "#functions/operator/pauses.ts";
import { breakerNamesOf } from "#shared/policy/breakers.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import type { Kind, ValueOf } from "#shared/ports/document-kinds.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { createTestApi } from "./api.ts";
import { aCall } from "./calls.ts";
import { apiEnvironment, testPlan, tokens } from "./environment.ts";
import { expectDeclared } from "./operator-answers.ts";
import { rowIn, writeRows } from "./rows.ts";
import { pauseKeyOf } from "#shared/rules/pause.ts";

export const now = Date.UTC(2026, 10, 21, 12);
export const minuteMs = 60_000;
export const isoOf = (time: number) => new Date(time).toISOString();

/** Creates the operator's API in memory with a clock of its own, for the plan's agents and others. */
export function createOperatorBench(agents: object = testPlan.agents) {
  const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify({ ...testPlan, agents }) };
  const { app, deps, ledger, documents } = createTestApi({ environment, now: () => now });
  if ("problem" in deps.settings) throw new Error(deps.settings.problem);
  const { plan } = deps.settings.value;

  async function send(path: string) {
    const headers = { authorization: `Bearer ${tokens.operator}` };
    const response = await app.request(`/operator${path}`, { headers });
    const text = await response.text();
    expectDeclared("get", path, { status: response.status, text });
    expect(text).not.toMatch(/2025550123|Zoë/);
    return { status: response.status, text };
  }
  async function ask(query = ""): Promise<Backlogs> {
    const { status, text } = await send(`/backlogs${query}`);
    expect(status).toBe(200);
    const body: Backlogs = JSON.parse(text);
    return body;
  }
  async function breakers(): Promise<Pauses["breakers"]> {
    const body: Pauses = JSON.parse((await send("/pauses")).text);
    return body.breakers;
  }
  /** Adds waiting calls, due `dueMs` from now, each accepted an hour before. */
  async function wait(agentId: string, dueMs: number, { client = "crm", count = 1 } = {}) {
    const acceptedAt = now - 60 * minuteMs;
    const request = { phone_number: "+12025550123", agent_id: agentId, context: { name: "Zoë" } };
    const calls = Array.from({ length: count }, () => aCall({ acceptedAt, client, request }));
    const rows = calls.map((call) => rowIn("WAITING", call, { dueAt: now + dueMs }));
    await writeRows(rows, ledger, documents);
    return calls.map(({ id }) => id).toSorted();
  }
  async function put<K extends Kind>(
    kind: K,
    key: string,
    value: ValueOf<K>,
    expiresAt: number | null = null,
  ) {
    const next = { kind, key, version: randomVersion(), value, expiresAt };
    expect(await documents.write([{ next, seen: null }])).toEqual([true]);
  }
  const pause = (what: Parameters<typeof pauseKeyOf>[0]) => {
    const { kind, key } = pauseKeyOf(what);
    return put(kind, key, { of: what, at: now, by: "operator" });
  };
  const open = (key: string, more: Partial<ValueOf<"breaker">> = {}, expiresAt?: number) =>
    put("breaker", key, { ...breaker, ...more }, expiresAt);
  /** Returns the keys of the breakers of an agent's account and route. */
  function breakersOf(agentId: string) {
    const route = findAgentRoute(agentId, plan);
    if (route === undefined) throw new Error("the plan has no such agent");
    const [account = "", backlog = ""] = breakerNamesOf(
      { client: "crm", agentId },
      { account: accountNameOf(route) },
    );
    return { account, backlog };
  }
  return { app, documents, ledger, send, ask, breakers, wait, put, pause, open, breakersOf };
}

const breaker = {
  state: "open" as const,
  code: "http_500",
  openedAt: now - minuteMs,
  probeAt: now + minuteMs,
  intervalMs: minuteMs,
  cause: "unreachable" as const,
  room: 0,
  blamed: [],
};

/** The account of the agents of the tests' plan, named by the webhook's host. */
export const hostAccount = "webhook:http://127.0.0.1:9";
