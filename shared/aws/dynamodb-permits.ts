import { type DynamoItems, type ItemKey, number, text } from "./dynamodb-items.ts";
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

/** One update of the arrival time, by the permits granted as of the known one. */
interface Take extends Omit<PermitRequest, "count"> {
  pace: Pace;
  known: number | undefined;
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
 */
export function createDynamoPermits(deps: PermitDeps): TakePermits {
  const { items, now } = deps;
  /** Arrival times that this process wrote last. They only predict which update will be allowed. */
  const lastWritten = new Map<string, number>();

  async function readArrival(key: ItemKey): Promise<number | undefined> {
    const item = await items.get(key);
    if (Number(item?.["expiresAt"]?.N ?? 0) <= now()) return undefined;
    return Number(item?.[arrivalName]?.N);
  }

  return async (document, pace, request) => {
    const key = keyOf(document);
    let known = lastWritten.get(key.pk);
    // A remembered arrival time is read again before the window is taken for full.
    const isFull =
      known !== undefined && grantPermits(known, pace, request).granted < request.count;
    if (isFull) known = await readArrival(key);
    for (let updates = 0; updates < updatesMax; updates++) {
      const { granted } = grantPermits(known, pace, request);
      if (granted === 0) return { times: [] };
      const taken = await take(key, { ...request, pace, known, granted }, deps);
      if (taken !== undefined) {
        const { arrivalUs, total } = taken;
        lastWritten.set(key.pk, arrivalUs);
        const { notBefore } = request;
        const baseUs = arrivalUs - granted * pace.intervalUs;
        return { times: listPermitTimes(baseUs, pace, { granted, notBefore }), total };
      }
      known = await readArrival(key);
    }
    return { times: [] };
  };
}

/** Returns the document after `granted` permits were taken, or undefined if its arrival time is no longer `known`. */
async function take(
  key: ItemKey,
  { pace, known, granted, notBefore, notAfter }: Take,
  { items, now, freshVersion }: PermitDeps,
): Promise<{ arrivalUs: number; total: number } | undefined> {
  const { intervalUs, burst } = pace;
  const earliestUs = notBefore * 1000;
  const stepUs = granted * intervalUs;
  const expiresAt = paceExpiresAt(notAfter);
  const renewal = "SET #version = :version, #expiresAt = :expiresAt, #ttl = :ttl";
  const values = {
    ":earliest": number(earliestUs),
    ":now": number(now()),
    ":version": text(freshVersion()),
    ":expiresAt": number(expiresAt),
    ":ttl": ttlOf(expiresAt),
    ":granted": number(granted),
  };
  const isBehind = known === undefined || known < earliestUs;
  const item = await (isBehind
    ? items.update(
        key,
        { expression: `${renewal}, #arrival = :after ADD #total :granted`, names },
        {
          expression:
            "attribute_not_exists(#arrival) OR #arrival < :earliest OR #expiresAt <= :now",
          values: { ...values, ":after": number(earliestUs + stepUs) },
        },
      )
    : items.update(
        key,
        { expression: `${renewal} ADD #arrival :step, #total :granted`, names },
        {
          expression: `#arrival BETWEEN :earliest AND :latest AND (${isCurrent})`,
          values: {
            ...values,
            ":step": number(stepUs),
            ":latest": number(notAfter * 1000 + (burst - granted) * intervalUs),
          },
        },
      ));
  if (item === undefined) return undefined;
  return { arrivalUs: Number(item[arrivalName]?.N), total: Number(item[totalName]?.N) };
}
