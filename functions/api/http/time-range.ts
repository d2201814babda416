import * as z from "#shared/lib/zod.ts";
import { dayMs } from "#shared/lib/units.ts";

/** A range of time, in milliseconds since the epoch: from `from` up to but not including `to`. */
export interface TimeRange {
  from: number;
  to: number;
}

/** A date, as the day in UTC that it names. */
export const day = z.pipe(
  z.iso.date({ error: "must be a date such as 2026-11-21" }),
  z.transform((text): TimeRange => rangeOf(text, dayMs)),
);

/** An instant, or a date: the day in UTC that it names. */
export const dayOrInstant = z.pipe(
  z.union([z.iso.date(), z.iso.datetime({ offset: true })], {
    error: "must be a date such as 2026-11-21, or an instant such as 2026-11-21T09:00:00Z",
  }),
  z.transform((text): TimeRange => rangeOf(text, text.includes("T") ? 0 : dayMs)),
);

function rangeOf(text: string, lengthMs: number): TimeRange {
  const from = Date.parse(text);
  return { from, to: from + lengthMs };
}
