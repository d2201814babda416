/**
 * Ultravox: `POST /api/agents/{agent_id}/calls` (https://docs.ultravox.ai/api-reference/agents/agents-calls-post),
 * with `X-API-Key` and the account's secret `ULTRAVOX_API_KEY`. Ultravox has the carrier call the number, so the
 * carrier's calls per second are a limit, too.
 *
 * ```json
 * {"templateContext": {"first_name": "Ada"}, "metadata": {"call_id": "call_…", "attempt": "1"},
 *  "medium": {"twilio": {"outgoing": {"to": "+12025550123", "from": "+12025550100"}}}}
 * ```
 *
 * A SIP trunk is called at a SIP URI: `{"sip": {"outgoing": {"to": "sip:+12025550123@…", "from": "sip:…"}}}`.
 *
 * 201 with `callId`: placed. 429 means a limit of live calls, or of calls a second or minute
 * (https://docs.ultravox.ai/gettingstarted/concurrency). The form of errors is not published, so their status
 * decides. A 404 with a JSON `detail` concerns the agent, as the address names nothing else.
 *
 * A look-up is `GET /api/calls?metadata.call_id=…` (https://docs.ultravox.ai/api-reference/calls/calls-list). The
 * rows repeat the metadata, so an ignored filter does no harm. A call that an error ended before anybody joined may
 * have failed before the phone rang: it stays unknown, and a person decides.
 */
import type { Send } from "../lib/http-client.ts";
import { httpsUrl } from "../lib/https-url.ts";
import { withTimeLimit } from "../lib/retry.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute, idText, phoneNumber } from "./define-provider.ts";
import { ask, toOutcome, postJson } from "./provider-http.ts";
import {
  createListReader,
  optionalText,
  createRecordReader,
  type RecordType,
  resultOf,
  createWords,
  withAnalysis,
} from "./provider-records.ts";
import type { DialOutcome, FoundCall, PlacedCall, ReadResult } from "./provider.ts";

/** Routes of Ultravox, as a dial plan has them. */
export const ultravoxRoutes = defineRoute(
  "ultravox",
  (fields) =>
    z
      .strictObject({
        ...fields,
        baseUrl: z.optional(httpsUrl),
        /** Id of the agent. */
        agent: idText,
        /** Carrier that is configured in the Ultravox account, or a SIP trunk. */
        through: z.enum(["twilio", "telnyx", "plivo", "sip"]),
        /** The calling number, of that carrier. */
        from: phoneNumber,
        /** Host of the SIP trunk, with `through: "sip"`. */
        sipHost: z.optional(
          z
            .string()
            .check(
              z.regex(/^[\w.-]+(:\d{1,5})?$/, "must be a host such as example.pstn.twilio.com"),
            ),
        ),
        /** User name at the SIP trunk, if it asks for one. Its password is the secret `SIP_PASSWORD`. */
        sipUser: z.optional(idText),
      })
      .check(
        z.refine(({ through, sipHost }) => (through === "sip") === (sipHost !== undefined), {
          path: ["sipHost"],
          error: 'must stand beside "through": "sip", and there alone',
        }),
        z.refine(({ through, sipUser }) => through === "sip" || sipUser === undefined, {
          path: ["sipUser"],
          error: 'must stand beside "through": "sip" alone',
        }),
      ),
  {
    callsPerSecond: 1,
    hasCallerId: true,
    readsWishes: true,
    secrets: ({ sipUser }) => (sipUser === undefined ? ["API_KEY"] : ["API_KEY", "SIP_PASSWORD"]),
  },
);
type UltravoxRoute = z.infer<typeof ultravoxRoutes.routeSchema>;

