import { createHash } from "node:crypto";
import { parseDialPlan } from "../support/plans.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { accountNameOf } from "#shared/calls/call-request.ts";
import { tokenRights } from "#shared/settings/tokens.ts";
import { planChecks, withChecks } from "./checks.ts";
import type { PostedCall, Scenario } from "./scenario.ts";

/** Tokens in the clear, as held by a client and an operator. */
export const tokens = {
  valid: "oc_valid0000000000000000000000000",
  second: "oc_second000000000000000000000000",
  "of another agent": "oc_other0000000000000000000000000",
  wrong: "oc_wrong0000000000000000000000000",
  operator: "oc_operator0000000000000000000000",
} as const;

const entry = (id: keyof typeof tokens, more: object = {}) => ({
  id,
  sha256: createHash("sha256").update(tokens[id]).digest("hex"),
  ...more,
});

const from = "+12025550199";

export type PlanTraits = Pick<
  Scenario,
  | "hours"
  | "capped"
  | "expireHours"
  | "results"
  | "receivers"
  | "checks"
  | "retries"
  | "callBacks"
  | "traces"
>;

/** Time for which results are asked for, in minutes. */
export const waitMinutes = 60;

/** The agent that the previous plan lacks. */
const newAgent = "known";

/** The agent that only the previous plan names, so that no log line under the new plan may. */
export const unnamedAgent = "plain" satisfies PostedCall["agent"];
/** A number in the names that clients give their receivers. */
export const numberInNames = "13035550188";

/** Types of the events of a receiver that is not told all. */
export const someTypes = ["call.ended", "call.needs_review", "request.finished"] as const;

/** The agents whose calls are tried again, and their rule. */
export const retriedAgents: readonly PostedCall["agent"][] = ["listed", "known"];
export const retry = {
  attempts: 3,
  within: "2h",
  after: { busy: "5m", no_answer: "10m", failed: "7m" },
} as const;
/** Delays after the ends of a call, in milliseconds. */
export const retryDelaysMs: Readonly<Record<string, number>> = {
  busy: 300_000,
  no_answer: 600_000,
  failed: 420_000,
  voicemail: 900_000,
};

/** The agents whose callees may ask to be called back: in a provider's analysis, or in a webhook's callback. */
const calledBackAgents: readonly PostedCall["agent"][] = ["known", "plain", "again"];
export const callBacks = { within: "1d", most: 2 } as const;

/** True if the plan of a scenario calls callees of an agent back. */
export function isCalledBack(agent: string, { results, callBacks: are }: PlanTraits): boolean {
  return results && are === true && calledBackAgents.some((one) => one === agent);
}

/** Returns the plan's receivers of events. Each event repeats the text by which the client knows its call. */
function eventsOf(receivers: Scenario["receivers"]) {
  const entries = receivers.map(({ name, isAllDelivered, requestsPerSecond }) => {
    const url = `https://events.example/${name === "*" ? "all" : name}`;
    const types = isAllDelivered ? {} : { types: someTypes };
    return [name, { url, requestsPerSecond, echo: ["mark"], ...types }] as const;
  });
  return entries.length === 0 ? {} : { events: Object.fromEntries(entries) };
}

