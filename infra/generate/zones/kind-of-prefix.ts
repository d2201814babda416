/** Finds out what numbers begin with a prefix, by made-up numbers. */
import { type CountryCode, parsePhoneNumberFromString } from "libphonenumber-js/max";
import metadata from "libphonenumber-js/max/metadata";

/** Calling codes whose mobile numbers have area codes (libphonenumber's GEO_MOBILE_COUNTRIES: Mexico, Argentina, Brazil). */
const withMobileAreaCodes = new Set(["52", "54", "55"]);

/** Digits after the calling code of the made-up numbers by which a prefix is judged. Those of Greenland have six. */
const samples = [
  ...Array.from({ length: 300 }, (_, n) => 7 + (n % 5)),
  ...Array.from({ length: 180 }, (_, n) => 4 + (n % 3)),
];

interface KindOfPrefix {
  /** True if numbers of the prefix are bound to a place. */
  isOfPlace: boolean;
  /** Countries whose numbers begin with it. */
  countries: CountryCode[];
}

const kinds = new Map<string, KindOfPrefix>();

/**
 * Returns what numbers begin with a prefix, by the types and countries of made-up numbers. With a prefix such as +614
 * a phone in Perth would be called by Sydney's hours, so such a prefix belongs to no place.
 */
export function kindOfPrefix(prefix: string, code: string): KindOfPrefix {
  const known = kinds.get(prefix);
  if (known !== undefined) return known;
  const countries = new Set<CountryCode>();
  let isOfPlace = true;
  let random = 1;
  for (const count of samples) {
    random = (random * 48_271) % 2_147_483_647;
    const length = code.length + count;
    const digits = prefix.padEnd(length, String(random)).slice(0, Math.max(length, prefix.length));
    const number = parsePhoneNumberFromString(`+${digits}`);
    if (number === undefined || !number.isValid()) continue;
    const type = number.getType();
    if (type !== "FIXED_LINE" && type !== "FIXED_LINE_OR_MOBILE") isOfPlace = false;
    // Several countries may have the number, as Australia and Christmas Island do: the library names the first one alone.
    for (const country of metadata.country_calling_codes[code] ?? []) {
      number.country = country;
      if (number.isValid()) countries.add(country);
    }
  }
  if (withMobileAreaCodes.has(code)) isOfPlace = true;
  const kind = { isOfPlace, countries: [...countries] };
  kinds.set(prefix, kind);
  return kind;
}
