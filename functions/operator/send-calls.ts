/** Places calls for a client by an operator. The calls are the client's in everything but the token. */
import type { Context } from "hono";
import { clientOfPath } from "#shared/calls/client-path.ts";
import { isTestClient, realClientOf, clientNamed } from "#shared/calls/ids.ts";
import * as z from "#shared/lib/zod.ts";
import { clientKeyOf } from "#shared/policy/stored-tokens.ts";
import type { Caller } from "#shared/settings/tokens.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import { acceptCalls } from "../api/calls/create-calls.ts";
import { endpoints } from "../api/calls/endpoints.ts";
import type { ApiEnv, RouteDeps } from "../api/http/context.ts";
import { UncheckedTokenError } from "../api/http/port-limits.ts";
import { answerProblem } from "../api/http/problem.ts";
import { declareRoute, type Route } from "../api/http/route.ts";
import { findSentFile, markSentPart, startSentFile } from "../api/requests/sent-files.ts";
import { refuseWhileSuspended } from "./clients.ts";

const sendersSchema = z.strictObject({
  clients: z.array(
    z.strictObject({
      client: z.string(),
      is_test: z.boolean().check(z.describe("Its calls are tests, which phone nobody")),
      agents: z.array(z.string()).check(z.describe("`*` is every agent of the dial plan")),
    }),
  ),
});

const listSenders = declareRoute({
  operationId: "listSenders",
  summary: "Clients that may place calls, and for which agents",
  method: "get",
  path: "/senders",
  answer: sendersSchema,
  async handle({ deps }) {
    const all = [...(await deps.agentsByClient(deps.clock.now()))];
    const clients = all.map(([client, agents]) => ({
      client,
      is_test: isTestClient(client),
      agents: [...agents],
    }));
    // Real clients come first.
    const rank = ({ client, is_test }: (typeof clients)[number]) => `${Number(is_test)}${client}`;
    return { clients: clients.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1)) };
  },
});

const path = "/v1/calls/batch";

/**
 * Places calls as the client's own token does: by the same function, with its agents, guards, file records and
 * Idempotency-Keys, so that a list which both send is one list.
 */
const sendCalls: Route = {
  operationId: "sendCalls",
  summary: "Place calls for a client, as it does itself",
  description:
    "The client's Idempotency-Keys apply: what it has sent itself is not called again. Each request has one entry in the audit log. In the path, a name that would need percent-encoding is `~` and its UTF-8 bytes in base64url.",
  method: "post",
  role: "send",
  path: "/clients/:id/calls",
  like: path,
  answer: z.strictObject({}),
  problems: [404, 409],
  async respond(c, deps) {
    const caller = await findSender(c, deps);
    if (caller instanceof Response) return caller;
    const endpoint = endpoints.find((one) => one.path === path);
    if (endpoint === undefined) throw new Error("there is no endpoint of batches");
    const { client } = caller;
    const record = ({ requestId: id, acceptedAt, count }: Accepted) => {
      const once = { at: acceptedAt, id };
      return recordAction(c, { action: "send", target: `client ${client}`, count, once }, deps);
    };
    return acceptCalls(c, { endpoint, sender: { caller, record } }, deps);
  },
};

interface Accepted {
  requestId: string;
  acceptedAt: number;
  count: number;
}

/** Returns a route of clients as operators have it, for the client in the path. */
function forClient(route: Route): Route {
  return {
    ...route,
    operationId: `${route.operationId}OfClient`,
    path: `/clients/:id${route.path}`,
    role: "send",
    problems: [404, 409],
    async respond(c, deps) {
      const sender = await findSender(c, deps);
      if (sender instanceof Response) return sender;
      c.set("caller", { ...c.get("caller"), client: sender.client, mode: sender.mode });
      return route.respond(c, deps);
    },
  };
}

/** Returns the client in the path as the caller of its calls, or the problem that it may place none. */
async function findSender(c: Context<ApiEnv>, deps: RouteDeps): Promise<Caller | Response> {
  const client = clientOfPath(c.req.param("id") ?? "");
  const suspended = await refuseWhileSuspended(c, deps);
  if (suspended !== undefined) return suspended;
  if (deps.listedTokens === undefined) throw new UncheckedTokenError("API_TOKENS cannot be read");
  const agents = (await deps.agentsByClient(deps.clock.now())).get(client);
  if (agents === undefined) {
    const detail = "There is no client of this name with a valid token that may place calls.";
    return answerProblem(c, 404, { detail });
  }
  const { mode } = clientNamed(client);
  const name = clientKeyOf(realClientOf({ client, mode }));
  const stored = (await deps.documents.read([name])).get(name.kind, name.key)?.value;
  const quota = stored?.isRemoved === false ? (stored.quota ?? undefined) : undefined;
  const { tokenId } = c.get("caller");
  return { tokenId, client, mode, agents: [...agents], rights: ["call"], quota };
}

export const sendRoutes = [
  listSenders,
  sendCalls,
  ...[findSentFile, startSentFile, markSentPart].map(forClient),
];
