import type { Context } from "hono";
import { routeOf } from "../../../shared/dial-plan/routes.ts";
import type { Documents, StoredDocument } from "../../../shared/documents/documents.ts";
import { type Pausable, pauseKeyOf } from "../../../shared/documents/orders.ts";
import * as z from "../../../shared/platform/zod.ts";
import { accountNameOf } from "../../../shared/providers/index.ts";
import type { ApiEnv, RouteDeps } from "../context.ts";
import { problem, unprocessable } from "../problem.ts";
import { record } from "./audit.ts";
import { breakerViewSchema, viewsOfOpen } from "./breaker-views.ts";
import { changeDocument } from "./change-document.ts";
import { agentId, anyName, oneOf, time, timeOf } from "./fields.ts";
import { declareRoute } from "../route.ts";

/** Pauses, or breakers, of one page, and maximum pages of one answer. */
const pageDocuments = 500;
const answerPages = 4;
const breakerLifeMs = 7 * 86_400_000;

const pauseFields = {
  agent_id: z.optional(z.string()),
  account: z.optional(z.string()),
};
/** A pause: exactly one of `agent_id` and `account` is present. */
const pauseViewSchema = z.strictObject({ ...pauseFields, at: time, by: z.string() });
export type PauseView = z.infer<typeof pauseViewSchema>;

const pausesSchema = z.strictObject({
  pauses: z.array(pauseViewSchema).check(z.describe("What operators keep waiting")),
  breakers: z.array(breakerViewSchema).check(z.describe("The service's own that are open")),
  agents: z.array(z.string()),
  other_agents: z
    .boolean()
    .check(z.describe("Whether there are agents that the plan does not name")),
  accounts: z.array(z.string()),
});
export type Pauses = z.infer<typeof pausesSchema>;

const listPauses = declareRoute({
  operationId: "listPauses",
  summary: "What operators have paused, and which circuit breakers are open",
  method: "get",
  path: "/pauses",
  answer: pausesSchema,
  async handle({ deps }) {
    const { agents } = deps.plan;
    const { documents } = deps;
    const [pauses, breakers] = await Promise.all([
      allOf("pause", documents),
      allOf("breaker", documents),
    ]);
    return {
      pauses: pauses.map(({ value: { of, at, by } }) => ({
        ...fieldsOf(of),
        at: timeOf(at),
        by,
      })),
      breakers: await viewsOfOpen(breakers, deps.plan, documents),
      agents: Object.keys(agents).filter((name) => name !== "*"),
      other_agents: Object.hasOwn(agents, "*"),
      accounts: [...new Set(Object.values(agents).map(({ provider }) => provider))].toSorted(),
    };
  },
});

const pause = declareRoute({
  operationId: "pause",
  summary: "Keep the calls of an agent or an account waiting",
  method: "post",
  path: "/pause",
  body: z
    .strictObject({
      agent_id: z.optional(agentId),
      account: z.optional(anyName).check(z.describe("A provider of the dial plan")),
    })
    .check(
      z.refine(({ agent_id, account }) => oneOf({ agent_id, account }), {
        error: "must have either agent_id or account",
      }),
    ),
  answer: pauseViewSchema,
  async handle({ c, deps, body: { agent_id, account } }) {
    if (agent_id !== undefined && routeOf(agent_id, deps.plan) === undefined) {
      return unprocessable(c, [{ pointer: "/agent_id", detail: "is no agent of the dial plan" }]);
    }
    const accounts = Object.values(deps.plan.agents).map(({ provider }) => provider);
    if (account !== undefined && !accounts.includes(account)) {
      const detail = "is no account that an agent of the dial plan goes through";
      return unprocessable(c, [{ pointer: "/account", detail }]);
    }
    const what = pausable(agent_id, account);
    await record(c, deps, "pause", targetOf(what));
    const order = { of: what, at: deps.clock.now(), by: c.get("caller").tokenId };
    // A pause that stands already keeps its time and operator.
    const change = (paused: object | undefined) => (paused === undefined ? order : undefined);
    const key = pauseKeyOf(what);
    const { documents } = deps;
    const { at, by } = (await changeDocument(key, null, change, documents, deps)) ?? order;
    return { ...fieldsOf(what), at: timeOf(at), by };
  },
});

