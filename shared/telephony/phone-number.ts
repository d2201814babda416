import { toCanonical } from "./renumbered.ts";
import table from "./calling-codes.json" with { type: "json" };

/**
 * A calling code of the table, after libphonenumber's numbering plans; see infra/generate/tables.ts. Patterns
 * are strings.
 */
interface CallingCode {
  /** Possible digit counts of a national number of the main country, such as `9 10`. */
  lengths: string;
  /** Trunk prefix: dialed before a number within the country, and not part of the number abroad. */
  trunk?: {
    prefix: string;
    /** Replacement for a prefix of which a part stays. */
    transform?: string;
    /** Pattern of all numbers of the code's main country. */
    pattern: string;
  };
  /** Countries of the code, the main one first; empty if the code belongs to no country. */
  countries: {
    country: string;
    /** Possible digit counts, present where they differ from those of the main country. */
    lengths?: string;
    /** Leading digits of the country's numbers, present for most countries of a shared code. */
    leading?: string;
    /** Patterns of all numbers, and of each kind of number, for the other countries of a shared code. */
    pattern?: string;
    kinds?: { pattern: string; lengths: string }[];
    /** Pattern of premium-rate numbers, present for most countries. */
    premium?: string;
  }[];
}

const callingCodes: Partial<Record<string, string>> = table;

/**
 * Reads a calling code of the table: words between spaces. The first has the lengths. `trunk` is followed by prefix, transform and
 * pattern; each `@` and country by its lengths, leading, pattern and premium, and then a pattern and lengths of each kind. An
 * empty word is absent; `d` stands for `\\d`, `!` for `(?:`, and `_` parts lengths.
 */
function readCallingCode(text: string): CallingCode {
  const words = text.split(" ").map((word) => {
    return word.replaceAll("d", "\\d").replaceAll("!", "(?:").replaceAll("_", " ");
  });
  const lengths = words.shift() ?? "";
  const hasTrunk = words[0] === "trunk";
  const [, prefix = "", transform, pattern = ""] = hasTrunk ? words.splice(0, 4) : [];
  const countries: CallingCode["countries"] = [];
  while (words.length > 0) {
    const end = words.findIndex((word, index) => index > 0 && word.startsWith("@"));
    countries.push(readCountry(words.splice(0, end < 0 ? words.length : end)));
  }
  return {
    lengths,
    countries,
    ...(hasTrunk && { trunk: { prefix, pattern, ...(transform && { transform }) } }),
  };
}

function readCountry([name = "", ...words]: readonly string[]): CallingCode["countries"][number] {
  const [lengths, leading, pattern, premium, ...kinds] = words;
  return {
    country: name.slice(1),
    ...(lengths && { lengths }),
    ...(leading && { leading }),
    ...(premium && { premium }),
    ...(pattern && {
      pattern,
      kinds: kinds.flatMap((word, index) =>
        index % 2 === 0 ? [{ pattern: word, lengths: kinds[index + 1] ?? "" }] : [],
      ),
    }),
  };
}

/**
 * True if `text` is an E.164 number: it has the shape (ITU-T E.164: at most 15 digits) and a length of its country,
 * and parses to itself. `+5305555555` has the shape but parses to the Cuban `+535555555`, somebody else's phone.
 * Unused numbers pass, such as test numbers, fictional ranges and numbers newer than the table. So do former forms of
 * numbers.
 */
export function isE164(text: string): boolean {
  if (!/^\+[1-9]\d{6,14}$/.test(text)) return false;
  const number = readNumber(toCanonical(text));
  return number?.isAsWritten === true && number.plan.isPossible(number.national);
}

