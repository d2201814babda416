import type { ClientMe, Forecast, ForecastItem } from "#shared/answers/answers.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { findMeaning } from "#shared/rules/texts.ts";
import * as z from "#shared/lib/zod.ts";
import type { Client } from "../cli/calls/client.ts";
import { Failure, Refusal } from "../cli/calls/failures.ts";
import { type Json, jsonSchema } from "../generate/json-schema.ts";
import { answerOf } from "./answers.ts";
import { type Confirmations, confirmMsMax, type Offer, type Sent } from "./confirmations.ts";
import { callWith, inputOf, outputOf } from "./schemas.ts";
import { sendCall, type SendingDeps } from "./send-call.ts";
import type { Tool } from "./tool.ts";

/** Outcomes of a forecast after which the call would never be dialed. */
const hopeless: ReadonlySet<string> = new Set(["refused", "rejected", "expire"]);

const outputSchema = z.strictObject({
  placed: z.boolean().check(z.describe("True if the service has accepted the call")),
  say: z.string().check(z.describe("What happened, or would happen, in sentences")),
  forecast: z.optional(
    z.strictObject({
      outcome: z.string(),
      at: z.optional(z.string()).check(z.describe("When it would be dialed")),
      reason: z.optional(z.string()).check(z.describe("Why it waits, or is never dialed")),
      errors: z.optional(z.array(z.strictObject({ pointer: z.string(), detail: z.string() }))),
    }),
  ),
  confirmation: z
    .optional(z.string())
    .check(z.describe("Places exactly this call when it is sent with it; absent if nothing can")),
  confirm_until: z.optional(z.string()),
  call_id: z.optional(z.string()),
  request_id: z.optional(z.string()),
  placed_before: z
    .optional(z.boolean())
    .check(
      z.describe(
        "True if this very call was or may have been placed before: the confirmation places another",
      ),
    ),
});
type Output = z.infer<typeof outputSchema>;

export interface PlaceCallDeps extends SendingDeps {
  /** Asks clients' routes. */
  askAsClient: Client;
  /** Asks operators' routes, for the forecast. */
  askAsOperator: Client;
  confirmations: Confirmations;
}

/** Creates the tool that places one call: first its forecast, then the call, under the forecast's confirmation. */
export function createPlaceCall(deps: PlaceCallDeps): Tool {
  const confirmation = z
    .optional(z.string())
    .check(
      z.describe(
        "Of the forecast of this call. Absent: nothing is placed, the answer is the forecast",
      ),
    );
  return {
    name: "place_call",
    config: {
      title: "Place one call",
      description:
        "Phones a person. Without `confirmation` it places nothing and answers when the call would be dialed, or why not, and a confirmation. Show that to the user; if they agree, send the same fields with the confirmation. If it fails or no answer comes, repeat it with the same confirmation: nobody is called twice. Needs a client's right call, and the operator's role see.",
      inputSchema: inputOf(callWith({ confirmation })),
      outputSchema: outputOf(jsonSchema(outputSchema, "output")),
      annotations: {
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: true,
        openWorldHint: true,
      },
    },
    async run({ confirmation: code, ...call }) {
      const body = bodyOf(call);
      return answerOf(
        typeof code === "string" ? await place(body, code, deps) : await offer(body, deps),
      );
    },
  };
}

/** Returns the body of a call: the same bytes for the same call, whatever the order of its fields. */
function bodyOf(call: Json): string {
  return JSON.stringify(call, (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)),
        )
      : value,
  );
}

/** Forecasts a call, and offers to place it. */
async function offer(body: string, deps: PlaceCallDeps): Promise<Output> {
  const { askAsClient, askAsOperator, confirmations } = deps;
  const { calls_as, mode } = await askAsClient<ClientMe>("/me");
  const asked = {
    client: calls_as,
    calls: [JSON.parse(body)],
    items: "all",
  };
  const { items: [item] = [] } = await askAsOperator<Forecast>("/forecast", asked);
  if (item === undefined) throw new Failure("The service's forecast does not have the call.");
  const { outcome, at, reason, errors } = item;
  const forecast = {
    outcome,
    ...(at !== undefined && { at }),
    ...(reason !== undefined && { reason }),
    ...(errors !== undefined && { errors }),
  };
  const nobody = mode === "test" ? " It is a test: nobody is phoned." : "";
  const told = `Nothing is placed yet. ${forecastText(item)}${nobody}`;
  if (hopeless.has(outcome)) return { placed: false, say: told, forecast };
  const { offer: made, before } = confirmations.offer(body);
  const warning = before === undefined ? "" : ` ${warningOf(before)}`;
  const lost = made.isSent ? ` ${lostText}` : "";
  return {
    placed: false,
    say: `${told}${warning}${lost} To place it, send the same fields with this confirmation.`,
    forecast,
    confirmation: made.code,
    ...(!made.isSent && { confirm_until: new Date(made.at + confirmMsMax).toISOString() }),
    ...(before !== undefined && { placed_before: true }),
  };
}

