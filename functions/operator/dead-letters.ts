import type { Context } from "hono";
import { MessageText, messageSchema } from "#shared/ports/call-messages.ts";
import { type DeadLetters, letterNamePattern, queueOf } from "#shared/ports/dead-letters.ts";
import { eventMessageSchema } from "#shared/ports/event-messages.ts";
import * as z from "#shared/lib/zod.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import type { ApiEnv, RouteDeps } from "../api/http/context.ts";
import { foreignCursor } from "../api/http/cursors.ts";
import { limit, nextCursor, time, toIsoTime } from "../api/http/fields.ts";
import { causeForLog, enqueue } from "../api/http/port-limits.ts";
import { answerProblem } from "../api/http/problem.ts";
import { declareRoute } from "../api/http/route.ts";

/** Maximum letters that a need counts. */
const countedMax = 200;

type StoredLetter = NonNullable<Awaited<ReturnType<DeadLetters["read"]>>>;

const letterViewSchema = z
  .strictObject({
    name: z.string(),
    queue: z.enum(["calls", "events"]),
    stored_at: time,
    bytes: z.int(),
  })
  .check(
    z.meta({
      id: "DeadLetter",
      description:
        "A message that failed a hundred times, whole in the object store: the next sweep handles it, or it could not be handled.",
    }),
  );

const lettersSchema = z.strictObject({
  dead_letters: z.array(letterViewSchema),
  cursor: nextCursor,
});

const listDeadLetters = declareRoute({
  operationId: "listDeadLetters",
  summary: "Dead letters in the object store, by their names",
  method: "get",
  path: "/dead-letters",
  query: z.strictObject({
    cursor: z.optional(z.string().check(z.regex(letterNamePattern, foreignCursor))),
    limit,
  }),
  answer: lettersSchema,
  async handle({ deps, query }) {
    const { cursor: after, limit: most } = query;
    const { letters, next } = await deps.deadLetters.list({ after, limit: most });
    return {
      dead_letters: letters.map(toLetterView),
      ...(next === undefined ? {} : { cursor: next }),
    };
  },
});

const letterDetailSchema = z
  .strictObject({
    ...letterViewSchema.shape,
    message_kind: z
      .nullable(z.string())
      .check(
        z.describe(
          "`calls`: accepted calls; `outcome`: the outcome of a call; `callback`: a provider's. Null: this version cannot read the message",
        ),
      ),
    request_id: z.nullable(z.string()),
    client: z.nullable(z.string()),
    accepted_at: z.nullable(time),
    calls: z.nullable(z.int()).check(z.describe("How many calls it carries")),
    call_id: z.nullable(z.string()).check(z.describe("The one call that it is about")),
  })
  .check(z.meta({ id: "DeadLetterDetail" }));
type DeadLetterDetail = z.infer<typeof letterDetailSchema>;

const showDeadLetter = declareRoute({
  operationId: "showDeadLetter",
  summary: "One dead letter, without numbers and contexts",
  method: "get",
  path: "/dead-letters/:id",
  answer: letterDetailSchema,
  problems: [404],
  async handle({ c, deps }) {
    const letter = await findLetter(c, deps);
    return letter instanceof Response ? letter : toLetterDetail(letter);
  },
});

/** Maximum characters of one answer. Quotes may be escaped three times over, and Lambda answers at most 6 MB. */
const revealedMax = 512 * 1024;

const revealedLetterSchema = z
  .strictObject({
    body: z.string().check(z.describe("The message as it was sent, or its part from `from` on")),
    next: z.optional(z.int()).check(z.describe("`from` of the next part; absent in the last one")),
  })
  .check(z.meta({ id: "RevealedDeadLetter" }));

const revealDeadLetter = declareRoute({
  operationId: "revealDeadLetter",
  summary: "Show the message of a dead letter, with numbers and contexts; recorded",
  method: "post",
  role: "reveal",
  path: "/dead-letters/:id/reveal",
  query: z.strictObject({ from: z._default(z.coerce.number().check(z.int(), z.minimum(0)), 0) }),
  answer: revealedLetterSchema,
  problems: [404],
  async handle({ c, deps, query: { from } }) {
    const letter = await findLetter(c, deps);
    if (letter instanceof Response) return letter;
    await recordAction(c, { action: "reveal", target: letter.name }, deps);
    const end = from + revealedMax;
    const body = letter.body.slice(from, end);
    return end < letter.body.length ? { body, next: end } : { body };
  },
});

/**
 * Sends a message to its queue again, and then removes its letter. If the process dies in between, or does it twice,
 * the queue has the message twice, which is harmless: the ids of its calls are fixed, and their rows decide.
 */
