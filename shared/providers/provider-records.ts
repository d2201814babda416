import { wishField } from "../calls/tries.ts";
import type { ResultStatus } from "../calls/call-result.ts";
import * as z from "../lib/zod.ts";
import type { PlacedCall, ReadResult } from "./provider.ts";
import { AnswerTooLong, ask, createTable } from "./provider-http.ts";
import type { Send } from "../lib/http-client.ts";

/**
 * Fields of a record that a result needs and a look-up does not. A value of another type counts as absent, so that a
 * look-up still finds the call and the list is still read.
 */
export const optionalText = () => z.catch(z.nullish(z.string()), null);
export const optionalNumber = () => z.catch(z.nullish(z.number()), null);
export const optionalAmount = () => z.catch(z.nullish(z.union([z.string(), z.number()])), null);

/** A provider's words for a call's result, mapped to our statuses. */
export type Words = ReadonlyMap<string, ResultStatus>;

/**
 * Makes a provider's table. Each row is a status and the provider's words for it, separated by spaces. `unknown` has
 * the words that do not say if the call was answered; then the record's answer or length decides. `failed` may have
 * only words that the provider lists as never answered.
 */
export function createWords(...rows: [ResultStatus, string][]): Words {
  return createTable(...rows);
}

/** Makes a provider's table of its words for a person and for a machine that answered, separated by spaces. */
export function createAnswerers(people: string, machines: string): ReadonlyMap<string, boolean> {
  return createTable([true, people], [false, machines]);
}

/** A time in milliseconds since the epoch, or in the form of ISO 8601 or RFC 2822. */
type Time = number | string | null | undefined;

/** The facts of a provider's record. */
interface Facts {
  word?: string | null | undefined;
  /** True if a person answered, false if a machine did; absent unless the provider says. */
  human?: boolean | null | undefined;
  /** True if the record proves that the call was answered, whatever its word is for the end. */
  isAnswered?: boolean;
  answeredAt?: Time;
  endedAt?: Time;
  /** Price of the call, of either sign, and its currency. */
  cost?: { amount: number | string | null | undefined; currency: string | null | undefined };
  /** True if the times of an unanswered call show that its phone rang out, and its word leaves open why it ended. */
  hasRungOut?: boolean;
  /** Length of the conversation. Default: from the answer to the end. */
  seconds?: number | string | null | undefined;
}

/**
 * Returns the result that a record shows. A word that the table lacks is not repeated, as it may be any text. Such a
 * call was completed if its record shows an answer or a length, and is unknown otherwise. So was a call whose record
 * proves an answer, though the table has its word for calls that nobody answered: a line may also break in a
 * conversation. A call that nobody answered has only the time of its end.
 */
export function resultOf(words: Words, facts: Facts): ReadResult {
  const { word, human = null } = facts;
  const listed = words.get(word ?? "");
  const answeredAt = timeOf(facts.answeredAt);
  const endedAt = timeOf(facts.endedAt);
  const lasted = answeredAt === null || endedAt === null ? null : (endedAt - answeredAt) / 1000;
  const seconds = secondsOf(facts.seconds) ?? secondsOf(lasted);
  if (listed === "live") {
    const answered = facts.isAnswered === true ? { answered: true } : {};
    return { ...nothing, status: "live", answeredAt, ...answered };
  }
  const shown = facts.isAnswered === true || answeredAt !== null || (seconds ?? 0) > 0;
  const isOutweighed = facts.isAnswered === true && listed !== "voicemail";
  const meant = isOutweighed ? "unknown" : (listed ?? "unknown");
  const open = shown ? "completed" : facts.hasRungOut === true ? "no_answer" : "unknown";
  const report = meant === "unknown" ? open : meant;
  const status = report === "completed" && human === false ? "voicemail" : report;
  const isAnswered = status === "completed" || status === "voicemail";
  return {
    status,
    human: isAnswered ? (status === "voicemail" ? false : human) : null,
    word: listed === undefined ? null : (word ?? null),
    answeredAt: isAnswered ? answeredAt : null,
    endedAt,
    seconds: isAnswered ? seconds : null,
    ...costOf(facts.cost),
    ...(listed === undefined && word ? { unmapped: true } : {}),
  };
}

/**
 * Shortest time from dialing to the end, in milliseconds, after which a phone that nobody answered counts as rung out
 * where the word does not distinguish it from a number that was refused. Refusals come within seconds, announcements last some
 * ten.
 */
export const ringOutMsMin = 20_000;

const nothing = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };

/** 2020 to 2100. A number outside of this range is no time of a call in milliseconds. */
const timeMin = /* @__PURE__ */ Date.UTC(2020);
const timeMax = /* @__PURE__ */ Date.UTC(2100);
/** A week. No call is as long. */
const secondsMax = 604_800;

function timeOf(value: Time): number | null {
  const time = Math.round(typeof value === "string" ? Date.parse(value) : (value ?? Number.NaN));
  return time >= timeMin && time <= timeMax ? time : null;
}

function secondsOf(value: Facts["seconds"]): number | null {
  if (value === null || value === undefined || value === "") return null;
  const seconds = Math.round(Number(value));
  return seconds >= 0 && seconds <= secondsMax ? seconds : null;
}

/** Maximum of a call's price, in units of its currency. A higher one is a mistake. */
const costMax = 10_000_000;

