import * as z from "../lib/zod.ts";
import type { Send } from "../lib/http-client.ts";
import { hourMs } from "../lib/units.ts";
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

/** A call as Exotel reads and lists it. Times have no zone, and the reference names none. */
const callSchema = () =>
  z.object({
    Sid: idText,
    ParentCallSid: optionalText(),
    /** The number that was called first: the callee. */
    From: optionalText(),
    /** The ExoPhone. */
    PhoneNumberSid: optionalText(),
    Direction: optionalText(),
    Status: optionalText(),
    DateCreated: optionalText(),
    /** Seconds, which come up to five minutes after the end. */
    Duration: z.catch(z.nullish(z.union([z.string(), z.number()])), null),
  });
type ExotelCall = z.infer<ReturnType<typeof callSchema>>;

const recordSchema = () => z.object({ Call: callSchema() });
const nextSchema = () => z.object({ NextPageUri: z.nullish(z.string()) });
/** A page of the list. Where its cursor stands is not in the reference's text. */
const pageSchema = () =>
  z.object({
    Metadata: z.nullish(nextSchema()),
    NextPageUri: z.nullish(z.string()),
    Calls: z.array(callSchema()),
  });

/** Maximum calls of a page. */
const pageCalls = 100;
/** Maximum pages of each period that a look-up reads. */
const pagesMax = 10;

/** Hours by which times can be ahead of UTC: those of India and Singapore, where Exotel's servers are, and UTC's own. */
const zoneHours = [5.5, 8, 0];

/** Returns a time in the form of the reference. */
function timeText(time: number): string {
  return new Date(time).toISOString().slice(0, 19).replace("T", " ");
}

/** Reads a page of the list. `next` is the cursor of the next one. */
function readPage(answer: unknown): { rows: ExotelCall[]; next?: string | undefined } {
  const { Metadata, NextPageUri, Calls } = z.built(pageSchema).parse(answer);
  const [, query = ""] = (Metadata?.NextPageUri ?? NextPageUri ?? "").split("?");
  return { rows: Calls, next: new URLSearchParams(query).get("After") ?? undefined };
}

/** Returns the end of a page's address. */
function pathOf(created: string, more: Record<string, string>, after: string | undefined): string {
  const filters = { DateCreated: created, Direction: ours, ...more };
  const cursor = after === undefined ? {} : { After: after };
  return `.json?${new URLSearchParams({ ...filters, ...cursor }).toString()}`;
}

/** Direction of a call that was placed by the API. */
const ours = "outbound-api";

/** A call that is looked for. Times are in milliseconds since the epoch. */
interface Sought {
  number: string;
  ownNumber: string;
  from: number;
  until: number;
}

/** Lists the calls to a number in a period that have ended, in each zone that their times may have. */
export async function findCall(
  { number, ownNumber, from, until }: Sought,
  { url, headers }: { url: string; headers: Record<string, string> },
  send: Send,
): Promise<FoundCall | undefined> {
  const found = new Set<string>();
  for (const hours of zoneHours) {
    const start = timeText(from - 1000 + hours * hourMs);
    const end = timeText(until + 1000 + hours * hourMs);
    // The filter `From` would put the callee's number into the address.
    const created = `gte:${start};lte:${end}`;
    const paging = { PageSize: String(pageCalls), SortBy: "DateCreated:asc" };
    let after: string | undefined;
    for (let pages = 0; pages === 0 || after !== undefined; pages++) {
      if (pages === pagesMax) throw new Error("the list of calls is too long");
      const page = readPage(await ask(send, url + pathOf(created, paging, after), { headers }));
      for (const call of page.rows) {
        if (!isSameNumber(call.From, number) || !isOwn(call, ownNumber)) continue;
        // A row of which nothing tells the time or the direction may be anybody's.
        if (!call.DateCreated || !call.Direction) return undefined;
        const isThen = call.DateCreated >= start && call.DateCreated <= end;
        if (isThen && call.Direction === ours) found.add(call.Sid);
      }
      after = page.next;
      // A full page without a cursor may have been cut.
      if (after === undefined && page.rows.length >= pageCalls) return undefined;
    }
  }
  return { by: "number", providerCallIds: [...found] };
}

/** True unless a call is another's leg, or from another ExoPhone. */
function isOwn({ ParentCallSid, PhoneNumberSid }: ExotelCall, ownNumber: string): boolean {
  return !ParentCallSid && (!PhoneNumberSid || isSameNumber(PhoneNumberSid, ownNumber));
}

/** Compares numbers, of which either may be without its country code, and with the zero of long-distance calls. */
function isSameNumber(listed: string | null | undefined, number: string): boolean {
  const one = nationalDigits(listed ?? "");
  const other = nationalDigits(number);
  return Math.min(one.length, other.length) >= 7 && (other.endsWith(one) || one.endsWith(other));
}

function nationalDigits(number: string): string {
  return number.replaceAll(/\D/g, "").replace(/^0+/, "");
}

/** Values of `Status` (https://developer.exotel.com/docs/references/error-codes). */
const words = /* @__PURE__ */ createWords(
  ["live", "queued ringing in-progress"],
  ["completed", "completed"],
  ["busy", "busy"],
  ["no_answer", "no-answer"],
  ["failed", "failed canceled"],
);

/** `in-progress` is told while the phone rings, too. Times are left out, as their zone is not known. */
function resultOfCall({ Status, Duration }: ExotelCall): ReadResult {
  return resultOf(words, { word: Status, seconds: Duration });
}

export const list: ListType<ExotelCall> = {
  rowsMax: pageCalls,
  ask(from, limit, next) {
    // All zones are ahead of UTC or in it, so no call since then is missed. The newest come first.
    return { path: pathOf(`gte:${timeText(from)}`, { PageSize: String(limit) }, next) };
  },
  read: readPage,
  idOf: ({ Sid }) => Sid,
  resultOf: resultOfCall,
};

export const record: RecordType<z.infer<ReturnType<typeof recordSchema>>> = {
  schema: recordSchema,
  resultOf: ({ Call }) => resultOfCall(Call),
};
