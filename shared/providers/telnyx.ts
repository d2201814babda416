/**
 * Telnyx Call Control: `POST /v2/calls` (https://developers.telnyx.com/api-reference/call-commands/dial), with
 * `Authorization: Bearer` and the account's secret `TELNYX_API_KEY`.
 *
 * ```json
 * {"connection_id": "…", "from": "+12025550100", "to": "+12025550123", "command_id": "call_…-1",
 *  "client_state": "eyJjYWxsX2lkIjoiY2FsbF/igKYifQ==",
 *  "assistant": {"id": "assistant-…", "dynamic_variables": {"first_name": "Ada"}}}
 * ```
 *
 * `client_state` is repeated by every webhook of the call. It is JSON in base64: `call_id`, and without an
 * assistant `agent_id` and `context` too.
 *
 * 200 with `data.call_control_id`: placed. Telnyx ignores a repeated `command_id` for only 60 s, which no clock can
 * guarantee to keep, so a call of unknown outcome is looked up and never resent. A look-up is `GET /v2/call_events`
 * (https://developers.telnyx.com/api-reference/debugging/list-call-events), which has the webhooks of the last 24
 * hours, each with its `client_state`. A call that has just begun may not be among them yet, so `GET
 * /v2/connections/{id}/active_calls`
 * (https://developers.telnyx.com/api-reference/call-information/list-all-active-calls-for-given-connection) follows.
 * The called number appears in no URL.
 *
 * Errors are `errors[].code` (https://developers.telnyx.com/development/api-fundamentals/api-errors). 10010 is the
 * code of every refusal. Under 400, 403, 404 and 422, a D-code in `telnyx_error.error_code` or anywhere in `detail`
 * names the subject. Without a D-code, the route is at fault if `source.pointer` is `from`, `connection_id` or the
 * assistant's id, or if a 404 means that something does not exist.
 */
import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute, idText, phoneNumber } from "./define-provider.ts";
import { ask, toOutcome, postJson, type Refusal, createTable } from "./provider-http.ts";
import type { DialOutcome, FoundCall } from "./provider.ts";
import { callIdOfEvent, resultOfEvents, resultOfStatus } from "./telnyx-events.ts";

/** Routes of Telnyx, as a dial plan has them. */
export const telnyxRoutes = defineRoute(
  "telnyx",
  (fields) =>
    z.strictObject({
      ...fields,
      baseUrl: z.optional(httpsUrl),
      /** Id of the Call Control application. */
      connection: idText,
      /** The calling number. */
      from: phoneNumber,
      /** Id of the AI assistant that takes the call. Without it, the user's application takes the call. */
      agent: z.optional(idText),
      /** Detection of answering machines, in Telnyx's words. Telnyx reports its result by webhook. */
      machineDetection: z.optional(
        z.enum(["premium", "detect", "detect_beep", "detect_words", "greeting_end"]),
      ),
      /** Longest time for which the phone rings. */
      ringSeconds: z.optional(z.int().check(z.minimum(5), z.maximum(600))),
      /** True to have Telnyx report a call's end to this service instead of to the connection's webhook. */
      callbacks: z.optional(z.boolean()),
    }),
  {
    callsPerSecond: 1,
    hasCallerId: true,
    secrets: ["API_KEY"],
    reportsVoicemail: ({ machineDetection }) => machineDetection !== undefined,
  },
);
export type TelnyxRoute = z.infer<typeof telnyxRoutes.routeSchema>;

