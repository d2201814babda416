import type { CallRequest } from "#shared/calls/call-request.ts";
import { mapInSlices } from "#shared/lib/slices.ts";
import * as z from "#shared/lib/zod.ts";
import { zoneNamesOf } from "#shared/telephony/zones-of-number.ts";

/** Zones from which on a call has so few hours that its sender should know. */
const zonesMin = 3;

export const manyZonesSchema = z
  .optional(z.strictObject({ calls: z.int(), zones: z.int() }))
  .check(
    z.describe(
      "Calls without `timezone` whose numbers may ring in many time zones, and the most zones of one of them. Hours must be open in all of these, so send `timezone`. Absent: there are none",
    ),
  );

/** Counts the calls whose numbers may ring in many time zones. */
export async function countManyZones(requests: readonly CallRequest[]) {
  const counts = await mapInSlices(requests, (request) => zoneNamesOf(request, undefined).length);
  const many = counts.filter((zones) => zones >= zonesMin);
  return many.length === 0 ? {} : { many_zones: { calls: many.length, zones: Math.max(...many) } };
}