export const ultravox = /* @__PURE__ */ defineProvider(ultravoxRoutes, ({ secret, fetch, now }) => {
  const apiOf = ({ account, baseUrl = "https://api.ultravox.ai" }: UltravoxRoute) => ({
    url: `${baseUrl}/api`,
    headers: { "x-api-key": secret(account, "API_KEY") ?? "" },
  });
  const readRecordOf = createRecordReader(fetch, apiOf, { path: "/calls/", record });
  return {
    async dial({ call: { id, request }, attempt, timeoutSeconds, guarded, ...more }, route) {
      const { callbackUrl, maxCallMinutes } = more;
      const password = secret(route.account, "SIP_PASSWORD");
      const json = {
        templateContext: request.context ?? {},
        metadata: { call_id: id, attempt: String(attempt) },
        ...(callbackUrl === undefined ? {} : { callbacks: { ended: { url: callbackUrl } } }),
        ...(maxCallMinutes === undefined ? {} : { maxDuration: `${maxCallMinutes * 60}s` }),
        medium: { [route.through]: { outgoing: legOf(request.phone_number, route, password) } },
      };
      const { url, headers } = apiOf(route);
      const callUrl = `${url}/agents/${encodeURIComponent(route.agent)}/calls`;
      const answer = await postJson(guarded(fetch), callUrl, { headers, json, timeoutSeconds });
      return toOutcome(answer, { callIdIn, exception }, now());
    },

    async lookUp({ call: { id }, attempt }, route): Promise<FoundCall | undefined> {
      const { url, headers } = apiOf(route);
      const query = new URLSearchParams({ "metadata.call_id": id, pageSize: "20" });
      const { results } = z
        .built(listSchema)
        .parse(await ask(fetch, `${url}/calls?${query.toString()}`, { headers }));
      const found = results.find(
        (one) =>
          one.metadata?.["call_id"] === id &&
          one.metadata["attempt"] === String(attempt) &&
          !hasFailedEarly(one),
      );
      return found && { by: "id", providerCallId: found.callId };
    },

    async readResult(placed, route) {
      const result = await readRecordOf(placed, route);
      // Nobody has wished anything in a call that nobody joined, and a live one is read again.
      if (!placed.mayWish || !result?.answeredAt || result.status === "live") return result;
      return withMessages(result, placed, { ...apiOf(route), fetch });
    },

    listResults: createListReader(fetch, apiOf, {
      rowsMax: 100,
      ask(from, limit, cursor) {
        const fromDate = new Date(from).toISOString();
        const query = new URLSearchParams({ fromDate, pageSize: String(limit) });
        if (cursor !== undefined) query.set("cursor", cursor);
        return { path: `/calls?${query.toString()}` };
      },
      read(answer) {
        const { results, next } = z.built(listSchema).parse(answer);
        return { rows: results, next: next && new URL(next).searchParams.get("cursor") };
      },
      idOf: ({ callId }) => callId,
      resultOf: resultOfCall,
    }),
  };
});

/** Returns the two ends of the carrier's call. A SIP trunk takes no numbers, only SIP URIs. */
function legOf(
  to: string,
  { from, sipHost, sipUser: username }: UltravoxRoute,
  password: string | undefined,
): Record<string, string | undefined> {
  if (sipHost === undefined) return { to, from };
  const ends = { to: `sip:${to}@${sipHost}`, from: `sip:${from}@${sipHost}` };
  return username === undefined ? ends : { ...ends, username, password };
}

const createdSchema = () => z.object({ callId: idText });

function callIdIn(body: unknown): string | undefined {
  return z.built(createdSchema).safeParse(body).data?.callId;
}

function exception(status: number, body: unknown): DialOutcome | undefined {
  const isDetailed = z.object({ detail: z.string() }).safeParse(body).success;
  return status === 404 && isDetailed
    ? { kind: "route_refused", code: "ultravox_agent_not_found" }
    : undefined;
}

const listSchema = () =>
  z.object({
    results: z.array(callSchema()),
    /** Address of the next page. Only its cursor is used. */
    next: z.nullish(z.url()),
  });

/** A call in Ultravox's records. Times have the form of ISO 8601. */
const callSchema = () =>
  z.object({
    callId: idText,
    /** Another application's call may have any metadata. */
    metadata: z.catch(z.nullish(z.record(z.string(), z.unknown())), null),
    joined: z.nullish(z.string()),
    ended: optionalText(),
    endReason: z.nullish(z.string()),
    sipDetails: z.catch(z.nullish(z.object({ terminationReason: optionalText() })), null),
  });
type UltravoxCall = z.infer<ReturnType<typeof callSchema>>;

/** Messages of a page, maximum pages of a call that are read for a wish, and seconds for all of them. */
const pageMessages = 100;
const pagesMax = 5;
const messagesSecondsMax = 5;

/**
 * Messages of a call (https://docs.ultravox.ai/api-reference/calls/calls-messages-list): the text of a call of a tool has its
 * arguments as JSON. Ultravox has no analysis: the agent reports a wish by any tool that has a parameter of its name.
 */
