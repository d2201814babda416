import * as z from "zod";
import { isE164 } from "../phone-number.ts";
import { type DialOutcome, type ProviderType, routeFields } from "./dialing-provider.ts";
import { httpsUrl } from "./https-url.ts";
import { outcomeOfJson, postJson } from "./post.ts";

const routeSchema = z.strictObject({
  ...routeFields,
  type: z.literal("telnyx"),
  baseUrl: httpsUrl.optional(),
  /** The id of the Call Control application. */
  connection: z.string().min(1).max(200),
  /** The number that calls. */
  from: z.string().refine(isE164, "must be an E.164 number"),
  /** The id of an AI assistant that takes the call; without it, your own application does. */
  agent: z.string().min(1).max(200).optional(),
  /** Telnyx drops a second dial command of the same id: the ledger may let one be sent. */
  idempotent: z.literal(true).default(true),
});

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
 * `client_state`, which every webhook of the call repeats, is JSON in base64: `call_id`, and without an assistant
 * `agent_id` and `context` too.
 *
 * 200 with `data.call_control_id`: placed. Further commands with one `command_id` are ignored for 60 s
 * (developers.telnyx.com, receiving webhooks), so an unknown outcome is sent once more within 45 s of its claim, which
 * is at most 10 s old when a request leaves; an attempt that surely was not placed is followed by one of another id. Errors are `errors[].code`: 10009 authentication, 10010 authorization, 10011
 * and 90103 too many requests; 403 with "channel limit exceeded" is the account's concurrency. What is wrong with `from`
 * or `connection_id`, by `source.pointer`, is wrong with the route.
 */
export const telnyx: ProviderType<z.infer<typeof routeSchema>> = {
  name: "telnyx",
  routeSchema,
  callsPerSecond: 1,
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["API_KEY"],
  resendSecondsMax: 45,
  create: ({ secret, fetch, now }) => ({
    async dial({ call: { id, request }, attempt, timeoutSeconds }, route) {
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
      };
      const headers = { authorization: `Bearer ${secret(provider, "API_KEY") ?? ""}` };
      const url = `${baseUrl}/v2/calls`;
      const answer = await postJson(fetch, url, { headers, json }, timeoutSeconds);
      return "kind" in answer ? answer : outcomeOfJson(answer, now(), callIdIn, exception);
    },
  }),
};

const createdSchema = z.object({
  data: z.object({ call_control_id: z.string().min(1).max(500) }),
});
const errorsSchema = z.object({
  errors: z
    .array(
      z.object({
        code: z.coerce.string(),
        title: z.string().optional(),
        detail: z.string().nullish(),
        source: z.object({ pointer: z.string().optional() }).nullish(),
      }),
    )
    .min(1),
});

function callIdIn(body: unknown): string | undefined {
  return createdSchema.safeParse(body).data?.data.call_control_id;
}

function exception(status: number, body: unknown): DialOutcome | undefined {
  const errors = errorsSchema.safeParse(body).data?.errors ?? [];
  const [first] = errors;
  if (first === undefined || status < 400 || status > 499 || status === 408) return undefined;
  const code = /^\w{1,20}$/.test(first.code) ? `telnyx_${first.code}` : `http_${status}`;
  const isAbout = (pattern: RegExp) =>
    errors.some(({ title = "", detail }) => pattern.test(`${title} ${detail ?? ""}`));
  if (status === 403 && isAbout(/channel limit exceeded/i)) {
    return { kind: "not_placed", code: "concurrency_limit" };
  }
  if (status === 403 && first.code === "10010") return { kind: "account_refused", code };
  const pointsAt = (field: string) =>
    errors.some(({ source }) => source?.pointer?.split("/").at(-1) === field);
  if (![400, 404, 422].includes(status)) return undefined;
  const ofRoute = pointsAt("from") || pointsAt("connection_id");
  return { kind: ofRoute ? "route_refused" : "rejected", code };
}
