/**
 * Vapi: `POST /call` (https://docs.vapi.ai/api-reference/calls/create), with `Authorization: Bearer` and the
 * account's secret `VAPI_API_KEY`.
 *
 * ```json
 * {"assistantId": "…", "phoneNumberId": "…", "name": "attempt 1",
 *  "customer": {"number": "+12025550123", "externalId": "call_…"},
 *  "assistantOverrides": {"variableValues": {"first_name": "Ada"}}}
 * ```
 *
 * 201 with the call's `id`: placed. With `subscriptionLimits.concurrencyBlocked` all lines were busy. Its page
 * (https://docs.vapi.ai/calls/call-concurrency) says both that such a call waits for a free line and that it does not
 * connect, so it is unknown and looked up. A 400 whose message is an array concerns fields of this call, or of the
 * agent: `assistantId`, `phoneNumberId`. A 400 with a text concerns these, a limit, the number or the account; an
 * unlisted text goes to review.
 *
 * A look-up lists the calls of that phone number and period page by page by time, as the list has no filter on
 * `externalId` and no cursor. A call that was blocked or did not start is read again by its id
 * (https://docs.vapi.ai/api-reference/calls/get): only a call that ended for a reason of `notStarted` was not placed.
 * `name` holds the attempt, as the record of an earlier attempt proves nothing about this one.
 */
import { wishField } from "../calls/tries.ts";
import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute, idText } from "./define-provider.ts";
import { AnswerTooLong, ask, toOutcome, postJson } from "./provider-http.ts";
import {
  createListReader,
  fieldIn,
  optionalNumber,
  type ListType,
  optionalText,
  createRecordReader,
  type RecordType,
} from "./provider-records.ts";
import type { DialOutcome, FoundCall } from "./provider.ts";
import {
  later,
  notStarted,
  notStartedFor,
  ofAccount,
  ofRoute,
  resultOfCall,
} from "./vapi-reasons.ts";

/** Routes of Vapi, as a dial plan has them. */
export const vapiRoutes = defineRoute(
  "vapi",
  (fields) =>
    z.strictObject({
      ...fields,
      baseUrl: z.optional(httpsUrl),
      /** Id of the assistant. */
      agent: idText,
      /** Id of the calling phone number. */
      from: idText,
    }),
  { callsPerSecond: 1, secrets: ["API_KEY"], reportsVoicemail: () => true, readsWishes: true },
);
type VapiRoute = z.infer<typeof vapiRoutes.routeSchema>;

export const vapi = /* @__PURE__ */ defineProvider(vapiRoutes, ({ secret, fetch, now }) => {
  const apiOf = ({ account, baseUrl = "https://api.vapi.ai" }: VapiRoute) => ({
    url: `${baseUrl}/call`,
    headers: { authorization: `Bearer ${secret(account, "API_KEY") ?? ""}` },
  });
  return {
    async dial({ call: { id, request }, attempt, timeoutSeconds, maxCallMinutes, guarded }, route) {
      const json = {
        assistantId: route.agent,
        phoneNumberId: route.from,
        name: nameOf(attempt),
        customer: { number: request.phone_number, externalId: id },
        assistantOverrides: {
          variableValues: request.context ?? {},
          ...(maxCallMinutes === undefined ? {} : { maxDurationSeconds: maxCallMinutes * 60 }),
        },
      };
      const { url, headers } = apiOf(route);
      const answer = await postJson(guarded(fetch), url, { headers, json, timeoutSeconds });
      return toOutcome(answer, { callIdIn, exception }, now());
    },

    async lookUp({ call, attempt, from, until }, route): Promise<FoundCall | undefined> {
      const { url, headers } = apiOf(route);
      const get = (address: string) => ask(fetch, address, { headers });
      const undecided: VapiCall[] = [];
      let latest: Record<string, string> = { createdAtLe: new Date(until).toISOString() };
      let limit = pageCallsMax;
      for (let pages = 0; pages < pagesMax; pages++) {
        const query = new URLSearchParams({
          phoneNumberId: route.from,
          createdAtGe: new Date(from).toISOString(),
          ...latest,
          limit: String(limit),
        });
        let calls: VapiCall[];
        try {
          calls = z.built(listSchema).parse(await get(`${url}?${query.toString()}`));
        } catch (error) {
          if (!(error instanceof AnswerTooLong) || limit === 1) throw error;
          limit = Math.ceil(limit / 4); // each call comes with its transcript
          continue;
        }
        const ours = calls.filter((one) => one.customer?.externalId === call.id);
        const found = ours.find((one) => !isInDoubt(one));
        if (found !== undefined) return { by: "id", providerCallId: found.id };
        undecided.push(...ours.filter(({ name }) => name === nameOf(attempt)));
        const [earliest] = calls.map(({ createdAt }) => createdAt).toSorted();
        if (earliest === undefined || calls.length < limit) break;
        latest = { createdAtLt: earliest };
      }
      const [only, ...others] = undecided;
      if (only === undefined || others.length > 0) return undefined;
      const answer = await get(`${url}/${encodeURIComponent(only.id)}`);
      return outcomeOfCall(z.built(callSchema).parse(answer));
    },

    readResult: createRecordReader(fetch, apiOf, { path: "/", record }),

    listResults: createListReader(fetch, apiOf, list),
  };
});

/** Names the attempt in a call's `name`, which Vapi keeps for its users' reference. */
function nameOf(attempt: number): string {
  return `attempt ${attempt}`;
}

const createdSchema = () => z.object({ id: idText });

function callIdIn(body: unknown): string | undefined {
  return z.built(createdSchema).safeParse(body).data?.id;
}

