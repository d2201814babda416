import type { Context } from "hono";
import * as z from "#shared/lib/zod.ts";
import { findKeyReadByAll } from "#shared/policy/key-read-by-all.ts";
import { doNotCallListKey } from "#shared/policy/number-entries.ts";
import { appendEntry } from "#shared/policy/journal-entries.ts";
import {
  clientKeyOf,
  isTokenValid,
  type StoredClient,
  type StoredToken,
  tokenKeyOf,
} from "#shared/policy/stored-tokens.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import { createTokenMaker, madeIdPattern } from "#shared/settings/made-token.ts";
import { tokenRights } from "#shared/settings/tokens.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import type { ApiEnv, RouteDeps } from "../api/http/context.ts";
import { foreignCursor } from "../api/http/cursors.ts";
import { anyName, instant, limit, nextCursor, time, toIsoTime } from "../api/http/fields.ts";
import { UnreachableError } from "../api/http/port-limits.ts";
import { answerProblem, answerUnprocessable, type ProblemError } from "../api/http/problem.ts";
import { refuseAboveBudget } from "../api/actions/write-budgets.ts";
import { declareRoute } from "../api/http/route.ts";
import { refuseRights } from "./granted-rights.ts";
import { agentsField, refuseWhileSuspended, requireClient } from "./clients.ts";

const states = ["valid", "revoked", "expired", "client_removed", "replaced", "key_gone"] as const;

const tokenViewSchema = z
  .strictObject({
    id: z.string(),
    client: z.string(),
    agents: z.array(z.string()),
    rights: z.array(z.string()),
    mode: z.nullable(z.literal("test")).check(z.describe("`test`: its calls are tests")),
    state: z
      .enum(states)
      .check(
        z.describe(
          "`replaced`: API_TOKENS has an entry of its id, which replaces it. `key_gone`: HASH_KEY lacks the key of its MAC",
        ),
      ),
    hash_key: z
      .nullable(z.enum(["current", "former"]))
      .check(
        z.describe("The key that its MAC depends on: without that key the token stops working"),
      ),
    created_at: time,
    created_by: z.string(),
    not_after: z.nullable(time),
    ended_at: z.nullable(time),
    ended_by: z.nullable(z.string()),
    last_used_at: z.nullable(time).check(z.describe("To the hour; null: not known")),
  })
  .check(z.meta({ id: "Token", description: "A token that operators made, without its text." }));
export type TokenView = z.infer<typeof tokenViewSchema>;

const tokensSchema = z.strictObject({ tokens: z.array(tokenViewSchema), cursor: nextCursor });
export type Tokens = z.infer<typeof tokensSchema>;

const listTokens = declareRoute({
  operationId: "listTokens",
  summary: "Tokens that operators made, by their ids",
  description:
    "Tokens of API_TOKENS are not included. A page may have fewer than its limit, or none, and still a cursor.",
  method: "get",
  role: "configure",
  path: "/tokens",
  query: z.strictObject({
    client: z.optional(anyName),
    cursor: z.optional(z.string().check(z.regex(madeIdPattern, foreignCursor))),
    limit,
  }),
  answer: tokensSchema,
  async handle({ deps, query }) {
    const { documents } = deps;
    const found = await documents.list("token", { after: query.cursor, limit: query.limit });
    const chosen = found
      .filter(isReadable)
      .filter(({ value }) => query.client === undefined || value.client === query.client);
    const keys = [...new Set(chosen.map(({ value }) => value.client))].map(clientKeyOf);
    const clients = keys.length === 0 ? undefined : await documents.read(keys);
    const tokens = chosen.map(({ key, value }) => {
      const client = clients?.get("client", value.client)?.value;
      return toTokenView(key, { token: value, client }, deps);
    });
    return { tokens, ...(found.length < query.limit ? {} : { cursor: found.at(-1)?.key }) };
  },
});

const madeSchema = z.strictObject({
  ...tokenViewSchema.shape,
  token: z.string().check(z.describe("The token: it is shown only once, and stored nowhere")),
});
export type MadeTokenAnswer = z.infer<typeof madeSchema>;

const makeToken = declareRoute({
  operationId: "makeToken",
  summary: "Make a token of a client; the answer shows it once",
  description:
    "It is valid at once. If the answer is lost, make another token, and revoke this one. The right `call` needs the role " +
    "`send` too, `cancel` and `opt_out` need `decide`, and `events` needs `reveal`.",
  method: "post",
  role: "configure",
  path: "/clients/:id/tokens",
  body: z.strictObject({
    agents: z.optional(agentsField),
    rights: z._default(z.array(z.enum(tokenRights)).check(z.minLength(1)), ["call"]),
    mode: z.optional(z.literal("test")),
    not_after: z.optional(instant).check(z.describe("Absent: it does not expire")),
  }),
  answer: madeSchema,
  status: 201,
  problems: [403, 404, 409],
  async handle({ c, deps, body }) {
    const { clock, documents, settings, random, retentionMs } = deps;
    const now = clock.now();
    const refused = refuseRights(c, body.rights, deps);
    if (refused !== undefined) return refused;
    const of = (await refuseWhileSuspended(c, deps)) ?? (await requireClient(c, deps));
    if (of instanceof Response) return of;
    const errors = errorsIn(body, deps);
    if (errors.length > 0) return answerUnprocessable(c, errors);
    const above = await refuseAboveBudget(c, "tokens", deps);
    if (above !== undefined) return above;
    const { hashKeys } = settings;
    // A process that lacks the key of a token's MAC answers 401.
    const key = findKeyReadByAll(await documents.read([doNotCallListKey]), hashKeys, now);
    const { id, token, sha256, keyName } = createTokenMaker({ hashKeys }).make(key);
    const { agents = ["*"], rights, mode, not_after: notAfter = null } = body;
    const value: StoredToken = {
      client: of.name,
      generation: of.client.generation,
      sha256,
      keyName,
      agents,
      rights: [...new Set(rights)],
      isTest: mode === "test",
      notAfter,
      createdAt: now,
      by: c.get("caller").tokenId,
      endedAt: null,
      endedBy: null,
      usedAt: null,
    };
    const expiresAt = notAfter === null ? null : notAfter + retentionMs;
    const target = `token ${id} of client ${of.name}`;
    const exposes = { rights: value.rights, agents };
    await recordAction(c, { action: "make_token", target, exposes }, deps);
    const next = { ...tokenKeyOf(id), version: random.version(), value, expiresAt };
    const [isWritten] = await documents.write([{ next, seen: null }]);
    if (isWritten !== true) throw new UnreachableError("the ledger did not store the token");
    await appendEntry({ kind: "token", name: id, value, expiresAt }, deps);
    return { ...toTokenView(id, { token: value, client: of.client }, deps), token };
  },
});

