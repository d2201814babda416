import * as z from "../platform/zod.ts";
import type { DialOutcome, FoundCall, ProviderAdapter } from "./dialing-provider.ts";
import { ask, outcomeOfJson, postJson } from "./post.ts";
import { callIdOfState, payloadsIn, resultOfEvents, resultOfStatus } from "./results/telnyx.ts";
import type { TelnyxRoute } from "./routes/telnyx.ts";

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
 * 200 with `data.call_control_id`: placed. Telnyx ignores a repeated `command_id`, but for 60 s only, which no
 * clock can guarantee to observe: an unknown outcome is looked up and never sent again. A look-up is
 * `GET /v2/call_events` (https://developers.telnyx.com/api-reference/debugging/list-call-events), which has the
 * webhooks of the last 24 hours, each with its `client_state`. A call that has just begun may not be among them
 * yet, so `GET /v2/connections/{id}/active_calls`
 * (https://developers.telnyx.com/api-reference/call-information/list-all-active-calls-for-given-connection)
 * follows. The called number appears in no URL.
 *
 * Errors are `errors[].code` (https://developers.telnyx.com/development/api-fundamentals/api-errors). 10010 is
 * the code of every refusal. A D-code, in `telnyx_error.error_code` or at the end of `detail`, names its
 * subject. An error whose `source.pointer` is `from`, `connection_id` or the assistant's id is of the route, as
 * is a 404.
 */
export const telnyx: ProviderAdapter<TelnyxRoute> = {
  create: ({ secret, fetch, now }) => ({
    async dial({ call: { id, request }, attempt, timeoutSeconds, callbackUrl }, route) {
      const { provider, baseUrl = "https://api.telnyx.com", connection, from, agent } = route;
      const { phone_number, agent_id, context = {} } = request;
      const state = agent === undefined ? { call_id: id, agent_id, context } : { call_id: id };
      const json = {
        connection_id: connection,
        from,
        to: phone_number,
        command_id: `${id}-${attempt}`,
        client_state: Buffer.from(JSON.stringify(state)).toString("base64"),
        ...(agent === undefined ? {} : { assistant: { id: agent, dynamic_variables: context } }),
        ...(route.machineDetection === undefined
          ? {}
          : { answering_machine_detection: route.machineDetection }),
        ...(route.ringSeconds === undefined ? {} : { timeout_secs: route.ringSeconds }),
        // All other events go to the connection's own webhook on.
        ...(route.callbacks === true && callbackUrl !== undefined
          ? { webhook_urls: { "call.hangup": callbackUrl }, webhook_urls_method: "POST" }
          : {}),
      };
      const headers = { authorization: `Bearer ${secret(provider, "API_KEY") ?? ""}` };
      const url = `${baseUrl}/v2/calls`;
      const answer = await postJson(fetch, url, { headers, json }, timeoutSeconds);
      return "kind" in answer ? answer : outcomeOfJson(answer, now(), callIdIn, exception);
    },

    async lookUp({ call: { id }, from }, route): Promise<FoundCall | undefined> {
      const { provider, baseUrl = "https://api.telnyx.com" } = route;
      const headers = { authorization: `Bearer ${secret(provider, "API_KEY") ?? ""}` };
      const list = async (path: string, query: URLSearchParams) =>
        listSchema.parse(await ask(fetch, `${baseUrl}/v2/${path}?${String(query)}`, { headers }));
      const providerCallId =
        (await idAmongEvents(list, id, route, from)) ?? (await idAmongActive(list, id, route));
      return providerCallId === undefined ? undefined : { by: "id", providerCallId };
    },

    async readResult(placed, route) {
      const { provider, baseUrl = "https://api.telnyx.com", connection, from } = route;
      const headers = { authorization: `Bearer ${secret(provider, "API_KEY") ?? ""}` };
      const url = `${baseUrl}/v2/calls/${encodeURIComponent(placed.providerCallId)}`;
      const answer = await ask(fetch, url, { headers, isById: true });
      const { result, leg } = answer === undefined ? {} : resultOfStatus(answer, placed);
      if (leg === undefined && answer !== undefined) return result;
      // The status is gone ten minutes after the end. Then the call may be among the latest events.
      const events = new URLSearchParams({
        ...(leg === undefined
          ? { "filter[connection_id]": connection, "filter[from]": from }
          : { "filter[leg_id]": leg }),
        "filter[type]": "webhook",
        "page[number]": "1",
        "page[size]": String(rowsPerPage),
      });
      const listed = await ask(fetch, `${baseUrl}/v2/call_events?${String(events)}`, { headers });
      return listed === undefined
        ? undefined
        : resultOfEvents(listSchema.parse(listed).data, placed);
    },
  }),
};

type List = (path: string, query: URLSearchParams) => Promise<z.infer<typeof listSchema>>;

/** Maximum pages of a list that a look-up reads. A call beyond them is looked up again, and goes to review at last. */
const pagesMax = 4;
const rowsPerPage = 250;
const listSchema = z.object({
  data: z.array(z.record(z.string(), z.unknown())),
  meta: z.nullish(z.object({ cursors: z.nullish(z.object({ after: z.nullish(z.string()) })) })),
});

/** Returns the provider's id of a call whose webhooks of the last 24 hours carry our id. */
async function idAmongEvents(
  list: List,
  id: string,
  { connection, from: number }: TelnyxRoute,
  from: number,
): Promise<string | undefined> {
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
async function idAmongActive(
  list: List,
  id: string,
  { connection }: TelnyxRoute,
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

/** Returns the provider's id of a call if one of its events carries our id. */
function callIdOfEvent(event: unknown, id: string): string | undefined {
  const ours = payloadsIn(event).find(({ client_state }) => callIdOfState(client_state) === id);
  return ours?.call_control_id;
}

const createdSchema = z.object({
  data: z.object({ call_control_id: z.string().check(z.minLength(1), z.maxLength(500)) }),
});
const errorsSchema = z.object({
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

function callIdIn(body: unknown): string | undefined {
  return createdSchema.safeParse(body).data?.data.call_control_id;
}

/**
 * Subject that each D-code refuses, by Telnyx's runbook of SIP response codes: nothing yet, the number, the
 * route, the account.
 */
const refusedBy = (codes: string, outcome: (code: string) => DialOutcome) =>
  codes.split(" ").map((number) => [`D${number}`, outcome(`telnyx_d${number}`)] as const);
const dCodes: ReadonlyMap<string, DialOutcome> = new Map([
  ...refusedBy("1 2 3 10 22", (code) => ({ kind: "not_placed", code })),
  ...refusedBy("11 12 13 14 24 37 41 50 53 58 59 60", (code) => ({
    kind: "rejected",
    code,
    blamesNumber: true,
  })),
  ...refusedBy("7 15 16 35 36 38 44 46 49 51 54 63 64", (code) => ({
    kind: "route_refused",
    code,
  })),
  ...refusedBy("9 17 19 25 26 27 28 29 39", (code) => ({ kind: "account_refused", code })),
]);

/** Codes by which the account is refused, whatever the call. */
const accountCodes = new Set(["10009", "10039", "20012", "20013", "20016", "20100"]);
/** Codes by which all channels of the account, the connection or the profile are in use. */
const channelCodes = new Set(["90041", "90042", "90043"]);

function exception(status: number, body: unknown): DialOutcome | undefined {
  const { errors = [], telnyx_error } = errorsSchema.safeParse(body).data ?? {};
  const [first] = errors;
  if (first === undefined || ![400, 403, 404, 422].includes(status)) return undefined;
  const code = /^\d{1,6}$/.test(first.code) ? `telnyx_${first.code}` : "telnyx";
  const isAbout = (pattern: RegExp) =>
    errors.some(({ title = "", detail }) => pattern.test(`${title} ${detail ?? ""}`));
  if (channelCodes.has(first.code) || (status === 403 && isAbout(/channels? limit exceeded/i))) {
    return { kind: "not_placed", code: "concurrency_limit" };
  }
  if (accountCodes.has(first.code)) return { kind: "account_refused", code };
  if (status === 403) {
    const inDetail = /\b(D\d{1,2})\W*$/.exec(first.detail ?? "")?.[1];
    return dCodes.get(telnyx_error?.error_code ?? "") ?? dCodes.get(inDetail ?? "");
  }
  const pointsAt = (field: RegExp) =>
    errors.some(({ source }) => field.test(source?.pointer ?? ""));
  const ofRoute = status === 404 || pointsAt(/(^|\/)(from|connection_id|assistant|assistant\/id)$/);
  return { kind: ofRoute ? "route_refused" : "rejected", code };
}
