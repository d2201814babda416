import * as z from "zod";
import {
  type DialOutcome,
  type FoundCall,
  type ProviderType,
  routeFields,
} from "./dialing-provider.ts";
import { httpsUrl } from "./https-url.ts";
import { ask, outcomeOfJson, postJson } from "./post.ts";

const routeSchema = z.strictObject({
  ...routeFields,
  type: z.literal("vapi"),
  baseUrl: httpsUrl.optional(),
  /** Id of the assistant. */
  agent: z.string().min(1).max(200),
  /** Id of the calling phone number. */
  from: z.string().min(1).max(200),
});

/**
 * Vapi: `POST /call` (https://docs.vapi.ai/api-reference/calls/create), with `Authorization: Bearer` and the
 * account's secret `VAPI_API_KEY`.
 *
 * ```json
 * {"assistantId": "…", "phoneNumberId": "…",
 *  "customer": {"number": "+12025550123", "externalId": "call_…"},
 *  "assistantOverrides": {"variableValues": {"first_name": "Ada"}}}
 * ```
 *
 * 201 with the call's `id`: placed, unless `subscriptionLimits.concurrencyBlocked` says that all lines were
 * busy and the call "does not connect" (docs.vapi.ai, call concurrency). A 400 whose message is an array
 * concerns the fields of this call. A text concerns a limit or the account, and goes to review if it is not a
 * known one.
 *
 * A look-up lists the calls of that phone number and period page by page by time, as the list has no filter
 * on `externalId` and no cursor.
 */
export const vapi: ProviderType<z.infer<typeof routeSchema>> = {
  name: "vapi",
  routeSchema,
  callsPerSecond: 1,
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["API_KEY"],
  create({ secret, fetch, now }) {
    const apiOf = ({ provider, baseUrl = "https://api.vapi.ai" }: Account) => ({
      url: `${baseUrl}/call`,
      headers: { authorization: `Bearer ${secret(provider, "API_KEY") ?? ""}` },
    });
    return {
      async dial({ call: { id, request }, timeoutSeconds }, route) {
        const json = {
          assistantId: route.agent,
          phoneNumberId: route.from,
          customer: { number: request.phone_number, externalId: id },
          assistantOverrides: { variableValues: request.context ?? {} },
        };
        const { url, headers } = apiOf(route);
        const answer = await postJson(fetch, url, { headers, json }, timeoutSeconds);
        return "kind" in answer ? answer : outcomeOfJson(answer, now(), callIdIn, exception);
      },

      async lookUp({ call, from, until }, route): Promise<FoundCall | undefined> {
        const { url, headers } = apiOf(route);
        let latest: Record<string, string> = { createdAtLe: new Date(until).toISOString() };
        for (let pages = 0; pages < pagesMax; pages++) {
          const query = new URLSearchParams({
            phoneNumberId: route.from,
            createdAtGe: new Date(from).toISOString(),
            ...latest,
            limit: String(pageCalls),
          });
          const calls = listSchema.parse(
            await ask(fetch, `${url}?${query.toString()}`, { headers }),
          );
          const found = calls.find(
            (one) => one.customer?.externalId === call.id && !hasNotStarted(one),
          );
          if (found !== undefined) return { by: "id", providerCallId: found.id };
          const [earliest] = calls.map(({ createdAt }) => createdAt).toSorted();
          if (earliest === undefined || calls.length < pageCalls) return undefined;
          latest = { createdAtLt: earliest };
        }
        return undefined;
      },
    };
  },
};

/** Calls per page, each with its transcript, and maximum pages that are read. */
const pageCalls = 50;
const pagesMax = 10;

type Account = Pick<z.infer<typeof routeSchema>, "provider" | "baseUrl">;

const createdSchema = z.object({ id: z.string().min(1).max(200) });
const blockedSchema = z.object({
  subscriptionLimits: z.object({ concurrencyBlocked: z.literal(true) }),
});
const listSchema = z.array(
  createdSchema.extend({
    createdAt: z.string(),
    customer: z.object({ externalId: z.string().nullish() }).nullish(),
    endedReason: z.string().nullish(),
    subscriptionLimits: z.unknown().optional(),
  }),
);
const refusedSchema = z.object({ message: z.string() });

/** True for an earlier attempt that was blocked, or that Vapi took and could not start: the list contains these too. */
function hasNotStarted(call: z.infer<typeof listSchema>[number]): boolean {
  return (
    blockedSchema.safeParse(call).success ||
    call.endedReason?.startsWith("call.start.error") === true
  );
}

function callIdIn(body: unknown): string | undefined {
  return createdSchema.safeParse(body).data?.id;
}

function exception(status: number, body: unknown): DialOutcome | undefined {
  if (status < 300 && blockedSchema.safeParse(body).success) {
    return { kind: "not_placed", code: "concurrency_blocked" };
  }
  const message = refusedSchema.safeParse(body).data?.message;
  if (status !== 400 || message === undefined) return undefined;
  if (/concurrency limit/i.test(message)) return { kind: "not_placed", code: "concurrency_limit" };
  if (/daily outbound call limit|wallet|credits|subscription|frozen|payment/i.test(message)) {
    return { kind: "account_refused", code: "account_limit" };
  }
  return { kind: "forbidden", code: "http_400" };
}
