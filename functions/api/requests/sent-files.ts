import { campaignPattern } from "#shared/calls/campaign-name.ts";
import { realClientOf } from "#shared/calls/ids.ts";
import { toTestView } from "#shared/calls/views.ts";
import { testView } from "#shared/calls/view-schemas.ts";
import type { Context } from "hono";
import * as z from "#shared/lib/zod.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import type { ApiEnv, RouteDeps } from "../http/context.ts";
import { requestId, time, toIsoTime } from "../http/fields.ts";
import { answerProblem } from "../http/problem.ts";
import { refuseAboveBudget } from "../actions/write-budgets.ts";
import { declareRoute } from "../http/route.ts";
import {
  createFile,
  findRefusal,
  isLost,
  toStored,
  mark,
  readFile,
  type SentFile,
  type SentPart,
} from "./sent-file-record.ts";

/** Maximum parts of a file, and maximum leads of a part. */
const partsMax = 200;
const partLeadsMax = 10_000;
/** Characters of the largest set of indexes: a bit for each lead, as base64. */
const leftOutCharactersMax = 1_700;
const digest = z
  .string()
  .check(z.regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hex: 64 digits, in lower case"));
const fileExample = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
const file = digest.check(z.describe("SHA-256 of the file's sorted numbers"));
const round = z.int().check(z.minimum(1), z.describe("How often the file was sent, from 1"));
const campaign = z
  .string()
  .check(
    z.regex(campaignPattern, "must be 1 to 64 characters, trimmed"),
    z.describe("The `Call-Campaign` of its requests"),
  );

const partSchema = z.looseObject({
  index: z.int(),
  calls: z.int().check(z.describe("Leads of the part, including those that are left out")),
  idempotency_key: z.string().check(z.describe("The `Idempotency-Key` of its request")),
  state: z
    .enum(["planned", "begun", "sent"])
    .check(z.describe("`begun`: its request may have been sent, and its answer is not known")),
  begun_at: z.nullable(time),
  is_lost: z
    .boolean()
    .check(
      z.describe(
        "Its answer was lost too long ago to repeat it: say whether it was accepted, by `sent` or `planned`",
      ),
    ),
  left_out: z
    .string()
    .check(z.describe("Leads that its request leaves out: base64 of a bit for each index")),
  request_id: z.nullable(z.string()),
});
const sentFileSchema = z
  .looseObject({
    campaign: z.string(),
    round,
    at: time.check(z.describe("When this round began")),
    is_finished: z.boolean().check(z.describe("Every part is sent")),
    parts: z.array(partSchema),
  })
  .check(z.meta({ id: "SentFile" }));
export type SentFileView = z.infer<typeof sentFileSchema>;
export type SentPartView = z.infer<typeof partSchema>;

const foundSchema = z.looseObject({
  client: z.string().check(z.describe("The client of the token")),
  ...testView,
  sent: z.nullable(sentFileSchema).check(z.describe("Null: the file was not sent")),
});

/** Checks whether a file was sent before, within the time for which calls are kept. */
export const findSentFile = declareRoute({
  operationId: "findSentFile",
  summary: "Check whether a file of leads was sent before, by a hash of its numbers",
  method: "post",
  path: "/sent-files/find",
  body: z.strictObject({ file }).check(z.meta({ examples: [{ file: fileExample }] })),
  answer: foundSchema,
  problems: [403],
  async handle({ c, deps, body }) {
    const { client, mode } = c.get("caller");
    const { value } = await readFile({ client, file: body.file }, deps);
    const sent = value === undefined ? null : toView(value, deps);
    return { client: realClientOf({ client, mode }), ...toTestView({ mode }), sent };
  },
});

const startSchema = z
  .strictObject({
    file,
    campaign,
    parts: z
      .array(
        z.strictObject({
          digest: digest.check(z.describe("SHA-256 of the part's sorted numbers")),
          calls: z.int().check(z.minimum(1), z.maximum(partLeadsMax)),
        }),
      )
      .check(z.minLength(1), z.maxLength(partsMax)),
    again: z.optional(round).check(z.describe("The round after which the file is sent once more")),
  })
  .check(
    z.meta({
      examples: [
        { file: fileExample, campaign: "spring", parts: [{ digest: fileExample, calls: 1 }] },
      ],
    }),
  );

/**
 * Begins to send a file, or continues it. A file that was sent is refused, whatever its campaign is now. It is sent
 * again only if the body names the round to follow. Two people who ask at once continue one round.
 */
export const startSentFile = declareRoute({
  operationId: "startSentFile",
  summary: "Begin to send a file of leads, or continue it; one that was sent is refused",
  method: "post",
  path: "/sent-files",
  body: startSchema,
  answer: sentFileSchema,
  problems: [403, 409],
  async handle({ c, deps, body }) {
    const { client } = c.get("caller");
    const above = await refuseAboveBudget(c, "sentFiles", deps);
    if (above !== undefined) return above;
    const { name, value } = await readFile({ client, file: body.file }, deps);
    let refusal: string | undefined;
    const { before = value, after = before } = await changeDocument(
      {
        name,
        change(stored) {
          const current = stored ?? value;
          refusal = undefined;
          if (current !== undefined && current.round !== body.again) {
            refusal = findRefusal(current, { client, ...body }, deps);
            return undefined;
          }
          if (current === undefined && body.again !== undefined) {
            refusal = "The file was not sent before.";
            return undefined;
          }
          return toStored(
            createFile({ client, ...body, round: (current?.round ?? 0) + 1 }, deps),
            deps,
          );
        },
      },
      deps,
    );
    if (refusal !== undefined || after === undefined)
      return answerProblem(c, 409, { detail: refusal ?? "The file was sent." });
    return toView(after, deps);
  },
});

const stepFields = { file, round, index: z.int().check(z.minimum(0), z.maximum(partsMax - 1)) };

const stepSchema = z.discriminatedUnion("state", [
  z
    .strictObject({
      ...stepFields,
      state: z.literal("begun"),
      content: digest.check(z.describe("SHA-256 of the body of the part's request")),
      attempt: z
        .string()
        .check(
          z.regex(/^[\w-]{1,64}$/),
          z.describe("A random name of the sender's run, for `refused`"),
        ),
      left_out: z
        ._default(z.string(), "")
        .check(z.maxLength(leftOutCharactersMax), z.regex(/^[A-Za-z0-9+/]*={0,2}$/)),
    })
    .check(
      z.meta({
        examples: [
          {
            file: fileExample,
            round: 1,
            index: 0,
            state: "begun",
            content: fileExample,
            attempt: "monday-1",
          },
        ],
      }),
    ),
  z.strictObject({
    ...stepFields,
    state: z.literal("sent"),
    request_id: z._default(z.nullable(requestId), null),
  }),
  z.strictObject({
    ...stepFields,
    state: z
      .literal("refused")
      .check(
        z.describe("The one request of the part was answered 401 or 422, so nothing was accepted"),
      ),
    attempt: z.string().check(z.describe("The run that has sent that one request")),
  }),
  z.strictObject({ ...stepFields, state: z.literal("planned") }),
]);

/**
 * Notes what is known of a part. A part is `begun` before its request is sent. A begun part is repeated under its key
 * while the key certainly lives. Later nobody knows whether it was accepted: a person decides.
 */
export const markSentPart = declareRoute({
  operationId: "markSentPart",
  summary: "Record that a part of a file is sent next, was accepted, or was certainly not accepted",
  method: "post",
  path: "/sent-files/parts",
  body: stepSchema,
  answer: partSchema,
  problems: [403, 404, 409],
  async handle({ c, deps, body }) {
    const { client } = c.get("caller");
    const above = await refuseAboveBudget(c, "sentParts", deps);
    if (above !== undefined) return above;
    const { name, value } = await readFile({ client, file: body.file }, deps);
    let refusal: Response | undefined;
    let part: SentPart | undefined;
    await changeDocument(
      {
        name,
        change(stored) {
          const current = stored ?? value;
          refusal = undefined;
          part = current?.parts[body.index];
          if (current === undefined || part === undefined) {
            refusal = answerProblem(c, 404, { detail: "There is no such part of a file." });
          } else if (current.round !== body.round) {
            refusal = answerProblem(c, 409, { detail: "The file was sent again meanwhile." });
          } else {
            const next = mark(part, body, deps);
            if (typeof next === "string") refusal = answerProblem(c, 409, { detail: next });
            else if (next !== part) {
              part = next;
              return toStored({ ...current, parts: current.parts.with(body.index, next) }, deps);
            }
          }
          return undefined;
        },
      },
      deps,
    );
    if (refusal !== undefined || part === undefined) return refusal ?? unknownPart(c);
    return toPartView(part, body.index, deps);
  },
});

function unknownPart(c: Context<ApiEnv>): Response {
  return answerProblem(c, 404, { detail: "There is no such part of a file." });
}

function toView({ campaign: name, round: of, at, parts }: SentFile, deps: RouteDeps): SentFileView {
  return {
    campaign: name,
    round: of,
    at: toIsoTime(at),
    is_finished: parts.every(({ isSent }) => isSent),
    parts: parts.map((part, index) => toPartView(part, index, deps)),
  };
}

function toPartView(part: SentPart, index: number, deps: RouteDeps): SentPartView {
  const { key, calls, begunAt, leftOut, isSent, requestId: id } = part;
  return {
    index,
    calls,
    idempotency_key: key,
    state: isSent ? "sent" : begunAt === null ? "planned" : "begun",
    begun_at: toIsoTime(begunAt),
    is_lost: isLost(part, deps),
    left_out: leftOut,
    request_id: id,
  };
}
