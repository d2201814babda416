import { createHmac } from "node:crypto";
import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import metadata from "libphonenumber-js/min/metadata";

/**
 * Whether `text` is an E.164 number: its shape (ITU-T E.164: at most 15 digits), and that it reads back as
 * itself. `+5305555555` has the shape but reads as the Cuban `+535555555`, somebody else's phone.
 * Not `isValid()`: that refuses test and fictional ranges and numbers newer than the metadata.
 */
export function isE164(text: string): boolean {
  return /^\+[1-9]\d{6,14}$/.test(text) && parsePhoneNumberFromString(text)?.number === text;
}

/**
 * The ISO 3166-1 country of an E.164 number, or undefined where it has none (satellite, international
 * premium). A number that no single country of its calling code claims, such as a freephone or a new area
 * code of +1, counts as the code's main country; every other country of the code is told by its digits.
 */
export function countryOf(phoneNumber: string): string | undefined {
  const parsed = parsePhoneNumberFromString(phoneNumber);
  if (parsed === undefined) return undefined;
  const main: string | undefined = metadata.country_calling_codes[parsed.countryCallingCode]?.[0];
  return parsed.country ?? (main === "001" ? undefined : main);
}

/** Whether there are numbers of this country, by its two capital letters (ISO 3166-1): of `UK` there are none. */
export function hasNumbers(country: string): boolean {
  return Object.hasOwn(metadata.countries, country);
}

/** What may be kept of a number after its call: a keyed hash, equal for equal numbers, and two digits. */
export function traceOfNumber(
  phoneNumber: string,
  hashKey: string,
): { numberHash: string; numberTail: string } {
  return {
    numberHash: createHmac("sha256", hashKey).update(phoneNumber).digest("hex"),
    numberTail: phoneNumber.slice(-2),
  };
}
