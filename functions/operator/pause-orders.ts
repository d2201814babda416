import { clientNamed, realClientOf } from "#shared/calls/ids.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import { findSplit } from "#shared/dial-plan/splits.ts";
import { clientKeyOf } from "#shared/policy/stored-tokens.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import * as z from "#shared/lib/zod.ts";
import type { RouteDeps } from "../api/http/context.ts";
import type { ProblemError } from "../api/http/problem.ts";
import type { Pausable } from "#shared/rules/pause.ts";

export type Pause = ValueOf<"pause">;

/** Maximum length of a reason, and the text of a phone number in it: it is kept where no number may be. */
const reasonCharactersMax = 200;
const numberText = /\d(?:[ ()./-]{0,3}\d){8}/;

/** Why calls are paused, in an operator's words. */
export const pauseReason = z.string().check(
  z.trim(),
  z.minLength(1),
  z.maxLength(reasonCharactersMax),
  z.regex(/^\P{Cc}*$/u, "must be one line"),
  z.refine((text) => !numberText.test(text), "must not hold a phone number"),
  z.describe("The reason, in your own words. Operators see it, and the audit log records it"),
);

/** The target of a pause, as requests name it. */
interface Named {
  agent_id?: string | undefined;
  account?: string | undefined;
  client?: string | undefined;
}

export function toPausable({ agent_id: agent, account, client = "" }: Named): Pausable {
  if (agent !== undefined) return { agent };
  return account === undefined ? { client } : { account };
}

export function fieldsOf(
  what: Pausable,
): { agent_id: string } | { account: string } | { client: string } {
  return "agent" in what ? { agent_id: what.agent } : what;
}

/** Names a target in words: `agent agent_sales`. */
export function targetOf(what: Pausable): string {
  return Object.entries(what).flat().join(" ");
}

/** Returns what is wrong with a pause, such as a client that has neither a token nor a backlog: surely a slip. */
export async function findPauseProblem(
  { agent_id, account, client, until }: Named & { until: number | undefined },
  deps: RouteDeps,
): Promise<ProblemError | undefined> {
  const { plan, clock } = deps;
  const now = clock.now();
  if (until !== undefined && until <= now) {
    return { pointer: "/until", detail: "must be in the future" };
  }
  const isAgent = (name: string) =>
    findSplit(name, plan) !== undefined || findAgentRoute(name, plan) !== undefined;
  if (agent_id !== undefined && !isAgent(agent_id)) {
    return { pointer: "/agent_id", detail: "is no agent of the dial plan" };
  }
  const accounts = Object.values(plan.agents).map((route) => route.account);
  if (account !== undefined && !accounts.some((one) => one === account)) {
    const detail = "is no account that an agent of the dial plan goes through";
    return { pointer: "/account", detail };
  }
  if (client === undefined || (await isKnownClient(client, deps))) return undefined;
  return { pointer: "/client", detail: unknownClient };
}

export const unknownClient = "has neither a token nor calls that wait";

/**
 * True if a client has a token in API_TOKENS, was made by operators, or has calls that wait: another name is surely a slip. It
 * reads no tokens, as there may be more of them than can be read at once.
 */
export async function isKnownClient(
  client: string,
  { clock, isListedClient, documents }: Pick<RouteDeps, "clock" | "isListedClient" | "documents">,
): Promise<boolean> {
  const owner = realClientOf(clientNamed(client));
  if (isListedClient(owner, clock.now())) return true;
  const { kind, key } = clientKeyOf(owner);
  const made = (await documents.read([{ kind, key }])).get(kind, key)?.value;
  if (made?.isRemoved === false) return true;
  // Names of backlogs begin with their client, so the first one behind this is the client's if it has any.
  const after = JSON.stringify([client]).slice(0, -1);
  const [first] = await documents.list("backlog", { after, limit: 1 });
  return first?.key.startsWith(`${after},`) === true;
}

/**
 * Returns a pause that was ordered again: its time and its operator do not change, and it ends no earlier, so that
 * nobody ends another operator's pause.
 */
export function prolong(paused: Pause, again: Pause): Pause {
  const isOpenEnded = paused.until === undefined || again.until === undefined;
  const until = isOpenEnded ? undefined : Math.max(paused.until ?? 0, again.until ?? 0);
  return { ...paused, reason: again.reason ?? paused.reason, until };
}