export const telnyx = /* @__PURE__ */ defineProvider(telnyxRoutes, ({ secret, fetch, now }) => {
  const apiOf = ({ account, baseUrl = "https://api.telnyx.com" }: TelnyxRoute) => ({
    url: `${baseUrl}/v2`,
    headers: { authorization: `Bearer ${secret(account, "API_KEY") ?? ""}` },
  });
  return {
    async dial({ call: { id, request }, attempt, timeoutSeconds, guarded, ...more }, route) {
      const { callbackUrl, maxCallMinutes } = more;
      const { connection, from, agent } = route;
      const { phone_number, agent_id, context = {} } = request;
      const state = agent === undefined ? { call_id: id, agent_id, context } : { call_id: id };
      const json = {
        connection_id: connection,
        from,
        to: phone_number,
        command_id: `${id}-${attempt}`,
        client_state: Buffer.from(JSON.stringify(state)).toString("base64"),
        ...(agent === undefined ? {} : { assistant: { id: agent, dynamic_variables: context } }),
        ...optionsOf(route),
        ...(maxCallMinutes === undefined ? {} : { time_limit_secs: maxCallMinutes * 60 }),
        // All other events still go to the connection's webhook.
        ...(route.callbacks === true && callbackUrl !== undefined
          ? { webhook_urls: { "call.hangup": [callbackUrl] }, webhook_urls_method: "POST" }
          : {}),
      };
      const { url, headers } = apiOf(route);
      const callUrl = `${url}/calls`;
      const answer = await postJson(guarded(fetch), callUrl, { headers, json, timeoutSeconds });
      return toOutcome(answer, { callIdIn, exception }, now());
    },

    async lookUp({ call: { id }, from }, route): Promise<FoundCall | undefined> {
      const { url, headers } = apiOf(route);
      const list = async (path: string, query: URLSearchParams) =>
        z.built(listSchema).parse(await ask(fetch, `${url}/${path}?${String(query)}`, { headers }));
      const providerCallId =
        (await findIdAmongEvents(id, { route, from }, list)) ??
        (await findIdAmongActive(id, route, list));
      return providerCallId === undefined ? undefined : { by: "id", providerCallId };
    },

    async readResult(placed, route) {
      const { connection, from } = route;
      const { url, headers } = apiOf(route);
      const callUrl = `${url}/calls/${encodeURIComponent(placed.providerCallId)}`;
      const answer = await ask(fetch, callUrl, { headers, isById: true });
      const { result, leg } = answer === undefined ? {} : resultOfStatus(answer, placed);
      if (leg === undefined && answer !== undefined) return result;
      // Telnyx deletes the status ten minutes after the end. After that the call may be among the latest events.
      const events = new URLSearchParams({
        ...(leg === undefined
          ? { "filter[connection_id]": connection, "filter[from]": from }
          : { "filter[leg_id]": leg }),
        "filter[type]": "webhook",
        "page[number]": "1",
        "page[size]": String(rowsPerPage),
      });
      const listed = await ask(fetch, `${url}/call_events?${String(events)}`, { headers });
      return listed === undefined
        ? undefined
        : resultOfEvents(z.built(listSchema).parse(listed).data, placed);
    },
  };
});

/** Returns the optional parameters of a call. */
function optionsOf({ machineDetection, ringSeconds }: TelnyxRoute) {
  return {
    ...(machineDetection === undefined ? {} : { answering_machine_detection: machineDetection }),
    ...(ringSeconds === undefined ? {} : { timeout_secs: ringSeconds }),
  };
}

const createdSchema = () =>
  z.object({
    data: z.object({ call_control_id: z.string().check(z.minLength(1), z.maxLength(500)) }),
  });

function callIdIn(body: unknown): string | undefined {
  return z.built(createdSchema).safeParse(body).data?.data.call_control_id;
}

const errorsSchema = () =>
  z.object({
    telnyx_error: z.catch(z.optional(z.object({ error_code: z.string() })), undefined),
    errors: z
      .array(
        z.object({
          code: z.coerce.string(),
          title: z.optional(z.string()),
          detail: z.nullish(z.string()),
          source: z.nullish(z.object({ pointer: z.optional(z.string()) })),
        }),
      )
      .check(z.minLength(1)),
  });

function exception(status: number, body: unknown): DialOutcome | undefined {
  const { errors = [], telnyx_error } = z.built(errorsSchema).safeParse(body).data ?? {};
  const [first] = errors;
  if (first === undefined || ![400, 403, 404, 422].includes(status)) return undefined;
  const code = /^\d{1,6}$/.test(first.code) ? `telnyx_${first.code}` : "telnyx";
  const isAbout = (pattern: RegExp) =>
    errors.some(({ title = "", detail }) => pattern.test(`${title} ${detail ?? ""}`));
  if (channelCodes.has(first.code) || (status === 403 && isAbout(/channels? limit exceeded/i))) {
    return { kind: "not_placed", code: "concurrency_limit", isFull: true };
  }
  const details = errors.flatMap(
    ({ detail }) => detail?.match(/(?<![\w-])D\d{1,2}(?![\w-])/g) ?? [],
  );
  const dCode = [telnyx_error?.error_code ?? "", ...details].find((one) => dCodes.has(one)) ?? "";
  const refusal = dCodes.get(dCode);
  if (refusal !== undefined) return { ...refusal, code: `telnyx_${dCode.toLowerCase()}` };
  if (accountCodes.has(first.code)) return { kind: "account_refused", code };
  if (status === 403) return undefined;
  const pointsAt = (field: RegExp) =>
    errors.some(({ source }) => field.test(source?.pointer ?? ""));
  const ofRoute =
    (status === 404 && missingCodes.has(first.code)) ||
    pointsAt(/(^|\/)(from|connection_id|assistant|assistant\/id)$/);
  if (ofRoute) return { kind: "route_refused", code };
  return pointsAt(/(^|\/)to$/)
    ? { kind: "rejected", code, blamesNumber: true }
    : { kind: "rejected", code };
}