const revokeToken = declareRoute({
  operationId: "revokeToken",
  summary: "Revoke a token: it stops working within a minute",
  description: "Calls that it has posted are still dialed. A revoked token stays revoked.",
  method: "post",
  role: "configure",
  path: "/tokens/:id/revoke",
  body: z.strictObject({}),
  isBodyOptional: true,
  answer: tokenViewSchema,
  problems: [404, 409],
  async handle({ c, deps }) {
    const { clock, documents, retentionMs } = deps;
    const id = c.req.param("id") ?? "";
    const name = tokenKeyOf(id);
    const isKnown =
      madeIdPattern.test(id) && (await documents.read([name])).get("token", id) !== undefined;
    // The journal brings back a token that was made since the backup.
    if (!isKnown) return (await refuseWhileSuspended(c, deps)) ?? noSuchToken(c);
    await recordAction(c, { action: "revoke_token", target: `token ${id}` }, deps);
    const now = clock.now();
    const end = { endedAt: now, endedBy: c.get("caller").tokenId };
    const expiresAt = now + retentionMs;
    const change = (current: StoredToken | undefined) =>
      current && { value: current.endedAt === null ? { ...current, ...end } : current, expiresAt };
    const { after } = await changeDocument({ name, change }, deps);
    if (after === undefined) return noSuchToken(c);
    await appendEntry({ kind: "token", name: id, value: after, expiresAt }, deps);
    const clientKey = clientKeyOf(after.client);
    const client = (await documents.read([clientKey])).get("client", after.client)?.value;
    return toTokenView(id, { token: after, client }, deps);
  },
});

export const tokenRoutes = [listTokens, makeToken, revokeToken];

/** Returns what is wrong with a token that is to be made. */
function errorsIn(
  { rights, not_after: notAfter }: { rights: readonly string[]; not_after?: number | undefined },
  { clock, clientRights = [] }: RouteDeps,
): ProblemError[] {
  const served = new Set<string>(["call", ...clientRights]);
  const unserved = rights.flatMap((right, index) => {
    const detail = "is not permitted to tokens: the deployment's clientRights lack it";
    return served.has(right) ? [] : [{ pointer: `/rights/${index}`, detail }];
  });
  const isPast = notAfter !== undefined && notAfter <= clock.now();
  return [
    ...unserved,
    ...(isPast ? [{ pointer: "/not_after", detail: "must be in the future" }] : []),
  ];
}

function noSuchToken(c: Context<ApiEnv>): Response {
  const detail =
    "Operators made no token of this id, or it expired long ago. Tokens of API_TOKENS are revoked by npm run token -- --revoke.";
  return answerProblem(c, 404, { detail });
}

interface TokenOf {
  token: StoredToken;
  client: StoredClient | undefined;
}

function toTokenView(
  id: string,
  { token, client }: TokenOf,
  deps: Pick<RouteDeps, "clock" | "numbers" | "listedTokens">,
): TokenView {
  const { agents, rights, isTest, createdAt, notAfter, endedAt, endedBy, usedAt } = token;
  const [current, former] = deps.numbers.keyNames;
  const isOf = (name: string | undefined) => name === token.keyName;
  const key = isOf(current) ? ("current" as const) : isOf(former) ? ("former" as const) : null;
  const isReplaced = deps.listedTokens?.has(id) === true;
  return {
    id,
    client: token.client,
    agents,
    rights,
    mode: isTest ? "test" : null,
    state: stateOf(
      { token, client },
      { now: deps.clock.now(), isReplaced, isKeyHeld: key !== null },
    ),
    hash_key: key,
    created_at: toIsoTime(createdAt),
    created_by: token.by,
    not_after: toIsoTime(notAfter),
    ended_at: toIsoTime(endedAt),
    ended_by: endedBy,
    last_used_at: toIsoTime(usedAt),
  };
}

function stateOf(
  { token, client }: TokenOf,
  { now, isReplaced, isKeyHeld }: { now: number; isReplaced: boolean; isKeyHeld: boolean },
): TokenView["state"] {
  if (token.endedAt !== null) return "revoked";
  if (token.notAfter !== null && now >= token.notAfter) return "expired";
  if (!isTokenValid(token, client, now)) return "client_removed";
  if (isReplaced) return "replaced";
  return isKeyHeld ? "valid" : "key_gone";
}