function warningOf({ sent }: Offer): string {
  const how = sent === undefined ? "MAY HAVE BEEN" : "WAS";
  const which = sent === undefined ? "" : `, as request ${sent.requestId}`;
  return `THE SAME CALL ${how} PLACED BEFORE${which}: the confirmation places one more.`;
}

const lostText =
  "It was already sent under this confirmation, without a certain answer. Send it again with this one: nobody is called twice.";

/** Places a call under its confirmation. Sent again, it is the same call. */
async function place(body: string, code: string, deps: PlaceCallDeps): Promise<Output> {
  const found = deps.confirmations.find(body, code);
  if (found === "unknown") {
    throw new Refusal(
      "Nothing was placed: the confirmation is not of this call. Send the same fields without it for a forecast and a new one.",
    );
  }
  if (found === "ended" || found === "forgotten") return findPlaced(code, found, deps);
  const { requestId, isReplay } = await sendOnce(found, body, deps);
  return {
    placed: true,
    say: isReplay
      ? "The service had accepted this call before under the same confirmation. It is one call."
      : "The service has accepted the call. It is dialed once, or the service reports to an operator why not.",
    ...(requestId !== null && { request_id: requestId, call_id: toCallId(requestId, 0) }),
  };
}

/** Says whether the call of an expired confirmation was sent. @throws a Refusal if nobody knows of such a call */
async function findPlaced(
  code: string,
  why: "ended" | "forgotten",
  { askAsClient }: PlaceCallDeps,
): Promise<Output> {
  const ended =
    "Nothing was placed now: the confirmation has ended, or another one of the same call was used.";
  // A token without the right `read` is refused.
  const answer = await askAsClient<{ requests: { id: string; known: boolean }[] }>(
    `/requests?idempotency_key=${code}`,
  ).catch(() => undefined);
  const [request] = answer?.requests ?? [];
  if (request === undefined) {
    const isSure = answer !== undefined && why === "ended";
    const none = isSure ? "No call was sent by it." : "Look for the call first.";
    throw new Refusal(
      `${ended} ${none} If it was not placed, send the same fields without a confirmation for a new one.`,
    );
  }
  const { id, known } = request;
  const unsure = known ? "" : " It is not known yet, and may never have reached the queue.";
  return {
    placed: known,
    say: `${ended} The call was sent by it before.${unsure}`,
    request_id: id,
    call_id: toCallId(id, 0),
  };
}

/** Sends a call, once for all who confirm it at the same time or after its acceptance. */
async function sendOnce(found: Offer, body: string, deps: PlaceCallDeps): Promise<Sent> {
  if (found.sent !== undefined) return { ...found.sent, isReplay: true };
  if (found.sending !== undefined) return { ...(await found.sending), isReplay: true };
  const isRepeat = found.isSent;
  found.isSent = true;
  found.sending = sendCall({ body, key: found.code, isRepeat }, deps);
  try {
    found.sent = await found.sending;
    return found.sent;
  } catch (error) {
    found.isSent = isRepeat || !(error instanceof Refusal);
    throw error;
  } finally {
    found.sending = undefined;
  }
}

/** Says in sentences what a forecast means. */
function forecastText({ outcome, at, reason = "", errors = [], is_unread }: ForecastItem): string {
  const meaning = findMeaning(reason);
  const why = meaning === undefined ? reason : `${reason}: ${meaning}`;
  const unread = is_unread === true ? " Earlier calls to its number could not be read." : "";
  switch (outcome) {
    case "now":
      return `The call would be dialed within seconds.${unread}`;
    case "wait":
      return `The call would be dialed at ${at}. Until then it waits (${why}).${unread}`;
    case "blocked":
      return `The call would wait, and it is not known until when (${why}).${unread}`;
    case "expire":
      return `The call would never be dialed, as it would expire first (${why}).`;
    case "rejected":
      return `The call would never be dialed (${why}).`;
    case "refused":
      return `The service would refuse the call: ${errors
        .map(({ pointer, detail }) => `${pointer.replace(/^\/0/, "")} ${detail}`)
        .join("; ")}.`;
  }
}
