import * as z from "../lib/zod.ts";
import type { Send } from "../lib/http-client.ts";
import { dayMs } from "../lib/units.ts";
import { idText } from "./define-provider.ts";
import type { FoundCall, ReadResult } from "./provider.ts";
import { ask } from "./provider-http.ts";
import {
  createWords,
  type ListType,
  optionalText,
  type RecordType,
  resultOf,
} from "./provider-records.ts";

/** One side of a call. A WebSocket has no number. */
const endpointSchema = () => z.object({ number: z.nullish(z.string()) });

/** A side is an object in the reference, and a list of one in its example. */
const sideSchema = () =>
  z.catch(z.nullish(z.union([endpointSchema(), z.array(endpointSchema())])), null);

/** A call in Vonage's records. Only completed calls have times. */
const callSchema = () =>
  z.object({
    uuid: idText,
    to: sideSchema(),
    from: sideSchema(),
    status: optionalText(),
    direction: optionalText(),
    start_time: optionalText(),
    end_time: optionalText(),
    /** Seconds. */
    duration: optionalText(),
  });
type VonageCall = z.infer<ReturnType<typeof callSchema>>;

const linkSchema = () => z.object({ href: z.string() });
const pageSchema = () =>
  z.object({
    count: z.nullish(z.number()),
    record_index: z.nullish(z.number()),
    _links: z.nullish(z.object({ next: z.nullish(linkSchema()) })),
    _embedded: z.object({ calls: z.array(callSchema()) }),
  });

/**
 * Reads a page of the list.
 *
 * @returns its calls, and the index at which the next page begins: that of the page's link, or the next index if
 * `count` says that there are more calls
 */
function readPage(answer: unknown): { rows: VonageCall[]; next?: string | undefined } {
  const { count, record_index, _links, _embedded } = z.built(pageSchema).parse(answer);
  const rows = _embedded.calls;
  const index = /[?&]record_index=(\d+)/.exec(_links?.next?.href ?? "")?.[1];
  const following = (record_index ?? 0) + rows.length;
  const hasMore = rows.length > 0 && following < (count ?? 0);
  return { rows, next: index ?? (hasMore ? String(following) : undefined) };
}

/** Maximum calls of a page. */
const pageCalls = 100;
/** Maximum pages that a look-up reads. 18 hold five minutes of three calls a second with two legs each. */
const pagesMax = 18;

/** Returns the query of a page. Times are in milliseconds since the epoch. */
function queryOf(filters: Record<string, number>, limit: number, index = "0"): string {
  const times = Object.entries(filters).map(([name, time]) => [name, wholeSecond(time)]);
  const paging = { page_size: String(limit), record_index: index, order: "asc" };
  return `?${new URLSearchParams({ ...Object.fromEntries(times), ...paging }).toString()}`;
}

/** Formats a time in UTC like the reference's examples. */
function wholeSecond(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}

/** A call that is looked for. Numbers are in Vonage's form, times in milliseconds since the epoch. */
interface Sought {
  number: string;
  ownNumber: string;
  from: number;
  until: number;
}

/** Lists the calls to a number in a period. Undefined if one of them may be another's call. */
export async function findCall(
  { number, ownNumber, from, until }: Sought,
  { url, headers }: { url: string; headers: Record<string, string> },
  send: Send,
): Promise<FoundCall | undefined> {
  const filters = { date_start: from - 1000, date_end: until + 1000 };
  const found = new Set<string>();
  let index: string | undefined = "0";
  for (let pages = 0; index !== undefined; pages++) {
    if (pages === pagesMax) throw new Error("the list of calls is too long");
    // There is no filter by number in the reference, and it would put the callee's number into the URL.
    const answer = await ask(send, url + queryOf(filters, pageCalls, index), { headers });
    const page = readPage(answer);
    for (const call of page.rows) {
      const startedAt = Date.parse(zoned(call.start_time) ?? "");
      // A call of an earlier day shows that the filters were not applied, so a call without a time may be of any day.
      if (startedAt < from - dayMs) return undefined;
      const caller = numberOf(call.from) ?? ownNumber;
      if (numberOf(call.to) !== number || caller !== ownNumber) continue;
      if (!call.direction) return undefined;
      if (call.direction === "outbound" && !(startedAt < from - 1000)) found.add(call.uuid);
    }
    index = page.next;
  }
  return { by: "number", providerCallIds: [...found] };
}

function numberOf(side: VonageCall["to"]): string | null | undefined {
  return (Array.isArray(side) ? side[0] : side)?.number;
}

/** Adds UTC to a time without a zone, as events have UTC. */
function zoned(time: string | null | undefined): string | null | undefined {
  return time?.replace(/^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/, "$1T$2Z");
}

/**
 * Values of `status` (https://developer.vonage.com/en/voice/voice-api/webhook-reference). `unanswered` stands for a callee
 * who declined and for one who could not be reached; a phone that rang out is `timeout`. `rejected` is by Vonage before the
 * connection in its SDKs, and by the destination in its list of call statuses. Calls of every other end become
 * `completed` later, so that only a length shows that one was answered.
 */
const words = /* @__PURE__ */ createWords(
  ["live", "started ringing answered machine human"],
  ["busy", "busy"],
  ["no_answer", "timeout"],
  ["failed", "failed cancelled"],
  ["unknown", "completed unanswered rejected"],
);
const answeredTexts = new Set(["answered", "machine", "human"]);

/**
 * The reference does not say what starts at `start_time`, so the time of the answer follows from the end and the
 * length.
 */
function resultOfCall({ status, end_time, duration }: VonageCall): ReadResult {
  const endedAt = zoned(end_time);
  const seconds = Number(duration ?? "");
  const answeredAt = endedAt && seconds > 0 ? Date.parse(endedAt) - seconds * 1000 : null;
  const isAnswered = answeredTexts.has(status ?? "");
  return resultOf(words, { word: status, isAnswered, answeredAt, endedAt, seconds: duration });
}

export const list: ListType<VonageCall> = {
  rowsMax: pageCalls,
  ask: (from, limit, next) => ({ path: queryOf({ date_start: from }, limit, next) }),
  read: readPage,
  idOf: ({ uuid }) => uuid,
  resultOf: resultOfCall,
};

export const record: RecordType<VonageCall> = { schema: callSchema, resultOf: resultOfCall };
