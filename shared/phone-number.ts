import { createHmac } from "node:crypto";
import { type CountryCode, Metadata, parsePhoneNumberFromString } from "libphonenumber-js/min";
import metadata from "libphonenumber-js/min/metadata";

/**
 * Whether `text` is an E.164 number: its shape (ITU-T E.164: at most 15 digits), and that it reads back as
 * itself. `+5305555555` has the shape but reads as the Cuban `+535555555`, somebody else's phone.
 * Not `isValid()`: that refuses test and fictional ranges and numbers newer than the metadata.
 */
export function isE164(text: string): boolean {
  if (!/^\+[1-9]\d{6,14}$/.test(text)) return false;
  return plainPlanOf(text) !== undefined || parsePhoneNumberFromString(text)?.number === text;
}

/**
 * The ISO 3166-1 country of an E.164 number, or undefined where it has none (satellite, international
 * premium). A number that no single country of its calling code claims, such as a freephone or a new area
 * code of +1, counts as the code's main country; every other country of the code is told by its digits.
 */
export function countryOf(phoneNumber: string): string | undefined {
  if (last?.phoneNumber === phoneNumber) return last.country;
  const country = countryBy(phoneNumber);
  last = { phoneNumber, country };
  return country;
}

/** What is decided on a call asks several times for the country of its number. */
let last: { phoneNumber: string; country: string | undefined } | undefined;

function countryBy(phoneNumber: string): string | undefined {
  const plan = plainPlanOf(phoneNumber);
  if (plan !== undefined) {
    const national = phoneNumber.slice(1 + plan.callingCode.length);
    return plan.countries.find(({ claims }) => claims(national))?.country ?? plan.main;
  }
  const parsed = parsePhoneNumberFromString(phoneNumber);
  return parsed && (parsed.country ?? mainCountryOf(parsed.countryCallingCode));
}

function mainCountryOf(callingCode: string): string | undefined {
  const main: string | undefined = metadata.country_calling_codes[callingCode]?.[0];
  return main === "001" ? undefined : main;
}

/**
 * The numbers of a calling code, as libphonenumber-js tells their countries; but with its patterns compiled once, which
 * it compiles for each number anew: most of the cost of a batch.
 */
interface NumberingPlan {
  callingCode: string;
  /** Undefined for a code of no country. */
  main: string | undefined;
  /** What in front of a national number is none of it: a number that begins so is left to the library. */
  trunkPrefix: RegExp | undefined;
  /** In the library's order, where the code has several. */
  countries: { country: string; claims(national: string): boolean }[];
}

const plans = new Map<string, NumberingPlan | undefined>();

/** The plan of an E.164 number that is written without a trunk prefix, and so reads back as itself. */
function plainPlanOf(phoneNumber: string): NumberingPlan | undefined {
  for (let digits = 1; digits <= 3; digits++) {
    const callingCode = phoneNumber.slice(1, 1 + digits);
    let plan = plans.get(callingCode);
    if (plan === undefined && !plans.has(callingCode)) {
      plan = createPlan(callingCode);
      plans.set(callingCode, plan);
    }
    if (plan === undefined) continue;
    const prefix = plan.trunkPrefix?.exec(phoneNumber.slice(1 + digits));
    return prefix === undefined || prefix === null || prefix[0] === "" ? plan : undefined;
  }
  return undefined;
}

function createPlan(callingCode: string): NumberingPlan | undefined {
  const countries: string[] | undefined = metadata.country_calling_codes[callingCode];
  if (countries === undefined) return undefined;
  const trunkPrefix = patternsOf(callingCode).nationalPrefixForParsing();
  return {
    callingCode,
    main: mainCountryOf(callingCode),
    trunkPrefix: trunkPrefix ? new RegExp(`^(?:${trunkPrefix})`) : undefined,
    countries:
      countries.length === 1
        ? []
        : countries.map((country) => ({ country, claims: claimOf(country) })),
  };
}

/** Whether a country claims a national number: by how it begins, or by the pattern of any kind of number. */
function claimOf(country: string): (national: string) => boolean {
  const patterns = patternsOf(country);
  const leadingDigits = patterns.leadingDigits();
  if (leadingDigits) {
    const pattern = new RegExp(`^(?:${leadingDigits})`);
    return (national) => pattern.test(national);
  }
  const whole = (pattern: string) => new RegExp(`^(?:${pattern})$`);
  const any = whole(patterns.nationalNumberPattern());
  const kinds = kindsOfNumber.flatMap((kind) => {
    const pattern = patterns.type(kind)?.pattern();
    if (!pattern) return [];
    return { pattern: whole(pattern), lengths: patterns.type(kind)?.possibleLengths() };
  });
  return (national) =>
    any.test(national) &&
    kinds.some(
      ({ pattern, lengths }) =>
        (lengths?.includes(national.length) ?? true) && pattern.test(national),
    );
}

const kindsOfNumber = [
  "FIXED_LINE",
  "MOBILE",
  "PREMIUM_RATE",
  "TOLL_FREE",
  "SHARED_COST",
  "VOIP",
  "PERSONAL_NUMBER",
  "PAGER",
  "UAN",
  "VOICEMAIL",
];

/** What the library's metadata say of a country or calling code; its types leave most of it out. */
interface Patterns {
  nationalPrefixForParsing(): string | undefined;
  leadingDigits(): string | undefined;
  nationalNumberPattern(): string;
  type(kind: string): { pattern(): string; possibleLengths(): number[] | undefined } | undefined;
}

function patternsOf(countryOrCallingCode: string): Patterns {
  const all = new Metadata();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- test/unit/phone-number.test.ts compares the answers
  all.selectNumberingPlan(countryOrCallingCode as CountryCode);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- likewise
  return all.numberingPlan as unknown as Patterns;
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
