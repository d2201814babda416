import * as z from "../lib/zod.ts";
import type { Send } from "../lib/http-client.ts";
import { idText } from "./define-provider.ts";
import type { FoundCall, PlacedCall, ReadResult } from "./provider.ts";
import { ask } from "./provider-http.ts";
import {
  createWords,
  type ListType,
  optionalNumber,
  optionalText,
  resultOf,
} from "./provider-records.ts";

/** The URL of an account's calls, and the headers of every request to it. */
interface Api {
  url: string;
  headers: Record<string, string>;
}

/** A call that is looked for. Numbers have no `+`, times are in milliseconds since the epoch. */
interface Sought {
  number: string;
  ownNumber: string;
  from: number;
  until: number;
}

/** A call that has ended. The list has no others. */
const callSchema = () =>
  z.object({
    call_uuid: idText,
    call_direction: optionalText(),
    from_number: optionalText(),
    to_number: optionalText(),
    /** Call of which this one is a second leg. */
    parent_call_uuid: optionalText(),
    initiation_time: optionalText(),
    answer_time: optionalText(),
    end_time: optionalText(),
    /** Seconds for which the call was answered. */
    bill_duration: optionalNumber(),
    hangup_cause_code: optionalNumber(),
  });
type PlivoCall = z.infer<ReturnType<typeof callSchema>>;

const pageSchema = () =>
  z.object({
    meta: z.object({ next: z.nullish(z.string()), offset: z.nullish(z.number()) }),
    objects: z.array(callSchema()),
  });

/** Maximum calls of a page. */
const pageCalls = 20;
/** Maximum pages that a look-up reads. */
const pagesMax = 25;
/** Maximum calls in progress that a look-up reads, one by one. */
const liveMax = 50;

/** Returns the query of a page of calls that ended at or after a time. */
function queryOf(endedFrom: number, filters: Record<string, string>): string {
  const end_time__gte = new Date(endedFrom).toISOString().slice(0, 19).replace("T", " ");
  return `?${new URLSearchParams({ ...filters, end_time__gte }).toString()}`;
}

/** Reads a page of the list. `next` is the offset of the next one. */
function readPage(answer: unknown): { rows: PlivoCall[]; next?: string | undefined } {
  const { meta, objects } = z.built(pageSchema).parse(answer);
  return { rows: objects, next: /[?&]offset=(\d+)/.exec(meta.next ?? "")?.[1] };
}

/**
 * Lists the calls to a number in a period: first those in progress, then those that have ended, so that a call which
 * ends meanwhile is in the second list. Undefined if the time of a call is not certain.
 */
export async function findCall(
  sought: Sought,
  api: Api,
  send: Send,
): Promise<FoundCall | undefined> {
  const live = await findLive(sought, api, send);
  const ended = await findEnded(sought, api, send);
  if (ended === undefined) return undefined;
  return { by: "number", providerCallIds: [...new Set([...live, ...ended])] };
}

const liveListSchema = () => z.object({ calls: z.array(idText) });
const liveSchema = () =>
  z.object({
    direction: optionalText(),
    from: optionalText(),
    to: optionalText(),
    /** Id with which the request was answered. It is the call's id, too (github.com/plivo/plivo-python/issues/44). */
    request_uuid: optionalText(),
    session_start: optionalText(),
  });

/** Returns the ids of the calls in progress to a number that began in a period. */
async function findLive(
  { number, ownNumber, from, until }: Sought,
  { url, headers }: Api,
  send: Send,
): Promise<string[]> {
  // A filter by the callee's number would put it into the address.
  const filters = { status: "live", call_direction: "outbound", from_number: ownNumber };
  const query = new URLSearchParams(filters).toString();
  const { calls } = z.built(liveListSchema).parse(await ask(send, `${url}?${query}`, { headers }));
  const ids = new Set(calls);
  if (ids.size > liveMax) throw new Error("there are too many calls in progress");
  const found: string[] = [];
  for (const id of ids) {
    const answer = await askLive(id, { url, headers }, send);
    const { to, request_uuid, session_start } = answer ?? {};
    // A second leg has no request id. A time without a zone is taken for UTC; if that is wrong, the call is found
    // later, in the other list.
    const startedAt = Date.parse(zoned(session_start, "Z") ?? "");
    const isOfThen = startedAt >= from - 1000 && startedAt <= until;
    if (digitsIn(to) === number && request_uuid && isOfThen) found.push(request_uuid);
  }
  return found;
}