const resumedSchema = z.strictObject({ ...pauseFields, breaker: z.optional(z.string()) });
export type Resumed = z.infer<typeof resumedSchema>;

const resume = declareRoute({
  operationId: "resume",
  summary: "Let them go, or close a circuit breaker",
  method: "post",
  path: "/resume",
  body: z
    .strictObject({
      agent_id: z.optional(anyName),
      account: z.optional(anyName),
      breaker: z.optional(anyName).check(z.describe("The key of an open circuit breaker")),
    })
    .check(
      z.refine(({ agent_id, account, breaker }) => oneOf({ agent_id, account, breaker }), {
        error: "must have one of agent_id, account and breaker",
      }),
    ),
  answer: resumedSchema,
  problems: [404],
  async handle({ c, deps, body: { agent_id, account, breaker } }) {
    if (breaker !== undefined) return closeBreaker(c, deps, breaker);
    const what = pausable(agent_id, account);
    await record(c, deps, "resume", targetOf(what));
    const { documents } = deps;
    await documents.remove([pauseKeyOf(what)]);
    await restartMarks(accountsOf(what, deps), documents, deps);
    return fieldsOf(what);
  },
});

export const pauseRoutes = [listPauses, pause, resume];

async function allOf<K extends "pause" | "breaker">(
  kind: K,
  documents: Documents,
): Promise<StoredDocument<K>[]> {
  const found: StoredDocument<K>[] = [];
  for (let page = 0; page < answerPages; page++) {
    const listed = await documents.list(kind, { after: found.at(-1)?.key, limit: pageDocuments });
    found.push(...listed);
    if (listed.length < pageDocuments) break;
  }
  return found;
}

/** Closes a breaker and resets its counters, as a successful probe would. */
async function closeBreaker(
  c: Context<ApiEnv>,
  deps: RouteDeps,
  key: string,
): Promise<Resumed | Response> {
  const { documents } = deps;
  const now = deps.clock.now();
  const breakerKey = { kind: "breaker", key } as const;
  if ((await documents.read([breakerKey])).get("breaker", key) === undefined) {
    return problem(c, 404, "There is no breaker of this key.");
  }
  await record(c, deps, "resume", `breaker ${key}`);
  await changeDocument(
    breakerKey,
    now + breakerLifeMs,
    (breaker) =>
      breaker?.value.state === "open"
        ? { ...breaker.value, state: "closed" as const, closedAt: now }
        : undefined,
    documents,
    deps,
  );
  await documents.remove([{ kind: "failures", key }]);
  const account = /^account:(.*)$/s.exec(key)?.[1];
  if (account !== undefined) await restartMarks([account], documents, deps);
  return { breaker: key };
}

/** Returns the own names of the accounts that the paused calls go through. */
function accountsOf(what: Pausable, { plan }: RouteDeps): string[] {
  const routes =
    "agent" in what
      ? [routeOf(what.agent, plan)]
      : Object.values(plan.agents).filter(({ provider }) => provider === what.account);
  return [...new Set(routes.flatMap((route) => (route === undefined ? [] : accountNameOf(route))))];
}

/** Invalidates the marks that were set before now: the calls that they report as called up were paused. */
async function restartMarks(accounts: string[], documents: Documents, deps: RouteDeps) {
  const restartedAt = deps.clock.now();
  for (const key of accounts) {
    await changeDocument(
      { kind: "account", key },
      null,
      (account) => account && { ...account.value, restartedAt },
      documents,
      deps,
    );
  }
}

function pausable(agent: string | undefined, account: string | undefined): Pausable {
  return agent === undefined ? { account: account ?? "" } : { agent };
}

function fieldsOf(what: Pausable): { agent_id: string } | { account: string } {
  return "agent" in what ? { agent_id: what.agent } : { account: what.account };
}

function targetOf(what: Pausable): string {
  return "agent" in what ? `agent ${what.agent}` : `account ${what.account}`;
}
