import {
  type CountryCode,
  getCountries,
  getCountryCallingCode,
  isSupportedCountry,
  ParseError,
  type PhoneNumber,
  parsePhoneNumberWithError,
} from "libphonenumber-js/min";
import { toCanonical } from "../telephony/renumbered.ts";

/** A phone number as it was understood, or why it is none. */
export type NumberRead = { number: string } | { reason: string };

const parseProblems: Record<string, string> = {
  NOT_A_NUMBER: "is no phone number",
  TOO_SHORT: "is too short for a phone number",
  TOO_LONG: "is too long for a phone number",
  INVALID_COUNTRY: "has no country code that exists, and no country is chosen",
};

/**
 * Reads a phone number and returns it in E.164. Numbers without a country code are of `country`.
 *
 * Spreadsheets spoil numbers in ways that leave digits of another phone: such a cell is refused.
 */
export function readNumber(cell: string, country: string | undefined): NumberRead {
  const text = cell
    .replace(/[\u200b-\u200f\u202a-\u202e\u2060\ufeff]/g, "")
    .trim()
    .replace(/^'/, "")
    .replace(/^tel:/i, "");
  if (text === "") return { reason: "has no phone number" };
  if (/^\d+([.,]\d+)?e\+?\d+$/i.test(text)) {
    return { reason: "was rounded by a spreadsheet: make the column text there" };
  }
  if (/^\+?\d+[.,]0+$/.test(text)) {
    return { reason: "has decimals: make the column text in the spreadsheet" };
  }
  const written = country === undefined ? text.replace(/^00(?=[1-9])/, "+") : text;
  const slashAt = written.lastIndexOf("/");
  if (slashAt > 0 && findValid(written.slice(0, slashAt), country) !== undefined) {
    return { reason: "has two numbers" };
  }
  try {
    const found = parse(written, country);
    if (found.ext !== undefined) return { reason: "has an extension, which cannot be dialed" };
    // A person may insist on a number that is newer than the tables: in E.164 it passes, as at the endpoints.
    const isKnown = found.isValid() || (found.isPossible() && written === found.number);
    if (isKnown && isE164(found.number)) {
      // German numbers may have many digits: 49 176 … is taken for one of the area (0)4917, as is 49 4917 … .
      const other = findValid(`+${written}`, undefined);
      const isOther = other !== undefined && other.number !== found.number;
      return isOther && other.countryCallingCode === found.countryCallingCode
        ? { reason: `may lack its +: write it as ${other.number} or as ${found.number}` }
        : { number: found.number };
    }
    const of = found.country ?? `+${found.countryCallingCode}`;
    if (!found.isPossible()) return { reason: `has too few or too many digits for ${of}` };
    return { reason: `is no known number of ${of}: if it is right, write it as ${found.number}` };
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    // A chosen country is of no use to a number that names one itself.
    if (error.message === "INVALID_COUNTRY" && /^(\+|00)/.test(written))
      return { reason: "has no country code that exists" };
    return { reason: parseProblems[error.message] ?? "is no phone number" };
  }
}

/** Parses a number in its present form. @throws ParseError */
function parse(text: string, country: string | undefined): PhoneNumber {
  const defaultCountry = country !== undefined && isSupportedCountry(country) ? country : undefined;
  const parsed = parsePhoneNumberWithError(text, {
    extract: false,
    ...(defaultCountry && { defaultCountry }),
  });
  const canonical = toCanonical(parsed.number);
  const isFormer = canonical !== parsed.number && parsed.ext === undefined;
  return isFormer ? parsePhoneNumberWithError(canonical) : parsed;
}

/** Returns the number that a text has, or undefined if it has no known one. */
function findValid(text: string, country: string | undefined): PhoneNumber | undefined {
  try {
    const found = parse(text, country);
    return found.isValid() ? found : undefined;
  } catch (error) {
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}

/** Describes a number in E.164 for people: `+1 202 555 0142`, and its country if it has one. */
export function describeNumber(number: string): { shown: string; country: string | undefined } {
  const parsed = parsePhoneNumberWithError(number);
  return { shown: parsed.formatInternational(), country: parsed.country };
}

/** True if the endpoints take the number: it has seven digits or more, and parses to itself. */
function isE164(number: string): boolean {
  return /^\+[1-9]\d{6,14}$/.test(number) && parsePhoneNumberWithError(number).number === number;
}

/** Returns the countries that may be chosen, with their calling codes. */
export function listCountries(): { country: CountryCode; code: string }[] {
  return getCountries()
    .toSorted()
    .map((country) => ({ country, code: getCountryCallingCode(country) }));
}