const messagesSchema = () =>
  z.object({
    results: z.array(z.object({ role: optionalText(), text: optionalText() })),
    next: z.nullish(z.url()),
  });

interface Api {
  url: string;
  headers: Record<string, string>;
  fetch: Send;
  /** Counts the requests of a reading, which ends beyond its maximum. */
  asked: { requests: number };
}

/**
 * Returns the arguments of the tools that the agent has called, as far as they may have a wish, after an empty analysis: without
 * one, as where the messages cannot be read, the result stands and the messages are read again. The last one comes first, as a
 * callee may correct what was said before.
 */
async function readToolCalls(
  { providerCallId }: PlacedCall,
  { url, headers, fetch, asked }: Api,
): Promise<unknown[]> {
  const path = `/calls/${encodeURIComponent(providerCallId)}/messages`;
  const found: unknown[] = [];
  let cursor: string | null | undefined = "";
  while (asked.requests <= pagesMax && cursor != null) {
    asked.requests++;
    // By default only the messages of a call's last stage come.
    const query = new URLSearchParams({ mode: "in_call", pageSize: String(pageMessages) });
    if (cursor !== "") query.set("cursor", cursor);
    const answer = await ask(fetch, `${url}${path}?${query.toString()}`, { headers });
    const { results = [], next } = z.built(messagesSchema).safeParse(answer).data ?? {};
    found.push(...results.flatMap(argumentsOf));
    cursor = next && new URL(next).searchParams.get("cursor");
  }
  return [{}, ...found.toReversed()];
}

/** Adds the wish that the agent has noted. A result that is known waits for no slow messages: they are read again. */
async function withMessages(
  result: ReadResult,
  placed: PlacedCall,
  api: Omit<Api, "asked">,
): Promise<ReadResult> {
  const asked = { requests: 1 };
  const calls = readToolCalls(placed, { ...api, asked });
  const analysis = await withTimeLimit(calls, messagesSecondsMax).catch(() => []);
  const { requests } = asked;
  asked.requests = Infinity; // nobody waits for another page
  return withAnalysis(result, analysis, requests);
}

type Message = z.infer<ReturnType<typeof messagesSchema>>["results"][number];

function argumentsOf({ role, text }: Message): unknown[] {
  if (role !== "MESSAGE_ROLE_TOOL_CALL") return [];
  try {
    return [JSON.parse(text ?? "")];
  } catch {
    return [];
  }
}

/** True if an error ended the call before anybody joined, so that the phone may not have rung. */
function hasFailedEarly({ joined, endReason }: UltravoxCall): boolean {
  const hasError = endReason === "connection_error" || endReason === "system_error";
  return hasError && typeof joined !== "string";
}

/**
 * Values of `endReason`, and of `sipDetails.terminationReason` of calls through a SIP trunk
 * (https://docs.ultravox.ai/api-reference/schema/call-definition). Nobody has joined an `unjoined` call: the phone rang
 * out, was busy, was declined, or the number does not exist. Only the reason of a SIP trunk says which.
 */
const words = /* @__PURE__ */ createWords(
  ["live", "live"],
  ["completed", "hangup agent_hangup"],
  ["no_answer", "SIP_TERMINATION_TIMEOUT SIP_TERMINATION_CANCELED"],
  ["busy", "SIP_TERMINATION_BUSY"],
  ["declined", "SIP_TERMINATION_REJECTED"],
  ["invalid", "SIP_TERMINATION_INVALID_NUMBER"],
  ["failed", "SIP_TERMINATION_DESTINATION_UNAVAILABLE"],
  ["unknown", "unjoined timeout connection_error system_error"],
);

/** If nobody has joined, the SIP trunk's reason says more. */
function resultOfCall({ joined, ended, endReason, sipDetails }: UltravoxCall): ReadResult {
  if (!ended && !endReason) return resultOf(words, { word: "live", answeredAt: joined });
  const sip = sipDetails?.terminationReason ?? "";
  const word = !joined && words.has(sip) ? sip : endReason;
  return resultOf(words, { word, answeredAt: joined, endedAt: ended });
}

const record: RecordType<UltravoxCall> = {
  schema: callSchema,
  ownIn({ metadata }) {
    return metadata;
  },
  resultOf: resultOfCall,
};
