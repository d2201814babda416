import { type Context, Hono } from "hono";
import { routeOf } from "../../../shared/dial-plan/dial-plan.ts";
import type { Documents, StoredDocument } from "../../../shared/documents/documents.ts";
import { type Pausable, pauseKeyOf } from "../../../shared/documents/orders.ts";
import { accountNameOf } from "../../../shared/providers/index.ts";
import type { ApiEnv, OperatorDeps } from "../context.ts";
import { problem, unprocessable } from "../problem.ts";
import { record } from "./audit.ts";
import { viewsOfOpen } from "./breaker-views.ts";
import { timeOf } from "./call-views.ts";
import { changeDocument } from "./change-document.ts";
import { pauseSchema, resumeSchema } from "./schemas.ts";
import { body, read } from "./validate.ts";

/** Pauses, or breakers, of one page, and pages of one answer. */
const pageDocuments = 500;
const answerPages = 4;
const breakerLifeMs = 7 * 86_400_000;

/** What operators keep waiting and what the service keeps waiting by itself; both are resumed here. */
export function pauseRoutes(deps: OperatorDeps) {
  const routes = new Hono<ApiEnv>();
  routes.get("/pauses", async (c) => c.json(await standing(deps)));

  routes.post("/pause", read, body(pauseSchema), async (c) => {
    const { agent_id, account } = c.req.valid("json");
    const { agents } = deps.plan;
    if (agent_id !== undefined && routeOf(agent_id, deps.plan) === undefined) {
      return unprocessable(c, [{ pointer: "/agent_id", detail: "is no agent of the dial plan" }]);
    }
    const accounts = Object.values(agents).map(({ provider }) => provider);
    if (account !== undefined && !accounts.includes(account)) {
      const detail = "is no account that an agent of the dial plan goes through";
      return unprocessable(c, [{ pointer: "/account", detail }]);
    }
    return c.json(await pause(c, deps, pausable(agent_id, account)));
  });

  routes.post("/resume", read, body(resumeSchema), async (c) => {
    const { agent_id, account, breaker } = c.req.valid("json");
    if (breaker !== undefined) return closeBreaker(c, deps, breaker);
    const what = pausable(agent_id, account);
    await record(c, deps, "resume", targetOf(what));
    const documents = await deps.documents();
    await documents.remove([pauseKeyOf(what)]);
    await restartMarks(accountsOf(what, deps), documents, deps);
    return c.json(fieldsOf(what));
  });
  return routes;
}

/** The pauses and the open breakers, and what of the dial plan may be paused. */
async function standing({ plan, ...deps }: OperatorDeps) {
  const documents = await deps.documents();
  const [pauses, breakers] = await Promise.all([
    allOf("pause", documents),
    allOf("breaker", documents),
  ]);
  return {
    pauses: pauses.flatMap(({ key, value }) => {
      const [kind, name]: unknown[] = JSON.parse(key);
      if (typeof name !== "string") return [];
      const what = kind === "agent" ? { agent: name } : { account: name };
      return [{ ...fieldsOf(what), at: timeOf(value.at), by: value.by }];
    }),
    breakers: await viewsOfOpen(breakers, plan, documents),
    agents: Object.keys(plan.agents).filter((name) => name !== "*"),
    other_agents: Object.hasOwn(plan.agents, "*"),
    accounts: [...new Set(Object.values(plan.agents).map(({ provider }) => provider))].toSorted(),
  };
}

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

/** Keeps calls waiting. A pause that stands already stays whose it is. */
async function pause(c: Context<ApiEnv>, deps: OperatorDeps, what: Pausable) {
  await record(c, deps, "pause", targetOf(what));
  const order = { at: deps.clock.now(), by: c.get("caller").tokenId };
  const change = (paused: object | undefined) => (paused === undefined ? order : undefined);
  const key = pauseKeyOf(what);
  const { at, by } =
    (await changeDocument(key, null, change, await deps.documents(), deps)) ?? order;
  return { ...fieldsOf(what), at: timeOf(at), by };
}

/** Closes a breaker and forgets what was counted, as the first answer would. */
async function closeBreaker(c: Context<ApiEnv>, deps: OperatorDeps, key: string) {
  const documents = await deps.documents();
  const now = deps.clock.now();
  const name = { kind: "breaker", key } as const;
  if ((await documents.read([name])).get("breaker", key) === undefined) {
    return problem(c, 404, "There is no breaker of this key.");
  }
  await record(c, deps, "resume", `breaker ${key}`);
  await changeDocument(
    name,
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
  return c.json({ breaker: key });
}

/** Accounts, by their own names, along which the calls go that were paused. */
function accountsOf(what: Pausable, { plan }: OperatorDeps): string[] {
  const routes =
    "agent" in what
      ? [routeOf(what.agent, plan)]
      : Object.values(plan.agents).filter(({ provider }) => provider === what.account);
  return [...new Set(routes.flatMap((route) => (route === undefined ? [] : accountNameOf(route))))];
}

/** Makes marks that were set before now count no more: what they say is called up found its calls paused. */
async function restartMarks(accounts: string[], documents: Documents, deps: OperatorDeps) {
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

function pausable(agentId: string | undefined, account: string | undefined): Pausable {
  return agentId === undefined ? { account: account ?? "" } : { agent: agentId };
}

function fieldsOf(what: Pausable): { agent_id: string } | { account: string } {
  return "agent" in what ? { agent_id: what.agent } : { account: what.account };
}

function targetOf(what: Pausable): string {
  return "agent" in what ? `agent ${what.agent}` : `account ${what.account}`;
}
