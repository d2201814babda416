import * as z from "../platform/zod.ts";
import type { DialOutcome, FoundCall, ProviderAdapter } from "./dialing-provider.ts";
import { AnswerTooLong, ask, outcomeOfJson, postJson } from "./post.ts";
import { listReader, recordReader } from "./results/result.ts";
import {
  callSchema,
  later,
  notStarted,
  notStartedFor,
  ofAccount,
  ofRoute,
  resultOfCall,
  type VapiCall,
  vapiRecord,
} from "./results/vapi.ts";
import type { VapiRoute } from "./routes/vapi.ts";

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
 * 201 with the call's `id`: placed. With `subscriptionLimits.concurrencyBlocked` all lines were busy: the page
 * about it (https://docs.vapi.ai/calls/call-concurrency) says that such a call waits for a free one and also
 * that it does not connect, so it is unknown and looked up. A 400 whose message is an array concerns the
 * fields of this call. A text concerns a limit, the number or the account, and goes to review if it is not a
 * known one.
 *
 * A look-up lists the calls of that phone number and period page by page by time, as the list has no filter
 * on `externalId` and no cursor. A call that was blocked or did not start is read once more by its id
 * (https://docs.vapi.ai/api-reference/calls/get): only one that has ended for a reason of `notStarted` was not
 * placed. `name` tells the attempt, as an earlier one's record proves nothing about this one.
 */
export const vapi: ProviderAdapter<VapiRoute> = {
  create({ secret, fetch, now }) {
    const apiOf = ({ provider, baseUrl = "https://api.vapi.ai" }: Account) => ({
      url: `${baseUrl}/call`,
      headers: { authorization: `Bearer ${secret(provider, "API_KEY") ?? ""}` },
    });
    return {
      async dial({ call: { id, request }, attempt, timeoutSeconds }, route) {
        const json = {
          assistantId: route.agent,
          phoneNumberId: route.from,
          name: nameOf(attempt),
          customer: { number: request.phone_number, externalId: id },
          assistantOverrides: { variableValues: request.context ?? {} },
        };
        const { url, headers } = apiOf(route);
        const answer = await postJson(fetch, url, { headers, json }, timeoutSeconds);
        return "kind" in answer ? answer : outcomeOfJson(answer, now(), callIdIn, exception);
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
            calls = listSchema.parse(await get(`${url}?${query.toString()}`));
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
        return outcomeOfCall(callSchema.parse(await get(`${url}/${encodeURIComponent(only.id)}`)));
      },

      readResult: recordReader(fetch, apiOf, "/", vapiRecord),

      listResults: listReader(fetch, apiOf, {
        rowsMax: pageCallsMax,
        ask(from, limit, before) {
          const createdAtGe = new Date(from).toISOString();
          const period =
            before === undefined ? { createdAtGe } : { createdAtGe, createdAtLt: before };
          return {
            path: `?${new URLSearchParams({ ...period, limit: String(limit) }).toString()}`,
          };
        },
        read(answer, limit) {
          const rows = listSchema.parse(answer);
          const [earliest] = rows.map(({ createdAt }) => createdAt).toSorted();
          return { rows, next: rows.length < limit ? null : earliest };
        },
        idOf({ id }) {
          return id;
        },
        resultOf: resultOfCall,
      }),
    };
  },
};

/** Maximum calls per page, each with its transcript, and maximum requests for pages. */
const pageCallsMax = 50;
const pagesMax = 10;

/** Tells an attempt in a call's `name`, which Vapi keeps for our own reference. */
function nameOf(attempt: number): string {
  return `attempt ${attempt}`;
}

type Account = Pick<VapiRoute, "provider" | "baseUrl">;

const createdSchema = z.object({ id: z.string().check(z.minLength(1), z.maxLength(200)) });
const blockedSchema = z.object({
  subscriptionLimits: z.object({ concurrencyBlocked: z.literal(true) }),
});
const listSchema = z.array(callSchema);
const refusedSchema = z.object({ message: z.string() });

/** Statuses of a call for which Vapi has found a line (VapiAI/server-sdk, CallStatus). */
const underWay = new Set<unknown>(["ringing", "in-progress", "forwarding"]);

/** True for a call that was blocked, or that Vapi took and may not have started. */
function isInDoubt(call: VapiCall): boolean {
  const reason = call.endedReason ?? "";
  if (reason === "" && blockedSchema.safeParse(call).success) return !underWay.has(call.status);
  return reason.startsWith("call.start.") || notStarted.has(reason);
}

/** Returns what became of a call in doubt, as read by its id; undefined if that is not known yet. */
function outcomeOfCall(call: VapiCall): FoundCall | undefined {
  if (!isInDoubt(call)) return { by: "id", providerCallId: call.id };
  const notPlaced = notStartedFor(call.endedReason ?? "");
  return call.status === "ended" && notPlaced !== undefined ? { by: "id", notPlaced } : undefined;
}

function callIdIn(body: unknown): string | undefined {
  return createdSchema.safeParse(body).data?.id;
}

function exception(status: number, body: unknown): DialOutcome | undefined {
  if (status < 300 && blockedSchema.safeParse(body).success) {
    return { kind: "unknown", code: "concurrency_blocked" };
  }
  const message = refusedSchema.safeParse(body).data?.message;
  if (status !== 400 || message === undefined) return undefined;
  if (/concurrency limit/i.test(message)) return later("concurrency_limit");
  if (/daily outbound call limit/i.test(message)) return ofRoute("number_daily_limit");
  if (/wallet|credits|subscription|frozen|payment/i.test(message)) {
    return ofAccount("account_limit");
  }
  return { kind: "forbidden", code: "http_400" };
}