/** Reads a call in progress. Undefined if it has ended or does not exist. */
async function askLive(id: string, { url, headers }: Api, send: Send) {
  const address = `${url}${encodeURIComponent(id)}/?status=live`;
  return z.built(liveSchema).safeParse(await ask(send, address, { headers, isById: true })).data;
}

/** Returns the ids of the calls to a number that began in a period and have ended. */
async function findEnded(
  { number, ownNumber, from, until }: Sought,
  { url, headers }: Api,
  send: Send,
): Promise<string[] | undefined> {
  const filters = { call_direction: "outbound", from_number: ownNumber, limit: String(pageCalls) };
  const found: string[] = [];
  let offset: string | undefined = "0";
  for (let pages = 0; offset !== undefined; pages++) {
    if (pages === pagesMax) throw new Error("the list of calls is too long");
    const query = queryOf(from - 1000, { ...filters, offset });
    const page = readPage(await ask(send, url + query, { headers }));
    for (const { call_uuid, to_number, parent_call_uuid, initiation_time } of page.rows) {
      if (digitsIn(to_number) !== number || parent_call_uuid) continue;
      const startedAt = Date.parse(zoned(initiation_time) ?? "");
      if (Number.isNaN(startedAt)) return undefined;
      if (startedAt >= from - 1000 && startedAt <= until) found.push(call_uuid);
    }
    offset = page.next;
  }
  return found;
}

function digitsIn(number: string | null | undefined): string | undefined {
  return number?.replace(/^\+/, "");
}

/**
 * Converts a time such as `2022-06-28 19:39:05+05:30` to ISO 8601. Undefined if it has no zone.
 *
 * @param zone zone of a time without one
 */
function zoned(time: string | null | undefined, zone = ""): string | undefined {
  const [, day, clock, offset] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d:?\d\d)?$/.exec(time ?? "") ?? [];
  return day === undefined || !(offset ?? zone) ? undefined : `${day}T${clock}${offset ?? zone}`;
}

/**
 * Values of `hangup_cause_code` (https://docs.plivo.com/docs/voice/troubleshooting/hangup-causes). Those of `unknown`
 * can come at any time of a call.
 */
const words = /* @__PURE__ */ createWords(
  ["live", "live"],
  ["busy", "3010 3100"],
  ["declined", "3020 3110"],
  ["no_answer", "3000 6010"],
  ["invalid", "2000 3050 3120"],
  ["blocked", "3040 3130 3140"],
  ["failed", "1000 1020 2010 2020 2030 2040 2050 2060 3030 3070 3080 3090 5020 5030"],
  ["completed", "9100"],
  [
    "unknown",
    "0 1010 2070 4000 4010 4020 4030 5000 5010 6000 6020 7011 7012 7013 7014 7022 7023 7024 7032 7033 7034 " +
      "8011 8012 8013 8014 9000 9110",
  ],
);

/** `Machine Detected`, of calls with `machine_detection: hangup`. */
const machineDetected = "9100";

/** The times of the reference's examples have a zone. Times without one are left out. */
function resultOfCall(call: PlivoCall): ReadResult {
  const { answer_time, end_time, bill_duration, hangup_cause_code } = call;
  const word = hangup_cause_code == null ? null : String(hangup_cause_code);
  return resultOf(words, {
    word,
    human: word === machineDetected ? false : null,
    isAnswered: Boolean(answer_time),
    answeredAt: zoned(answer_time),
    endedAt: zoned(end_time),
    seconds: bill_duration,
  });
}

/** Reads the record of a call that is in progress or has ended. */
export async function readCall(
  { providerCallId }: PlacedCall,
  api: Api,
  send: Send,
): Promise<ReadResult | undefined> {
  const { url, headers } = api;
  const address = `${url}${encodeURIComponent(providerCallId)}/`;
  const answer = await ask(send, address, { headers, isById: true });
  if (answer !== undefined) return resultOfCall(z.built(callSchema).parse(answer));
  const live = await askLive(providerCallId, api, send);
  return live?.to ? resultOf(words, { word: "live" }) : undefined;
}

export const list: ListType<PlivoCall> = {
  rowsMax: pageCalls,
  ask(from, limit, offset = "0") {
    const filters = { call_direction: "outbound", limit: String(limit), offset };
    return { path: queryOf(from, filters) };
  },
  read: readPage,
  idOf: ({ call_uuid }) => call_uuid,
  resultOf: resultOfCall,
};
