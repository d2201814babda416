import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import * as z from "#shared/lib/zod.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { answerProblem, answerUnprocessable } from "../api/http/problem.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import { breakerViewSchema, closeBreaker, listBreakerViews } from "./breakers.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import { removeDocuments } from "#shared/ports/remove-documents.ts";
import { agentId, anyName, hasExactlyOne, instant, time, toIsoTime } from "../api/http/fields.ts";
import { declareRoute } from "../api/http/route.ts";
import {
  fieldsOf,
  findPauseProblem,
  type Pause,
  pauseReason,
  prolong,
  targetOf,
  toPausable,
} from "./pause-orders.ts";
import { pauseKeyOf } from "#shared/rules/pause.ts";

/** Documents of one page, and maximum pages of one answer. */
const pageDocuments = 500;
const answerPages = 4;

const pauseFields = {
  agent_id: z.optional(z.string()),
  account: z.optional(z.string()),
  client: z.optional(z.string()),
};
/** A pause: exactly one of `agent_id`, `account` and `client` is present. */
const pauseViewSchema = z.strictObject({
  ...pauseFields,
  at: time,
  by: z.string(),
  reason: z.nullable(z.string()),
  until: z.nullable(time).check(z.describe("Null: until somebody resumes it")),
});
export type PauseView = z.infer<typeof pauseViewSchema>;

const pausedSchema = z.strictObject({
  ...pauseViewSchema.shape,
  is_new: z
    .boolean()
    .check(z.describe("False: it was paused already. Resuming it ends that pause too")),
});

const pausesSchema = z.strictObject({
  pauses: z
    .array(pauseViewSchema)
    .check(z.describe("Pauses by operators, or by `system` for an agent's results")),
  breakers: z.array(breakerViewSchema).check(z.describe("Open circuit breakers")),
  agents: z.array(z.string()),
  other_agents: z
    .boolean()
    .check(z.describe("Whether there are agents that the plan does not name")),
  accounts: z.array(z.string()),
});
export type Pauses = z.infer<typeof pausesSchema>;

const listPauses = declareRoute({
  operationId: "listPauses",
  summary: "List what operators have paused, and which circuit breakers are open",
  method: "get",
  path: "/pauses",
  answer: pausesSchema,
  async handle({ deps }) {
    const { agents } = deps.plan;
    const [pauses, breakers] = await Promise.all([allOf("pause", deps), allOf("breaker", deps)]);
    return {
      pauses: pauses.map(({ value }) => viewOf(value)),
      breakers: await listBreakerViews(breakers, deps.documents),
      agents: Object.keys(agents).filter((name) => name !== "*"),
      other_agents: Object.hasOwn(agents, "*"),
      accounts: [...new Set(Object.values(agents).map(({ account }) => account))].toSorted(),
    };
  },
});

const pause = declareRoute({
  operationId: "pause",
  summary: "Pause the calls of an agent, an account or a client",
  description:
    "If it is paused already, this may change the reason and make the pause longer, never shorter.",
  method: "post",
  path: "/pause",
  body: z
    .strictObject({
      agent_id: z.optional(agentId),
      account: z.optional(anyName).check(z.describe("An account of the dial plan")),
      client: z.optional(anyName).check(z.describe("Owner of API tokens, or of calls that wait")),
      reason: z.optional(pauseReason),
      until: z
        .optional(instant)
        .check(z.describe("When it ends by itself. Absent: when somebody resumes it")),
    })
    .check(
      z.refine(({ agent_id, account, client }) => hasExactlyOne({ agent_id, account, client }), {
        error: "must have one of agent_id, account and client",
      }),
    ),
  answer: pausedSchema,
  async handle({ c, deps, body: { reason, until, ...named } }) {
    const { clock } = deps;
    const problem = await findPauseProblem({ ...named, until }, deps);
    if (problem !== undefined) return answerUnprocessable(c, [problem]);
    const of = toPausable(named);
    const ends = until === undefined ? undefined : `until ${toIsoTime(until)}`;
    const why = [reason, ends].filter((text) => text !== undefined).join(", ");
    const action = { action: "pause", target: targetOf(of), reason: why === "" ? undefined : why };
    await recordAction(c, action, deps);
    const order = { of, at: clock.now(), by: c.get("caller").tokenId, reason, until };
    // The pause is written even if nothing changes: under a fresh version, an earlier resume whose answer was lost
    // cannot remove it.
    const change = (paused: Pause | undefined) => {
      const value = paused === undefined ? order : prolong(paused, order);
      return { value, expiresAt: value.until ?? null };
    };
    const { before, after } = await changeDocument({ name: pauseKeyOf(of), change }, deps);
    return { ...viewOf(after ?? order), is_new: before === undefined };
  },
});

const resumedSchema = z.strictObject({ ...pauseFields, breaker: z.optional(z.string()) });

const resume = declareRoute({
  operationId: "resume",
  summary: "Resume the calls of an agent, an account or a client, or close a circuit breaker",
  method: "post",
  path: "/resume",
  body: z
    .strictObject({
      agent_id: z.optional(anyName),
      account: z.optional(anyName),
      client: z.optional(anyName),
      breaker: z.optional(anyName).check(z.describe("The key of an open circuit breaker")),
    })
    .check(
      z.refine(hasExactlyOne, { error: "must have one of agent_id, account, client and breaker" }),
    ),
  answer: resumedSchema,
  problems: [404, 409],
  async handle({ c, deps, body: { breaker, ...named } }) {
    if (breaker !== undefined) return closeBreaker(c, breaker, deps);
    const what = toPausable(named);
    await recordAction(c, { action: "resume", target: targetOf(what) }, deps);
    const { documents } = deps;
    if (await removeDocuments([pauseKeyOf(what)], documents)) return fieldsOf(what);
    return answerProblem(c, 409, {
      detail: "It was paused again meanwhile, and stays paused. Look at the pause, and resume it.",
    });
  },
});

export const pauseRoutes = [listPauses, pause, resume];

async function allOf<K extends "pause" | "breaker">(
  kind: K,
  deps: Pick<RouteDeps, "documents">,
): Promise<StoredDocument<K>[]> {
  const found: StoredDocument<K>[] = [];
  let after: string | undefined;
  for (let page = 0; page < answerPages; page++) {
    const listed = await deps.documents.list(kind, { after, limit: pageDocuments });
    found.push(...listed.filter(isReadable));
    after = listed.at(-1)?.key;
    if (listed.length < pageDocuments) break;
  }
  return found;
}

function viewOf({ of, at, by, reason, until }: Pause): PauseView {
  const ends = until === undefined ? null : toIsoTime(until);
  return { ...fieldsOf(of), at: toIsoTime(at), by, reason: reason ?? null, until: ends };
}
