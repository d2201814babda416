import type { CallRequest } from "../calls/call-request.ts";
import { countryOf } from "../telephony/phone-number.ts";
import type { DialPlan } from "./plan-schema.ts";

/** True if the plan permits calls to this number. */
export function mayBeCalled(
  { phone_number }: Pick<CallRequest, "phone_number">,
  { destinations: { allow, deny } }: DialPlan,
): boolean {
  // No number begins with the letters of a country.
  if (deny.some((place) => phone_number.startsWith(place))) return false;
  const all = allow.includes("*");
  if (all && deny.every((place) => place.startsWith("+"))) return true;
  const country = countryOf(phone_number);
  if (country === undefined) return all;
  return (all || allow.includes(country)) && !deny.includes(country);
}