/** Pairs of forms that may ring one phone: a pattern of both, which captures what they share, and the two forms. */
const twins: readonly (readonly [RegExp, string, string])[] = [
  // A Brazilian mobile number with and without its ninth digit (Anatel, Resolução 553/2010: a 9 before eight digits from 6 to 9 on).
  [/^\+55(?<area>\d\d)9?(?<rest>[6-9]\d{7})$/, "+55$<area>9$<rest>", "+55$<area>$<rest>"],
  // An Argentine mobile number with the 9 that is dialed from abroad, and without it, as mobile phones share area codes with
  // landlines (support.toku.co/hc/en-us/articles/28286847786649).
  [/^\+549?(11\d{8}|[23]\d{9})$/, "+549$1", "+54$1"],
  // A Palestinian number, which rings under the country code of Israel, too: Jawwal's and Ooredoo's mobile phones and Paltel's
  // landlines, which have ranges of their own in Israel's plan (wtng.info/wtng-970-ps.html; google/libphonenumber issue 1134).
  [/^\+97[02](5[69]\d{7}|[2489]2\d{6})$/, "+970$1", "+972$1"],
  // A landline of San Marino, which rings under the country code of Italy, too (wtng.info/wtng-378-sm.html;
  // TrevorPilley/phone-number-parser issue 731).
  [/^\+(?:39|378)(0549\d{6})$/, "+378$1", "+39$1"],
];

/**
 * Returns other numbers that may be the same phone, which only the operator there knows. Do-not-call lists and caps are asked
 * about both; nothing is written under one that was not given.
 */
export function mayAlsoBe(phoneNumber: string): string[] {
  const both = twins.flatMap(([pattern, ...forms]) =>
    forms.map((form) => phoneNumber.replace(pattern, form)),
  );
  return both.filter((form) => form !== phoneNumber);
}

/** Kinds of numbers that cost far more than a call to a person, and reach nobody. */
export const costlyServices = ["premium", "satellite", "international"] as const;
export type CostlyService = (typeof costlyServices)[number];

/** Calling codes of satellite networks (ITU-T E.164, list of country codes). Others of no country are international services. */
const satellites = new Set(["870", "881", "882", "883"]);

/**
 * Returns the costly service that a number belongs to, by the types of libphonenumber's numbering plans; undefined for all
 * others.
 */
export function costlyServiceOf(phoneNumber: string): CostlyService | undefined {
  const number = readNumber(phoneNumber);
  if (number === undefined) return undefined;
  const { plan, national, code } = number;
  if (plan.main === undefined) return satellites.has(code) ? "satellite" : "international";
  return plan.isPremium(national) ? "premium" : undefined;
}

/**
 * Returns the ISO 3166-1 country of an E.164 number, or undefined if it has none (satellite, international premium).
 * A number that no single country of its calling code claims, such as a freephone number or a new area code of +1,
 * counts as the main country's. The code's other countries are recognised by their digits.
 */
export function countryOf(phoneNumber: string): string | undefined {
  if (last?.phoneNumber !== phoneNumber) {
    const number = readNumber(phoneNumber);
    const country = number?.plan.countryOf(number.national) ?? number?.plan.main;
    last = { phoneNumber, country };
  }
  return last.country;
}

/** The last result, cached because decisions on one call need the country several times. */
let last: { phoneNumber: string; country: string | undefined } | undefined;

/** True if there are numbers of this country, given by its two capital letters (ISO 3166-1). `UK` has none. */
export function hasNumbers(country: string): boolean {
  return Object.values(callingCodes).some((code) =>
    readCallingCode(code ?? "").countries.some((one) => one.country === country),
  );
}

/** The numbers of a calling code, its patterns compiled once. */
interface NumberingPlan {
  main: string | undefined;
  /** True if a national number has as many digits as numbers of its country may have. */
  isPossible(national: string): boolean;
  /** True for a national number at a premium rate. */
  isPremium(national: string): boolean;
  /** Returns the country that a national number identifies, or undefined. */
  countryOf(national: string): string | undefined;
  /** Removes the trunk prefix from a national number, by libphonenumber's rules. */
  withoutTrunk(national: string): string;
}

const plans = new Map<string, NumberingPlan>();

/** Returns the numbering plan of an E.164 number, and the national number as libphonenumber reads it. */
function readNumber(phoneNumber: string): NumberRead | undefined {
  if (lastRead?.phoneNumber !== phoneNumber) lastRead = parseNumber(phoneNumber);
  return lastRead;
}

interface NumberRead {
  phoneNumber: string;
  code: string;
  plan: NumberingPlan;
  national: string;
  isAsWritten: boolean;
}

/** The last result, cached because decisions on one call need it several times. */
let lastRead: NumberRead | undefined;