/** Codes that refuse the account, not the call. */
const accountCodes = new Set(["10009", "10039", "20012", "20013", "20016", "20100"]);
/** Codes that mean: all channels of the account, the connection or the profile are in use. */
const channelCodes = new Set(["90041", "90042", "90043"]);
/** Codes of a 404 that mean: the connection or the assistant does not exist. */
const missingCodes = new Set(["10005", "10006", "10013", "10017"]);

/**
 * Meaning of each D-code (https://support.telnyx.com/en/articles/4409457-telnyx-sip-response-codes), by its subject.
 * D1 to D3: too many live calls. D9 (the same number within 60 s) and D39 (a day's spending) limit only international
 * calls, so they delay only that call. D12 and D13 refuse a country. D40 has no route to the number, which
 * may concern its country, so it counts for the backlog's breaker, too.
 */
const dCodes = /* @__PURE__ */ createTable<Refusal>(
  [{ kind: "not_placed", isFull: true }, "D1 D2 D3"],
  [{ kind: "not_placed" }, "D10 D22"],
  [{ kind: "not_placed", blamesNumber: true, retryAfterSeconds: 60 }, "D9"],
  [{ kind: "not_placed", blamesNumber: true, retryAfterSeconds: 900 }, "D39"],
  [{ kind: "rejected", blamesNumber: true }, "D11 D14 D24 D37 D41 D50 D53 D58 D59"],
  [{ kind: "rejected" }, "D12 D13 D40"],
  [{ kind: "route_refused" }, "D7 D15 D16 D35 D36 D38 D44 D46 D49 D51 D54 D63 D64"],
  [{ kind: "account_refused" }, "D17 D19 D25 D26 D27 D28 D29 D60"],
);

type List = (
  path: string,
  query: URLSearchParams,
) => Promise<z.infer<ReturnType<typeof listSchema>>>;

/** Maximum pages of a list that a look-up reads. A call on a later page is looked up again, and finally reviewed. */
const pagesMax = 4;

const rowsPerPage = 250;

const listSchema = () =>
  z.object({
    data: z.array(z.record(z.string(), z.unknown())),
    meta: z.nullish(z.object({ cursors: z.nullish(z.object({ after: z.nullish(z.string()) })) })),
  });

/** Returns the provider's id of a call whose webhooks of the last 24 hours carry our id. */
async function findIdAmongEvents(
  id: string,
  { route, from }: { route: TelnyxRoute; from: number },
  list: List,
): Promise<string | undefined> {
  const { connection, from: number } = route;
  for (let page = 1; page <= pagesMax; page++) {
    const query = new URLSearchParams({
      "filter[connection_id]": connection,
      "filter[from]": number,
      "filter[type]": "webhook",
      "filter[occurred_at][gte]": new Date(from).toISOString(),
      "page[number]": String(page),
      "page[size]": String(rowsPerPage),
    });
    const { data } = await list("call_events", query);
    for (const { metadata } of data) {
      const providerCallId = callIdOfEvent(metadata, id);
      if (providerCallId !== undefined) return providerCallId;
    }
    if (data.length < rowsPerPage) return undefined;
  }
  return undefined;
}

/** Returns the provider's id of a call that is under way and carries our id. Pages follow by cursor. */
async function findIdAmongActive(
  id: string,
  { connection }: TelnyxRoute,
  list: List,
): Promise<string | undefined> {
  let after: string | null | undefined;
  for (let page = 1; page <= pagesMax; page++) {
    const query = new URLSearchParams({ "page[limit]": String(rowsPerPage) });
    if (after) query.set("page[after]", after);
    const path = `connections/${encodeURIComponent(connection)}/active_calls`;
    const { data, meta } = await list(path, query);
    for (const one of data) {
      const providerCallId = callIdOfEvent(one, id);
      if (providerCallId !== undefined) return providerCallId;
    }
    after = meta?.cursors?.after;
    if (!after || data.length === 0) return undefined;
  }
  return undefined;
}
