import type { Context } from "hono";
import { guardLimits } from "#shared/dial-plan/guards.ts";
import * as z from "#shared/lib/zod.ts";
import { clientKeyOf, type StoredClient } from "#shared/policy/stored-tokens.ts";
import { readOfToday } from "#shared/policy/ledger-epoch.ts";
import { appendEntry } from "#shared/policy/journal-entries.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import type { ApiEnv, RouteDeps } from "../api/http/context.ts";
import { anyName, limit, nextCursor, time, toIsoTime } from "../api/http/fields.ts";
import { foreignCursor } from "../api/http/cursors.ts";
import { UncheckedTokenError } from "../api/http/port-limits.ts";
import { answerProblem } from "../api/http/problem.ts";
import { deleteAllReceivers } from "../api/requests/client-receivers.ts";
import { refuseWithoutRole } from "./roles.ts";
import { refuseAboveBudget } from "../api/actions/write-budgets.ts";
import { declareRoute } from "../api/http/route.ts";
import { isWidened } from "./granted-rights.ts";

/** Names that a path can have, and no client's tests: these begin with `test:`. */
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const agentsMax = 200;

export const agentsField = z
  .array(anyName)
  .check(z.minLength(1), z.maxLength(agentsMax), z.describe("Agents by name; `*` is all of them"));

const { callsPerDay, waiting } = guardLimits;
const quotaSchema = z
  .strictObject({ calls_per_day: z.optional(callsPerDay), waiting: z.optional(waiting) })
  .check(
    z.refine(
      (quota) => quota.calls_per_day !== undefined || quota.waiting !== undefined,
      "must have calls_per_day, waiting or both",
    ),
    z.describe("Limits of calls with tokens that operators made, beside the dial plan's guards"),
  );

const clientViewSchema = z
  .strictObject({
    name: z.string(),
    agents: z.array(z.string()),
    quota: z.nullable(quotaSchema),
    created_at: time,
    changed_at: time,
    changed_by: z.string(),
  })
  .check(z.meta({ id: "Client", description: "A client that operators made." }));

const clientsSchema = z.strictObject({ clients: z.array(clientViewSchema), cursor: nextCursor });
export type Clients = z.infer<typeof clientsSchema>;

const listClients = declareRoute({
  operationId: "listClients",
  summary: "Clients that operators made, by their names",
  description:
    "Clients that only API_TOKENS has are left out. A page may be shorter than its limit.",
  method: "get",
  role: "configure",
  path: "/clients",
  query: z.strictObject({
    cursor: z.optional(z.string().check(z.regex(namePattern, foreignCursor))),
    limit,
  }),
  answer: clientsSchema,
  async handle({ deps, query }) {
    const found = await deps.documents.list("client", { after: query.cursor, limit: query.limit });
    const clients = found
      .filter(isReadable)
      .filter(({ value }) => !value.isRemoved)
      .map(({ key, value }) => toClientView(key, value));
    return { clients, ...(found.length < query.limit ? {} : { cursor: found.at(-1)?.key }) };
  },
});

const putSchema = z.strictObject({ ...clientViewSchema.shape, is_new: z.boolean() });
export type PutClient = z.infer<typeof putSchema>;

const putClient = declareRoute({
  operationId: "putClient",
  summary: "Make a client, or change one",
  description:
    "Its tokens follow within a minute. To give a client more agents or calls than it has needs the role `decide` too.",
  method: "put",
  role: "configure",
  path: "/clients/:id",
  body: z.strictObject({
    agents: agentsField,
    quota: z.optional(z.nullable(quotaSchema)),
    reuse: z
      .optional(z.literal(true))
      .check(
        z.describe("Needed for the name of a removed client, whose requests its tokens can read"),
      ),
  }),
  answer: putSchema,
  problems: [403, 404, 409],
  async handle({ c, deps, body: { agents, quota, reuse } }) {
    const name = nameIn(c);
    if (name === undefined) return noSuchClient(c);
    const restored = await refuseWhileSuspended(c, deps);
    if (restored !== undefined) return restored;
    const limits = quota ? { callsPerDay: quota.calls_per_day, waiting: quota.waiting } : null;
    const widens = (stored: StoredClient | undefined) =>
      stored?.isRemoved === false && isWidened(stored, { agents, quota: limits });
    const refusalOver = (stored: StoredClient | undefined) => {
      if (widens(stored)) return refuseWithoutRole(c, "decide", deps);
      return stored?.isRemoved === true && reuse !== true ? answerRemoved(c, stored) : undefined;
    };
    const current = await findClient(name, deps);
    let refused = refusalOver(current);
    if (refused !== undefined) return refused;
    // A client that gets fewer rights, or does not change, has no hourly maximum.
    const isMore = widens(current) || current?.isRemoved !== false;
    const above = isMore ? await refuseAboveBudget(c, "tokens", deps) : undefined;
    if (above !== undefined) return above;
    const target = `client ${name}`;
    await recordAction(c, { action: "put_client", target, exposes: { agents } }, deps);
    // Another client may have had the name: its receivers would get the events of this one.
    if (current?.isRemoved !== false) await deleteReceiversOf(name, deps);
    const change = (stored: StoredClient | undefined) => {
      // Another operator may have removed the client meanwhile, or narrowed it.
      refused = refusalOver(stored);
      if (refused !== undefined) return undefined;
      const known = stored?.isRemoved === false ? stored : undefined;
      return {
        ...stampOf(c, stored, deps),
        agents,
        quota: limits,
        generation: known?.generation ?? deps.random.version(),
        createdAt: known?.createdAt ?? deps.clock.now(),
        isRemoved: false,
      };
    };
    const { before, after } = await storeClient(name, { change, expiresAt: null }, deps);
    if (after === undefined) return refused ?? noSuchClient(c);
    return { ...toClientView(name, after), is_new: before?.isRemoved !== false };
  },
});