/** Returns a record's price without its sign; nothing if the record has none. */
function costOf(cost: Facts["cost"]): Pick<ReadResult, "cost"> {
  const { amount, currency } = cost ?? {};
  if (amount === null || amount === undefined || amount === "") return {};
  const price = Math.abs(Number(amount));
  if (!(price <= costMax) || !/^[A-Z]{3}$/.test(currency ?? "")) return {};
  const decimal = price.toFixed(6).replace(/\.?0+$/, "");
  return { cost: { amount: decimal, currency: currency ?? "" } };
}

/** Describes how to read a provider's record of a call. */
export interface RecordType<Row> {
  schema: () => z.ZodMiniType<Row>;
  /** Returns `call_id` and `attempt` as far as the record repeats them. */
  ownIn?(row: Row): Record<string, unknown> | null | undefined;
  resultOf(row: Row): ReadResult;
  /** Returns what the provider has found out about an ended call, as far as it has: any of them may have a wish. */
  analysesOf?(row: Row): readonly unknown[];
}

/** Returns a field of an analysis. Undefined: there is none. */
export function fieldIn(analysis: unknown, name: string): unknown {
  return Reflect.get(Object(analysis), name);
}

/** Adds what the analyses of an ended call say of a wish. Empty texts and null say that there is none. */
export function withAnalysis(
  result: ReadResult,
  analyses: readonly unknown[],
  requests?: number,
): ReadResult {
  if (result.status === "live") return result;
  const made = analyses.filter((one) => one !== undefined && one !== null);
  const wished: unknown = made
    .map((one) => fieldIn(one, wishField))
    .find((one) => one !== undefined && one !== null && one !== "");
  return { ...result, analysis: { wished, isAnalyzed: made.length > 0, requests } };
}

/** The URL of a provider's API, and the headers of every request to it. */
interface Api {
  url: string;
  headers: Record<string, string>;
}

/**
 * Reads the record of one call.
 *
 * @returns undefined if there is none, or if it belongs to another call or attempt
 * @throws if the provider could not be asked
 */
export async function readRecord<Row>(
  placed: PlacedCall,
  { url, headers, record }: Api & { record: RecordType<Row> },
  send: Send,
): Promise<ReadResult | undefined> {
  const { schema, ownIn, resultOf: report, analysesOf } = record;
  const answer = await ask(send, url, { headers, isById: true });
  if (answer === undefined) return undefined;
  const row = z.built(schema).parse(answer);
  if (isOfAnother(ownIn?.(row), placed)) return undefined;
  const result = report(row);
  return placed.mayWish && analysesOf ? withAnalysis(result, analysesOf(row)) : result;
}

/** True if a record has the id of another call, or another attempt. */
export function isOfAnother(
  metadata: Record<string, unknown> | null | undefined,
  { id, attempt }: PlacedCall,
): boolean {
  const { call_id = id, attempt: carried = String(attempt) } = metadata ?? {};
  return call_id !== id || carried !== String(attempt);
}

/** Makes an adapter's `readResult` for records whose address is a path and the provider's id. */
export function createRecordReader<Route, Row>(
  send: Send,
  apiOf: (route: Route) => Api,
  { path, record }: { path: string; record: RecordType<Row> },
) {
  return (placed: PlacedCall, route: Route): Promise<ReadResult | undefined> => {
    const { url, headers } = apiOf(route);
    const address = url + path + encodeURIComponent(placed.providerCallId);
    return readRecord(placed, { url: address, headers, record }, send);
  };
}

type Next = string | null | undefined;

/** Describes how to read a provider's list of calls. */
export interface ListType<Row> {
  /** Maximum rows of a page. */
  rowsMax: number;
  /** Returns the end of a page's URL, and the filters if they are posted. `next` comes from the page before. */
  ask(from: number, limit: number, next: string | undefined): { path: string; json?: unknown };
  read(answer: unknown, limit: number): { rows: Row[]; next?: Next };
  idOf(row: Row): string;
  /** Returns undefined if the row does not say enough. */
  resultOf(row: Row): ReadResult | undefined;
}

/** Maximum requests for the pages of one list. */
const pagesMax = 5;

/**
 * Makes an adapter's `listResults`. A page that exceeds 4 MiB is requested again with a quarter of its rows. Rows
 * after the fifth page are left out.
 */
export function createListReader<Route, Row>(
  send: Send,
  apiOf: (route: Route) => Api,
  list: ListType<Row>,
) {
  return async (from: number, route: Route): Promise<Map<string, ReadResult>> => {
    const { url, headers } = apiOf(route);
    const results = new Map<string, ReadResult>();
    let limit = list.rowsMax;
    let next: Next;
    for (let requests = 0; requests < pagesMax; requests++) {
      const { path, json } = list.ask(from, limit, next ?? undefined);
      try {
        const page = list.read(await ask(send, url + path, { headers, json }), limit);
        for (const row of page.rows) {
          const result = list.resultOf(row);
          if (result !== undefined) results.set(list.idOf(row), result);
        }
        next = page.next;
        if (!next) break;
      } catch (error) {
        if (!(error instanceof AnswerTooLong) || limit === 1) throw error;
        limit = Math.ceil(limit / 4);
      }
    }
    return results;
  };
}
