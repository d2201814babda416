import { type DynamoItems, type ItemKey, number, text } from "../ledger/dynamodb-items.ts";
import { grantPermits, momentsOf, type Pace } from "../schedule/pacing.ts";
import type { Documents } from "./documents.ts";
import { isStanding, keyOf, numberPrefix, ttlOf } from "./dynamodb-document-items.ts";
import { paceExpiresAt } from "./stored-text.ts";

/** Most updates of one take: two that others came before, and the one that counts. */
const updatesMax = 3;
/** The attribute with the theoretical arrival time, in microseconds. */
const arrivalName = `${numberPrefix}arrivalUs`;

type TakePermits = Documents["takePermits"];
type Window = Parameters<TakePermits>[3];

/**
 * Permits by additions: the arrival time only grows, so takers add to it side by side, each on condition that what it
 * takes still fits into its window. Where the time lies before the window, or there is none, one of them raises it.
 */
export function createDynamoPermits(
  items: DynamoItems,
  now: () => number,
  freshVersion: () => string,
): TakePermits {
  /** The arrival times that this process wrote last: they tell which update will likely be allowed, and no more. */
  const lastWritten = new Map<string, number>();

  async function readArrival(key: ItemKey): Promise<number | undefined> {
    const item = await items.get(key);
    if (Number(item?.["expiresAt"]?.N ?? 0) <= now()) return undefined;
    return Number(item?.[arrivalName]?.N);
  }

  /** The arrival time after `granted` permits were taken; undefined: it does not stand as `known`. */
  async function take(
    key: ItemKey,
    known: number | undefined,
    granted: number,
    { intervalUs, burst }: Pace,
    { notBefore, notAfter }: Window,
  ): Promise<number | undefined> {
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
    };
    const isBehind = known === undefined || known < earliestUs;
    const item = await (isBehind
      ? items.update(
          key,
          { expression: `${renewal}, #arrival = :after`, names: { "#arrival": arrivalName } },
          {
            expression:
              "attribute_not_exists(#arrival) OR #arrival < :earliest OR #expiresAt <= :now",
            values: { ...values, ":after": number(earliestUs + stepUs) },
          },
        )
      : items.update(
          key,
          { expression: `${renewal} ADD #arrival :step`, names: { "#arrival": arrivalName } },
          {
            expression: `#arrival BETWEEN :earliest AND :latest AND ${isStanding}`,
            values: {
              ...values,
              ":step": number(stepUs),
              ":latest": number(notAfter * 1000 + (burst - granted) * intervalUs),
            },
          },
        ));
    return item === undefined ? undefined : Number(item[arrivalName]?.N);
  }

  return async (document, pace, count, window) => {
    const key = keyOf(document);
    let known = lastWritten.get(key.pk);
    // That nothing is left is never concluded from what is merely remembered.
    const isFull = known !== undefined && grantPermits(known, pace, count, window).granted < count;
    if (isFull) known = await readArrival(key);
    for (let updates = 0; updates < updatesMax; updates++) {
      const { granted } = grantPermits(known, pace, count, window);
      if (granted === 0) return [];
      const arrivalUs = await take(key, known, granted, pace, window);
      if (arrivalUs !== undefined) {
        lastWritten.set(key.pk, arrivalUs);
        return momentsOf(arrivalUs - granted * pace.intervalUs, granted, pace, window.notBefore);
      }
      known = await readArrival(key);
    }
    return [];
  };
}