const removedSchema = z.strictObject({ name: z.string() });

const removeClient = declareRoute({
  operationId: "removeClient",
  summary: "Remove a client: all tokens that operators made for it are revoked within a minute",
  description:
    "Its own receivers are deleted. Its waiting calls are still dialed. If API_TOKENS has tokens of the client, these and the receivers stay.",
  method: "delete",
  role: "configure",
  path: "/clients/:id",
  answer: removedSchema,
  problems: [404, 409],
  async handle({ c, deps }) {
    const name = nameIn(c);
    if (name === undefined) return noSuchClient(c);
    if ((await findClient(name, deps)) === undefined)
      return (await refuseWhileSuspended(c, deps)) ?? noSuchClient(c);
    await recordAction(c, { action: "remove_client", target: `client ${name}` }, deps);
    const change = (current: StoredClient | undefined) =>
      current && { ...current, ...stampOf(c, current, deps), isRemoved: true };
    const expiresAt = deps.clock.now() + deps.retentionMs;
    const { after } = await storeClient(name, { change, expiresAt }, deps);
    if (after === undefined) return noSuchClient(c);
    await deleteReceiversOf(name, deps);
    return { name };
  },
});

export const clientRoutes = [listClients, putClient, removeClient];

/**
 * Returns the problem that the ledger was restored and its journal is not applied yet; undefined otherwise. A client
 * that was changed in a restored ledger might bring back tokens that were revoked with it.
 */
export async function refuseWhileSuspended(
  c: Context<ApiEnv>,
  { documents, epochStore }: RouteDeps,
): Promise<Response | undefined> {
  const epoch = await epochStore.read();
  if ((await readOfToday([], epoch, documents)).isOfToday) return undefined;
  const detail =
    "The ledger was restored, and its journal is not applied yet: confirm the restore first. Until then, tokens can be revoked and clients removed.";
  return answerProblem(c, 409, { detail });
}

/** Returns the client in the request's path, or the problem that there is none. */
export async function requireClient(
  c: Context<ApiEnv>,
  deps: RouteDeps,
): Promise<{ name: string; client: StoredClient } | Response> {
  const name = nameIn(c);
  const client = name === undefined ? undefined : await findClient(name, deps);
  if (name === undefined || client?.isRemoved !== false) return noSuchClient(c);
  return { name, client };
}

/**
 * Deletes the receivers of a client that has no token of API_TOKENS.
 *
 * @throws UncheckedTokenError if API_TOKENS cannot be read: the client may have one
 */
async function deleteReceiversOf(name: string, deps: RouteDeps): Promise<void> {
  if (deps.listedTokens === undefined) throw new UncheckedTokenError("API_TOKENS cannot be read");
  if (!deps.isListedClient(name, deps.clock.now())) await deleteAllReceivers(name, deps);
}

async function findClient(
  name: string,
  { documents }: RouteDeps,
): Promise<StoredClient | undefined> {
  return (await documents.read([clientKeyOf(name)])).get("client", name)?.value;
}

/** Writes a client, and then appends it to the journal. `after` is undefined where the change left it. */
async function storeClient(
  name: string,
  {
    change,
    expiresAt,
  }: {
    change(current: StoredClient | undefined): StoredClient | undefined;
    expiresAt: number | null;
  },
  deps: RouteDeps,
): Promise<{ before: StoredClient | undefined; after: StoredClient | undefined }> {
  const { before, after } = await changeDocument(
    {
      name: clientKeyOf(name),
      change: (current) => {
        const value = change(current);
        return value && { value, expiresAt };
      },
    },
    deps,
  );
  if (after !== undefined)
    await appendEntry({ kind: "client", name, value: after, expiresAt }, deps);
  return { before, after };
}

/** Returns who changes a client and when, later than each change before. */
function stampOf(
  c: Context<ApiEnv>,
  current: StoredClient | undefined,
  { clock }: RouteDeps,
): Pick<StoredClient, "changedAt" | "by"> {
  const changedAt = Math.max(clock.now(), (current?.changedAt ?? 0) + 1);
  return { changedAt, by: c.get("caller").tokenId };
}

function nameIn(c: Context<ApiEnv>): string | undefined {
  const name = c.req.param("id") ?? "";
  return namePattern.test(name) ? name : undefined;
}

function noSuchClient(c: Context<ApiEnv>): Response {
  const detail =
    "Operators made no client of this name. A name is letters, digits, dots, hyphens and underscores, at most 64.";
  return answerProblem(c, 404, { detail });
}

function answerRemoved(c: Context<ApiEnv>, { changedAt }: StoredClient): Response {
  const detail = `A client of this name was removed at ${toIsoTime(changedAt)}, and its requests could be read: choose another name, or send "reuse": true for the same client.`;
  return answerProblem(c, 409, { detail });
}

function toClientView(
  name: string,
  { agents, quota, createdAt, changedAt, by }: StoredClient,
): z.infer<typeof clientViewSchema> {
  return {
    name,
    agents,
    quota: quota && {
      ...(quota.callsPerDay === undefined ? {} : { calls_per_day: quota.callsPerDay }),
      ...(quota.waiting === undefined ? {} : { waiting: quota.waiting }),
    },
    created_at: toIsoTime(createdAt),
    changed_at: toIsoTime(changedAt),
    changed_by: by,
  };
}