const blockedSchema = () =>
  z.object({ subscriptionLimits: z.object({ concurrencyBlocked: z.literal(true) }) });

const refusedSchema = () => z.object({ message: z.union([z.string(), z.array(z.string())]) });

function exception(status: number, body: unknown): DialOutcome | undefined {
  if (status < 300 && z.built(blockedSchema).safeParse(body).success) {
    return { kind: "unknown", code: "concurrency_blocked" };
  }
  const message = z.built(refusedSchema).safeParse(body).data?.message;
  if (status !== 400 || message === undefined) return undefined;
  if (Array.isArray(message)) {
    if (message.some((one) => routeFields.test(one))) return ofRoute("http_400");
    const isOfNumber = message.some((one) => numberField.test(one));
    return isOfNumber ? { kind: "rejected", code: "http_400", blamesNumber: true } : undefined;
  }
  if (/\bcouldn't get assistant\b/i.test(message)) return ofRoute("assistant_not_found");
  if (/\bcouldn't get phone number\b/i.test(message)) return ofRoute("phone_number_not_found");
  if (/concurrency limit/i.test(message)) return later("concurrency_limit");
  if (/daily outbound call limit/i.test(message)) return ofRoute("number_daily_limit");
  if (/wallet|credits|subscription|frozen|payment/i.test(message)) {
    return ofAccount("account_limit");
  }
  return { kind: "forbidden", code: "http_400" };
}

/** Fields of the request that name the route. The same name behind a point is a key of the context. */
const routeFields = /(?<![\w.])(assistantId|phoneNumberId)\b/;

/** Field of the request that has the number called. */
const numberField = /(?<![\w.])customer\.number\b/;

/** Maximum calls per page, each with its transcript, and maximum requests for pages. */
const pageCallsMax = 50;
const pagesMax = 10;

/** A call in Vapi's records. */
const callSchema = () =>
  z.object({
    id: idText,
    createdAt: z.string(),
    name: z.nullish(z.string()),
    status: z.nullish(z.string()),
    customer: z.nullish(z.object({ externalId: z.nullish(z.string()) })),
    endedReason: z.nullish(z.string()),
    startedAt: optionalText(),
    endedAt: optionalText(),
    /** In dollars. */
    cost: optionalNumber(),
    subscriptionLimits: z.optional(z.unknown()),
    analysis: z.optional(z.unknown()),
    artifact: z.optional(z.unknown()),
    artifactPlan: z.optional(z.unknown()),
  });
type VapiCall = z.infer<ReturnType<typeof callSchema>>;

const listSchema = () => z.array(callSchema());

/** Statuses of a call for which Vapi has found a line (VapiAI/server-sdk, CallStatus). */
const underWay = new Set<unknown>(["ringing", "in-progress", "forwarding"]);

/** True if the call was blocked, or if Vapi took it and may not have started it. */
function isInDoubt(call: VapiCall): boolean {
  const reason = call.endedReason ?? "";
  const isBlocked = reason === "" && z.built(blockedSchema).safeParse(call).success;
  if (isBlocked) return !underWay.has(call.status);
  return reason.startsWith("call.start.") || notStarted.has(reason);
}

/** Returns the outcome of a call in doubt, as read by its id; undefined if not known yet. */
function outcomeOfCall(call: VapiCall): FoundCall | undefined {
  if (!isInDoubt(call)) return { by: "id", providerCallId: call.id };
  const notPlaced = notStartedFor(call.endedReason ?? "");
  return call.status === "ended" && notPlaced !== undefined ? { by: "id", notPlaced } : undefined;
}

/** Returns our id and attempt as the call repeats them. Users can change its name. */
function ownIn({ customer, name }: VapiCall): Record<string, unknown> {
  const attempt = /^attempt (\d+)$/.exec(name ?? "")?.[1];
  return { call_id: customer?.externalId ?? undefined, attempt };
}

const list: ListType<VapiCall> = {
  rowsMax: pageCallsMax,
  ask(from, limit, before) {
    const query = new URLSearchParams({
      createdAtGe: new Date(from).toISOString(),
      ...(before === undefined ? {} : { createdAtLt: before }),
      limit: String(limit),
    });
    return { path: `?${query.toString()}` };
  },
  read(answer, limit) {
    const rows = z.built(listSchema).parse(answer);
    const [earliest] = rows.map(({ createdAt }) => createdAt).toSorted();
    return { rows, next: rows.length < limit ? null : earliest };
  },
  idOf: ({ id }) => id,
  resultOf: resultOfCall,
};

const record: RecordType<VapiCall> = {
  schema: callSchema,
  ownIn,
  resultOf: resultOfCall,
  /**
   * A plan's structured data, and structured outputs: one that is an object with the field, or a text of that name
   * (https://docs.vapi.ai/assistants/call-analysis, https://docs.vapi.ai/assistants/structured-outputs-quickstart). Either may
   * come first: until all outputs of the plan have come (https://docs.vapi.ai/changelog/2025/8/9), only a wish counts.
   */
  analysesOf({ analysis, artifact, artifactPlan }) {
    const outputs: unknown[] = Object.values(Object(fieldIn(artifact, "structuredOutputs")));
    const results = outputs.map((output) => {
      const result = fieldIn(output, "result");
      return fieldIn(output, "name") === wishField ? { [wishField]: result } : result;
    });
    const found = [fieldIn(analysis, "structuredData"), ...results];
    const ids = fieldIn(artifactPlan, "structuredOutputIds");
    const isPending = Array.isArray(ids) && ids.length > outputs.length;
    return isPending ? found.filter((one) => fieldIn(one, wishField)) : found;
  },
};
