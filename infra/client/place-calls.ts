import { OutboundCallsError, replaceFields } from "./errors.ts";
import { type Answer, sendUntilAnswered } from "./retry.ts";
import { partLimits, splitCalls } from "./split-calls.ts";
import type { Call, ClientDeps, PlacedRequest, RequestError } from "./types.ts";

/** Settings of placing. The same key with other options is refused by the service. */
export interface PlaceOptions {
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
  /** Your name for requests that belong together: 1 to 64 printable ASCII characters, without spaces at its ends. */
  campaign?: string;
  /** Ends the tries. The error then says whether calls may have been accepted. */
  signal?: AbortSignal;
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
  const idempotencyKey = readKey(options.idempotencyKey);
  const text = JSON.stringify(call);
  try {
    return await placePart({ text, count: 1, idempotencyKey, isBatch: false }, options, deps);
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
  const idempotencyKey = readKey(options.idempotencyKey);
  const parts = splitCalls(calls, partLimits); // before the first wait: what is passed may be changed after it
  const requests: PlacedRequest[] = [];
  for (const [index, { text, count, from }] of parts.entries()) {
    const part = { text, count, idempotencyKey: `${idempotencyKey}.${index}`, isBatch: true };
    try {
      requests.push(await placePart(part, options, deps));
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
}

async function placePart(
  { text, count, idempotencyKey, isBatch }: Part,
  { signal, ...options }: PlaceOptions,
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
    { ...deps, status: 201, signal },
  );
  return { ...readAccepted(answer, count), idempotencyKey };
}

function toHeaders({ notBefore, urgent, campaign }: PlaceOptions) {
  const time = notBefore instanceof Date ? notBefore.toISOString() : notBefore;
  return {
    ...(time === undefined ? {} : { "Call-Not-Before": time }),
    ...(urgent === true ? { "Call-Priority": "urgent" as const } : {}),
    ...(campaign === undefined ? {} : { "Call-Campaign": campaign }),
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

/** Returns the key, or a random one of 128 bits. @throws RangeError if the service would not take it */
function readKey(key = randomKey()): string {
  if (!/^[\x20-\x2b\x2d-\x7e]{1,240}$/.test(key) || key !== key.trim()) {
    const words =
      "1 to 240 printable ASCII characters without a comma, and without spaces at its ends";
    throw new RangeError(`idempotencyKey must be ${words}`);
  }
  return key;
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

/** Turns the error of a part into that of the whole. Accepted parts count: a new key would call their people twice. */
function toWhole(error: unknown, { idempotencyKey, accepted = [], from = 0 }: Whole): unknown {
  if (!(error instanceof OutboundCallsError)) return error;
  const isMaybeAccepted = error.isMaybeAccepted || accepted.length > 0;
  const errors = error.errors.map((one) => shift(one, from));
  return replaceFields(error, { errors, isMaybeAccepted, idempotencyKey, accepted });
}

function shift(error: RequestError, from: number): RequestError {
  const [, index, rest = ""] = /^\/(\d+)(.*)$/s.exec(error.pointer ?? "") ?? [];
  return index === undefined || from === 0
    ? error
    : { ...error, pointer: `/${Number(index) + from}${rest}` };
}