/** Returns a plan with one agent along each kind of route. The previous plan does not ask for results. */
function planJson(traits: PlanTraits, isOld: boolean) {
  const { hours, capped, expireHours, results, receivers, retries } = traits;
  const own = results && retries === true && !isOld ? { retry } : {};
  const back = results && traits.callBacks === true && !isOld ? { callBacks } : {};
  // A machine that answers may pass a wish on, while a retry waits.
  const both =
    "callBacks" in back && "retry" in own
      ? { ...back, retry: { ...retry, after: { ...retry.after, voicemail: "15m" } } }
      : { ...back, ...own };
  const agents = {
    plain: { provider: isOld ? "former" : "webhook", url: "https://plain.example/dial", ...back },
    again: { provider: "webhook", url: "https://again.example/dial", idempotent: true, ...back },
    command: { provider: "telnyx", connection: "c", from },
    listed: { provider: "twilio", from, stream: "wss://audio.example/stream", ...own },
    known: { provider: "vapi", agent: "assistant", from: "number-id", ...both },
    office: {
      provider: "livekit",
      agent: "caller",
      trunk: "ST_1",
      agentWaitSeconds: 5,
      callingHours: "office",
    },
  };
  const { [newAgent]: _, ...agentsBefore } = agents;
  const checked = withChecks(isOld ? agentsBefore : agents, traits.checks);
  const { [unnamedAgent]: every, ...named } = checked;
  return {
    agents: isOld ? checked : { ...named, "*": every },
    providers: {
      webhook: { timeoutSeconds: 5, concurrency: 3 },
      ...(isOld ? { former: { type: "webhook", timeoutSeconds: 5 } } : {}),
      telnyx: { timeoutSeconds: 10, callsPerSecond: 0.5 },
      twilio: { timeoutSeconds: 10, callsPerSecond: 1, burst: 3 },
      vapi: { timeoutSeconds: 20 },
      livekit: { baseUrl: "https://rooms.example", timeoutSeconds: 20 },
    },
    callingHours: {
      default: hours ? { "mon-sun": ["09:00-20:00"] } : "always",
      office: { "mon-fri": ["09:00-12:00", "13:00-17:00"] },
    },
    ...(capped ? { maxCalls: { count: 2, days: 1 } } : {}),
    destinations: { allow: ["US", "GB", "IN", "AU", "NP", "IS"] },
    expireAfterHours: expireHours,
    reviewAfterSeconds: 300,
    ...(results && !isOld ? { results: { waitMinutes } } : {}),
    ...eventsOf(receivers),
    ...planChecks(traits.checks),
    ...(traits.traces === true && !isOld ? { traces: { share: 0.5 } } : {}),
    retentionDays: 60,
  };
}

export const hashKey = "5f".repeat(32);

/** The secret by which the webhook signs its callbacks. */
export const webhookSecret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** Returns the variables of both functions. */
export function environment(traits: PlanTraits, isOld = false): Record<string, string> {
  return {
    DIAL_PLAN: JSON.stringify(planJson(traits, isOld)),
    API_TOKENS: JSON.stringify([
      entry("valid", { rights: tokenRights }),
      entry("second", { rights: tokenRights }),
      entry("of another agent", { agents: ["plain", "office"] }),
    ]),
    OPERATOR_TOKENS: JSON.stringify([entry("operator")]),
    HASH_KEY: hashKey,
    OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector.example",
    EVENTS_KEY: "e7".repeat(32),
    WEBHOOK_SECRET: webhookSecret,
    FORMER_SECRET: `whsec_${Buffer.alloc(32, 8).toString("base64")}`,
    TELNYX_API_KEY: "telnyx-key",
    TWILIO_ACCOUNT_SID: "AC00000000000000000000000000000000",
    TWILIO_AUTH_TOKEN: "twilio-token",
    VAPI_API_KEY: "vapi-key",
    LIVEKIT_API_KEY: "livekit-key",
    LIVEKIT_API_SECRET: "livekit-secret",
    EVENTS_SECRET: `whsec_${Buffer.alloc(32, 9).toString("base64")}`,
    EVENTS_SECOND_SECRET: `whsec_${Buffer.alloc(32, 10).toString("base64")}`,
    ...(traits.results ? { PUBLIC_URL: "https://calls.example.com" } : {}),
  };
}

export function planOf(scenario: Scenario): DialPlan {
  return parseDialPlan(planJson(scenario, false), {});
}

/** Notes that the accounts of a plan have answered quickly. */
export async function knowAccounts(
  plan: DialPlan,
  documents: Documents,
  version: () => string,
): Promise<void> {
  const names = new Set(Object.values(plan.agents).map(accountNameOf));
  const value = { quick: true, busy: false };
  const changes = [...names].map((key) => ({
    next: { kind: "account" as const, key, version: version(), value, expiresAt: null },
    seen: null,
  }));
  await documents.write(changes);
}
