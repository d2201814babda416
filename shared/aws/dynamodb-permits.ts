import { type DynamoItems, type ItemKey, number, text, textIn } from "./dynamodb-items.ts";
import { isCurrent } from "./dynamodb-writes.ts";
import { grantPermits, listPermitTimes, type Pace, type PermitRequest } from "../telephony/rate.ts";
import type { Documents } from "../ports/documents.ts";
import { keyOf, numberPrefix, ttlOf } from "./dynamodb-document-items.ts";
import { paceExpiresAt } from "../ports/document-kinds.ts";

/** Maximum updates of one take: two overtaken by other writers, and one that counts. */
const updatesMax = 3;
/** Attribute of the theoretical arrival time, in microseconds. */
const arrivalName = `${numberPrefix}arrivalUs`;
/** Attribute of the number of permits taken so far. */
const totalName = `${numberPrefix}total`;
const names = { "#arrival": arrivalName, "#total": totalName };

type TakePermits = Documents["takePermits"];

/** An arrival time as this process knows it. `isCounted`: each taking so far has counted its permits. */
interface Known {
  arrivalUs: number | undefined;
  isCounted: boolean;
}

/** One update of the arrival time, by the permits granted as of the known one. */
interface Take extends Omit<PermitRequest, "count"> {
  pace: Pace;
  known: Known;
  granted: number;
}

interface PermitDeps {
  items: DynamoItems;
  /** Current time in milliseconds since the epoch. */
  now: () => number;
  freshVersion: () => string;
}

/**
 * Takes permits by additions. The arrival time only grows, so takers add to it side by side, each on
 * condition that its permits still fit into its window. If the arrival time lies before the window, or is
 * absent, one taker raises it.
 *
 * Takers of 0.2.0 count nothing, and their updates leave the count of others. So a taking notes its version as the last that
 * is counted. Where another version stands, the count begins anew.
 */
export function createDynamoPermits(deps: PermitDeps): TakePermits {
  const { items, now } = deps;
  /** Arrival times that this process wrote last. They only predict which update will be allowed. */
  const lastWritten = new Map<string, number>();

  async function readKnown(key: ItemKey): Promise<Known> {
    const item = (await items.get(key)) ?? {};
    const isExpired = Number(item["expiresAt"]?.N ?? 0) <= now();
    return {
      arrivalUs: isExpired ? undefined : Number(item[arrivalName]?.N),
      isCounted: textIn(item, "counted") === textIn(item, "version"),
    };
  }

  return async (document, pace, request) => {
    const key = keyOf(document);
    const last = lastWritten.get(key.pk);
    let known: Known = { arrivalUs: last, isCounted: true };
    // A remembered arrival time is read again before the window is taken for full.
    const isFull = last !== undefined && grantPermits(last, pace, request).granted < request.count;
    if (isFull) known = await readKnown(key);
    for (let updates = 0; updates < updatesMax; updates++) {
      const { granted } = grantPermits(known.arrivalUs, pace, request);
      if (granted === 0) return { times: [] };
      const taken = await take(key, { ...request, pace, known, granted }, deps);
      if (taken !== undefined) {
        const { arrivalUs, total } = taken;
        lastWritten.set(key.pk, arrivalUs);
        const { notBefore } = request;
        const baseUs = arrivalUs - granted * pace.intervalUs;
        return { times: listPermitTimes(baseUs, pace, { granted, notBefore }), total };
      }
      known = await readKnown(key);
    }
    return { times: [] };
  };
}

/** Returns the document after `granted` permits were taken, or undefined if it is no longer as `known`. */
async function take(
  key: ItemKey,
  { pace, known: { arrivalUs, isCounted }, granted, notBefore, notAfter }: Take,
  { items, now, freshVersion }: PermitDeps,
): Promise<{ arrivalUs: number; total: number } | undefined> {
  const { intervalUs, burst } = pace;
  const earliestUs = notBefore * 1000;
  const stepUs = granted * intervalUs;
  const expiresAt = paceExpiresAt(notAfter);
  const renewal = "#version = :version, #counted = :version, #expiresAt = :expiresAt, #ttl = :ttl";
  const isBehind = arrivalUs === undefined || arrivalUs < earliestUs;
  const sets = [
    renewal,
    ...(isBehind ? ["#arrival = :arrival"] : []),
    ...(isCounted ? [] : ["#total = :total"]),
  ];
  const adds = [
    ...(isBehind ? [] : ["#arrival :arrival"]),
    ...(isCounted ? ["#total :total"] : []),
  ];
  const window = isBehind
    ? "attribute_not_exists(#arrival) OR #arrival < :earliest OR #expiresAt <= :now"
    : `#arrival BETWEEN :earliest AND :latest AND (${isCurrent})`;
  const counting = isCounted
    ? "attribute_not_exists(#version) OR #counted = #version"
    : "attribute_not_exists(#counted) OR #counted <> #version";
  const item = await items.update(
    key,
    {
      expression: `SET ${sets.join(", ")}${adds.length > 0 ? ` ADD ${adds.join(", ")}` : ""}`,
      names,
    },
    {
      expression: `(${window}) AND (${counting})`,
      values: {
        ":earliest": number(earliestUs),
        ":now": number(now()),
        ":version": text(freshVersion()),
        ":expiresAt": number(expiresAt),
        ":ttl": ttlOf(expiresAt),
        ":arrival": number(isBehind ? earliestUs + stepUs : stepUs),
        ":total": number(isCounted ? granted : earliestUs + granted),
        ...(isBehind
          ? {}
          : { ":latest": number(notAfter * 1000 + (burst - granted) * intervalUs) }),
      },
    },
  );
  if (item === undefined) return undefined;
  return { arrivalUs: Number(item[arrivalName]?.N), total: Number(item[totalName]?.N) };
}