const putBackDeadLetter = declareRoute({
  operationId: "putBackDeadLetter",
  summary: "Send a dead letter onto its queue again",
  method: "post",
  path: "/dead-letters/:id/put-back",
  answer: letterDetailSchema,
  problems: [404],
  async handle({ c, deps }) {
    const letter = await findLetter(c, deps);
    if (letter instanceof Response) return letter;
    const { name, body } = letter;
    await recordAction(c, { action: "put_back", target: name }, deps);
    const message = new MessageText(body);
    try {
      await (queueOf(name) === "events"
        ? deps.eventsQueue.send(message)
        : enqueue(deps.queue, message));
    } catch (error) {
      const request_id = c.get("requestId");
      deps.log("alarm", "queue.unreachable", { request_id, error: causeForLog(error) });
      const detail = "The queue did not confirm the message, which is kept. Put it back again.";
      return answerProblem(c, 503, { detail, headers: { "retry-after": "5" } });
    }
    await deps.deadLetters.remove(name);
    return toLetterDetail(letter);
  },
});

/**
 * Removes a letter. The content of its message is lost: calls that it carries, and that have no row, are never
 * dialed.
 */
const discardDeadLetter = declareRoute({
  operationId: "discardDeadLetter",
  summary: "Remove a dead letter permanently, with the calls that it carries; recorded",
  method: "post",
  role: "configure",
  path: "/dead-letters/:id/discard",
  answer: letterDetailSchema,
  problems: [404],
  async handle({ c, deps }) {
    const letter = await findLetter(c, deps);
    if (letter instanceof Response) return letter;
    const detail = toLetterDetail(letter);
    const { name } = letter;
    const count = detail.calls ?? undefined;
    await recordAction(c, { action: "discard", target: name, count }, deps);
    await deps.deadLetters.remove(name);
    return detail;
  },
});

export const deadLetterRoutes = [
  listDeadLetters,
  showDeadLetter,
  revealDeadLetter,
  putBackDeadLetter,
  discardDeadLetter,
];

/** Finds the need of letters that are stored. */
export async function findLetterNeeds({ deadLetters }: Pick<RouteDeps, "deadLetters">) {
  const { letters, next } = await deadLetters.list({ after: undefined, limit: countedMax });
  if (letters.length === 0) return [];
  const since = toIsoTime(Math.min(...letters.map(({ storedAt }) => storedAt)));
  const what = `${letters.length}${next === undefined ? "" : " or more"} dead letters`;
  const need = {
    id: "dead_letters",
    kind: "dead_letters",
    what,
    since,
    means: "Messages failed a hundred times and are in the object store.",
    fix: "The next sweep handles them; put back or discard those that stay.",
  } as const;
  return [need];
}

/** Returns the dead letter in the request's path, or a problem if there is none. */
async function findLetter(
  c: Context<ApiEnv>,
  { deadLetters }: RouteDeps,
): Promise<StoredLetter | Response> {
  const name = c.req.param("id") ?? "";
  const letter = letterNamePattern.test(name) ? await deadLetters.read(name) : undefined;
  const detail = "There is no dead letter of this name: it was handled, put back, or discarded.";
  return letter ?? answerProblem(c, 404, { detail });
}

function toLetterView({ name, storedAt, bytes }: Omit<StoredLetter, "body">) {
  return { name, queue: queueOf(name), stored_at: toIsoTime(storedAt), bytes };
}

function toLetterDetail(letter: StoredLetter): DeadLetterDetail {
  const none = { request_id: null, client: null, accepted_at: null, calls: null, call_id: null };
  const view = { ...toLetterView(letter), message_kind: null, ...none };
  const value = jsonIn(letter.body);
  if (queueOf(letter.name) === "events") {
    const { data } = eventMessageSchema.safeParse(value);
    if (data === undefined) return view;
    const call_id = data.kind === "callback" ? (data.call?.id ?? data.callId ?? null) : null;
    return { ...view, message_kind: data.kind, call_id };
  }
  const { data } = messageSchema.safeParse(value);
  if (data?.kind === "outcome") {
    return { ...view, message_kind: data.kind, call_id: data.settlement.id };
  }
  if (data?.kind !== "calls") return { ...view, message_kind: data?.kind ?? null };
  const { kind, requestId, client, acceptedAt, calls } = data;
  return {
    ...view,
    message_kind: kind,
    request_id: requestId,
    client,
    accepted_at: toIsoTime(acceptedAt),
    calls: calls.length,
  };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
