import { toCampaignHeader } from "./campaign-header.ts";
import { checkOptions, placeChecks } from "./check-options.ts";
import { OutboundCallsError, replaceFields } from "./errors.ts";
import type { KeyTracker } from "./key-memory.ts";
import { type Answer, sendUntilAnswered } from "./retry.ts";
import { partKeyOf, partLimits, splitCalls } from "./split-calls.ts";
import type { Call, CallOptions, ClientDeps, PlacedRequest, RequestError } from "./types.ts";

/** Settings of placing. The same key with other options is refused by the service. */
export interface PlaceOptions extends CallOptions {
  /**
   * Names the request, for 24 hours: a repeat under the same key with the same calls and options calls nobody twice. 1 to
   * 240 printable ASCII characters without a comma. Default: a random key. Set it to an id of your own, such as that of the
   * appointment, if your process may end between the first try and the answer.
   */
  idempotencyKey?: string;
  /** No call is dialed before this time: a Date, or a text of RFC 3339. */
  notBefore?: Date | string;
  /** True places the calls ahead of your client's others that wait. */
  urgent?: boolean;
  /** Your name for requests that belong together: 1 to 64 characters, without spaces at its ends. */
  campaign?: string;
}

/** All accepted parts of a list of calls. */
export interface PlacedCalls {
  /** The requests that the list was sent as, in order. */
  requests: PlacedRequest[];
  callIds: string[];
  /** True if every part had been accepted before. */
  replayed: boolean;
  /** The key of the whole, under which to repeat it. */
  idempotencyKey: string;
}

/** Places one call. @throws {OutboundCallsError} */
export async function placeCall(
  call: Call,
  options: PlaceOptions,
  deps: ClientDeps,
): Promise<PlacedRequest> {
  const { keys } = deps;
  const [idempotencyKey, isFresh] = readKey("placeCall", options);
  if (typeof call !== "object" || call === null || Array.isArray(call)) {
    throw new TypeError("call of placeCall must be an object.");
  }
  const tracker = keys.track([idempotencyKey], isFresh);
  const part = { text: JSON.stringify(call), count: 1, idempotencyKey, isBatch: false, tracker };
  try {
    return await placePart(part, options, deps);
  } catch (error) {
    throw toWhole(error, { idempotencyKey });
  }
}

/**
 * Places calls, as one request or as several, one after another. Each part has a key of its own, made of the key of the
 * whole and the part's number, so that a repeated whole repeats the same parts.
 *
 * @throws {OutboundCallsError} at the first part that fails. Its `accepted` are the parts before it, its `errors` point
 * into the whole list, and the key repeats the whole: accepted parts are then answered again and call nobody.
 */
export async function placeCalls(
  calls: readonly Call[],
  options: PlaceOptions,
  deps: ClientDeps,
): Promise<PlacedCalls> {
  const { keys } = deps;
  const [idempotencyKey, isFresh] = readKey("placeCalls", options);
  if (!Array.isArray(calls)) throw new TypeError("calls of placeCalls must be an array.");
  const parts = splitCalls(calls, partLimits); // before the first wait: what is passed may be changed after it
  const { msMax, ...others } = options;
  const end = Date.now() + (msMax ?? 0);
  const requests: PlacedRequest[] = [];
  for (const [index, { text, count, from }] of parts.entries()) {
    const partKey = partKeyOf(idempotencyKey, index);
    // The tries of a part are those of the whole, too: accepted parts count, as a new key would call their people twice.
    const tracker = keys.track([idempotencyKey, partKey], isFresh);
    const part = { text, count, idempotencyKey: partKey, isBatch: true, tracker };
    try {
      const left = msMax === undefined ? {} : { msMax: Math.max(0, end - Date.now()) };
      requests.push(await placePart(part, { ...others, ...left }, deps));
    } catch (error) {
      throw toWhole(error, { idempotencyKey, accepted: requests, from });
    }
  }
  return {
    requests,
    callIds: requests.flatMap(({ callIds }) => callIds),
    replayed: requests.every(({ replayed }) => replayed),
    idempotencyKey,
  };
}

interface Part {
  text: string;
  count: number;
  idempotencyKey: string;
  isBatch: boolean;
  tracker: KeyTracker;
}

async function placePart(
  { text, count, idempotencyKey, isBatch, tracker }: Part,
  { signal, msMax, ...options }: PlaceOptions,
  { api, ...deps }: ClientDeps,
): Promise<PlacedRequest> {
  const header = { "Idempotency-Key": idempotencyKey, ...toHeaders(options) };
  // The body is made once: the key holds for the same bytes alone.
  const fixed = { params: { header }, bodySerializer: () => text };
  const answer = await sendUntilAnswered<unknown>(
    (init) =>
      isBatch
        ? api.POST("/v1/calls/batch", { ...fixed, ...init, body: [] })
        : api.POST("/v1/calls", { ...fixed, ...init, body: { phone_number: "", agent_id: "" } }),
    { statuses: [201], tracker, signal, msMax },
    deps,
  );
  return { ...readAccepted(answer, count), idempotencyKey };
}

function toHeaders({ notBefore, urgent, campaign }: PlaceOptions) {
  const time = notBefore instanceof Date ? notBefore.toISOString() : notBefore;
  return {
    ...(time === undefined ? {} : { "Call-Not-Before": time }),
    ...(urgent === true ? { "Call-Priority": "urgent" as const } : {}),
    ...(campaign === undefined ? {} : { "Call-Campaign": toCampaignHeader(campaign) }),
  };
}

function readAccepted({ response }: Answer<unknown>, count: number) {
  const requestId = response.headers.get("x-request-id") ?? "";
  if (!/^[0-9A-Z]{26}$/.test(requestId)) {
    const detail = "The answer is a 201 without an X-Request-Id of the service.";
    throw new OutboundCallsError({
      type: "unexpected",
      status: 201,
      detail,
      isMaybeAccepted: true,
    });
  }
  const toCallId = (_: unknown, index: number) =>
    `call_${requestId}_${String(index).padStart(5, "0")}`;
  return {
    requestId,
    callIds: Array.from({ length: count }, toCallId),
    replayed: response.headers.get("idempotency-replayed") === "true",
  };
}

/**
 * Checks the options and returns the key, or a random one of 128 bits, and whether it is random.
 *
 * @throws {TypeError | RangeError} if an option is wrong, by its name
 */
function readKey(method: string, options: PlaceOptions): [key: string, isFresh: boolean] {
  checkOptions(method, options, placeChecks);
  const { idempotencyKey } = options;
  return idempotencyKey === undefined ? [randomKey(), true] : [idempotencyKey, false];
}

function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

interface Whole {
  idempotencyKey: string;
  accepted?: readonly PlacedRequest[];
  /** Index of the part's first call in the whole. */
  from?: number;
}

/** Turns the error of a part into that of the whole. */
function toWhole(error: unknown, { idempotencyKey, accepted = [], from = 0 }: Whole): unknown {
  if (!(error instanceof OutboundCallsError)) return error;
  const errors = error.errors.map((one) => shift(one, from));
  return replaceFields(error, { errors, idempotencyKey, accepted });
}

function shift(error: RequestError, from: number): RequestError {
  const [, index, rest = ""] = /^\/(\d+)(.*)$/s.exec(error.pointer ?? "") ?? [];
  return index === undefined || from === 0
    ? error
    : { ...error, pointer: `/${Number(index) + from}${rest}` };
}
