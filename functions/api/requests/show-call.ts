import type { Context } from "hono";
import type { CallRow } from "#shared/calls/call-row.ts";
import { chainOf } from "#shared/calls/chain.ts";
import { readCallId, requestIdOf, timeOfId } from "#shared/calls/ids.ts";
import { toHeadersView, toSplitView } from "#shared/calls/views.ts";
import { headersView, splitView } from "#shared/calls/view-schemas.ts";
import * as z from "#shared/lib/zod.ts";
import { readTries } from "#shared/ports/last-tries.ts";
import type { ApiEnv, RouteDeps } from "../http/context.ts";
import { state, time, toIsoTime } from "../http/fields.ts";
import { declareRoute } from "../http/route.ts";
import { answerUnknown, answerUnreadable } from "./find-request.ts";
import { clientCallSchema, toClientCalls } from "./show-request.ts";

const shownCallSchema = z
  .looseObject({
    ...clientCallSchema.shape,
    request_id: z.string(),
    accepted_at: time,
    ...headersView,
    ...splitView,
    redial_of: z
      .optional(z.string())
      .check(z.describe("The call that an operator's redial replaces; absent otherwise")),
    redialed_as: z
      .optional(z.string())
      .check(z.describe("The call by which an operator has this one made again; absent otherwise")),
    history: z
      .array(
        z.looseObject({
          at: time,
          try: z.int().check(z.describe("Number of the try, from 1")),
          state,
          reason: z.string(),
          due_at: z.nullable(time),
        }),
      )
      .check(z.describe("Steps of the call, and of each further try of it, the earliest first")),
  })
  .check(z.meta({ id: "RequestedCallWithHistory" }));

export const showCall = declareRoute({
  operationId: "showCall",
  summary: "Show the outcome of one call",
  method: "get",
  path: "/calls/:id",
  query: z.strictObject({}),
  answer: shownCallSchema,
  problems: [403, 404],
  async handle({ c, deps }) {
    const tries = await findTries(c, deps);
    if (tries instanceof Response) return tries;
    const [first] = tries;
    const [call] = first === undefined ? [] : toClientCalls(first.id, tries);
    if (first === undefined || call === undefined) {
      const detail = "There is no call of this id, or it is not known yet.";
      return answerUnknown(c, { id: idIn(c), now: deps.clock.now(), detail });
    }
    const last = tries.at(-1) ?? first;
    const redialOf = first.tries === undefined ? first.ancestors.at(-1) : undefined;
    return {
      ...call,
      request_id: requestIdOf(first.id),
      accepted_at: toIsoTime(first.acceptedAt),
      ...toHeadersView(first),
      ...toSplitView(first),
      ...(redialOf === undefined ? {} : { redial_of: redialOf }),
      ...(last.redialedAs === null ? {} : { redialed_as: last.redialedAs }),
      history: tries.flatMap(({ history }, n) =>
        history.map(({ at, state: reached, reason, dueAt = null }) => ({
          at: toIsoTime(at),
          try: n + 1,
          state: reached,
          reason,
          due_at: toIsoTime(dueAt),
        })),
      ),
    };
  },
});

/**
 * Returns the tries of the call in the path, the first one first, also where the path names a later one. Another
 * client's call is like one that does not exist, so that no answer reveals it.
 */
async function findTries(
  c: Context<ApiEnv>,
  deps: RouteDeps,
): Promise<readonly CallRow[] | Response> {
  const { ledger, clock, retentionMs } = deps;
  const id = idIn(c);
  if (id === undefined || timeOfId(id) + retentionMs <= clock.now()) return [];
  const unreadable = new Set<string>();
  const read = async (ids: string[]) => {
    const found = await ledger.read(ids);
    for (const one of found.unreadable) unreadable.add(one);
    return found;
  };
  const rowOf = async (one: string) => (await read([one])).rows[0];
  const named = await rowOf(id);
  const isOwn = named?.client === c.get("caller").client;
  const chain = named?.tries === undefined ? id : chainOf(named);
  const row = isOwn && chain !== id ? await rowOf(chain) : named;
  const tries = isOwn && row !== undefined ? (await readTries([row], read)).get(chain) : undefined;
  if (unreadable.size === 0 || (named !== undefined && !isOwn)) return tries ?? [];
  return answerUnreadable(c);
}

function idIn(c: Context<ApiEnv>): string | undefined {
  return readCallId(c.req.param("id") ?? "");
}