function parseNumber(phoneNumber: string): NumberRead | undefined {
  for (let end = 2; end <= 4; end++) {
    const code = phoneNumber.slice(1, end);
    let plan = plans.get(code);
    if (plan === undefined) {
      const callingCode = callingCodes[code];
      if (callingCode === undefined) continue;
      plan = createPlan(readCallingCode(callingCode));
      plans.set(code, plan);
    }
    const written = phoneNumber.slice(end);
    const national = plan.withoutTrunk(written);
    return { phoneNumber, code, plan, national, isAsWritten: national === written };
  }
  return undefined;
}

function createPlan({ lengths: possibleLengths, trunk, countries }: CallingCode): NumberingPlan {
  const [main] = countries;
  const claims = countries.map((one) => ({ country: one.country, isClaimed: claimOf(one) }));
  const countryOfDigits = (national: string) =>
    claims.find(({ isClaimed }) => isClaimed(national))?.country;
  const patterns = new Map<string | undefined, RegExp | undefined>();
  const premiumOf = (country: string | undefined) => {
    if (!patterns.has(country)) {
      const { premium } = countries.find((one) => one.country === country) ?? {};
      patterns.set(country, premium === undefined ? undefined : whole(premium));
    }
    return patterns.get(country);
  };
  const ofCountries = countries.map(({ lengths = possibleLengths }) => numbersIn(lengths));
  const ofMain = numbersIn(possibleLengths);
  // Most numbers are recognised without their country, which takes longer to find.
  const ever = new Set([...ofMain, ...ofCountries.flat()]);
  const always = new Set(ofMain.filter((one) => ofCountries.every((all) => all.includes(one))));
  const lengthsOf = (national: string) => {
    const country = countryOfDigits(national);
    return ofCountries[countries.findIndex((one) => one.country === country)] ?? ofMain;
  };
  const isPossible = (national: string) =>
    always.has(national.length) ||
    (ever.has(national.length) && lengthsOf(national).includes(national.length));
  const premiums = countries.flatMap(({ premium }) => premium ?? []);
  const anyPremium = premiums.length === 0 ? undefined : whole([...new Set(premiums)].join("|"));
  const plan = {
    main: main?.country,
    isPossible,
    countryOf: countryOfDigits,
    // A premium number of a shared code may be claimed by no country: it is the main one's then.
    isPremium: (national: string) =>
      anyPremium?.test(national) === true &&
      premiumOf(countryOfDigits(national) ?? main?.country)?.test(national) === true,
  };
  if (trunk === undefined) return { ...plan, withoutTrunk: (national) => national };

  const prefix = new RegExp(`^(?:${trunk.prefix})`);
  const pattern = whole(trunk.pattern);
  const { transform } = trunk;
  const withoutTrunk = (national: string) => {
    const found = prefix.exec(national);
    if (found === null || found[0] === "") return national;
    const isKept = transform !== undefined && Boolean(found.at(-1)) && found.length > 1;
    const rest = isKept ? national.replace(prefix, transform) : national.slice(found[0].length);
    // The prefix belongs to the number if the number is invalid, or impossibly long or short, without it.
    if (pattern.test(national) && !pattern.test(rest)) return national;
    const possible = lengthsOf(rest);
    const isFit = possible.includes(rest.length) || rest.length > Math.max(...possible);
    return isFit ? rest : national;
  };
  return { ...plan, withoutTrunk };
}

/**
 * Returns a test of whether a national number is a country's: the code has no other country, or its leading digits or
 * a pattern match.
 */
function claimOf({
  leading,
  pattern,
  kinds = [],
}: CallingCode["countries"][number]): (national: string) => boolean {
  if (leading !== undefined) {
    const beginning = new RegExp(`^(?:${leading})`);
    return (national) => beginning.test(national);
  }
  if (pattern === undefined) return () => true;
  const byLengths = Map.groupBy(kinds, ({ lengths }) => lengths);
  // A number matches both its country's pattern and a kind's. Each test of a pattern takes time, so there are as few as
  // lengths.
  const compiled = Array.from(byLengths, ([lengths, same]) => ({
    lengths: numbersIn(lengths),
    pattern: whole(`(?=(?:${pattern})$)(?:${same.map((kind) => kind.pattern).join("|")})`),
  }));
  return (national) =>
    compiled.some((kind) => kind.lengths.includes(national.length) && kind.pattern.test(national));
}

function numbersIn(lengths: string): number[] {
  return lengths.split(" ").map(Number);
}

function whole(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`);
}
