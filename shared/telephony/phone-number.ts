import { createHmac } from "node:crypto";
import table from "./calling-codes.json" with { type: "json" };

/**
 * A calling code of the table, after libphonenumber's numbering plans; see infra/generate/tables.ts. Patterns
 * are strings.
 */
interface CallingCode {
  /** Trunk prefix: dialed before a number within the country, and not part of the number abroad. */
  trunk?: {
    prefix: string;
    /** Replacement for a prefix of which a part stays. */
    transform?: string;
    /** Pattern of all numbers of the code's main country. */
    pattern: string;
    /** Possible digit counts, such as `9 10`. */
    lengths: string;
  };
  /** Countries of the code, the main one first; empty if the code belongs to no country. */
  countries: {
    country: string;
    /** Possible lengths, present if the code has a trunk prefix. */
    lengths?: string;
    /** Leading digits of the country's numbers, present for most countries of a shared code. */
    leading?: string;
    /** Patterns of all numbers, and of each kind of number, for the other countries of a shared code. */
    pattern?: string;
    kinds?: { pattern: string; lengths: string }[];
  }[];
}

const callingCodes: Partial<Record<string, CallingCode>> = table;

/**
 * True if `text` is an E.164 number: it has the shape (ITU-T E.164: at most 15 digits), and parses to itself.
 * `+5305555555` has the shape but parses to the Cuban `+535555555`, somebody else's phone. Numbers not in use pass,
 * as test numbers, fictional ranges and numbers newer than the table do.
 */
export function isE164(text: string): boolean {
  return /^\+[1-9]\d{6,14}$/.test(text) && readNumber(text)?.isAsWritten === true;
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
    code?.countries.some((one) => one.country === country),
  );
}

/** The numbers of a calling code, its patterns compiled once. */
interface NumberingPlan {
  main: string | undefined;
  /** Returns the country that a national number identifies, or undefined. */
  countryOf(national: string): string | undefined;
  /** Removes the trunk prefix from a national number, by libphonenumber's rules. */
  withoutTrunk(national: string): string;
}

const plans = new Map<string, NumberingPlan>();

/** Returns the numbering plan of an E.164 number, and the national number as libphonenumber reads it. */
function readNumber(
  phoneNumber: string,
): { plan: NumberingPlan; national: string; isAsWritten: boolean } | undefined {
  for (let end = 2; end <= 4; end++) {
    const code = phoneNumber.slice(1, end);
    let plan = plans.get(code);
    if (plan === undefined) {
      const callingCode = callingCodes[code];
      if (callingCode === undefined) continue;
      plan = createPlan(callingCode);
      plans.set(code, plan);
    }
    const written = phoneNumber.slice(end);
    const national = plan.withoutTrunk(written);
    return { plan, national, isAsWritten: national === written };
  }
  return undefined;
}

function createPlan({ trunk, countries }: CallingCode): NumberingPlan {
  const [main] = countries;
  const claims = countries.map((one) => ({ country: one.country, isClaimed: claimOf(one) }));
  const countryOfDigits = (national: string) =>
    claims.find(({ isClaimed }) => isClaimed(national))?.country;
  if (trunk === undefined) {
    return {
      main: main?.country,
      countryOf: countryOfDigits,
      withoutTrunk: (national) => national,
    };
  }

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
    const country = countryOfDigits(rest);
    const { lengths = trunk.lengths } = countries.find((one) => one.country === country) ?? {};
    const possible = numbersIn(lengths);
    const isPossible = possible.includes(rest.length) || rest.length > Math.max(...possible);
    return isPossible ? rest : national;
  };
  return { main: main?.country, countryOf: countryOfDigits, withoutTrunk };
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
  const any = whole(pattern);
  const compiled = kinds.map((kind) => ({
    pattern: whole(kind.pattern),
    lengths: numbersIn(kind.lengths),
  }));
  return (national) =>
    any.test(national) &&
    compiled.some((kind) => kind.lengths.includes(national.length) && kind.pattern.test(national));
}

function numbersIn(lengths: string): number[] {
  return lengths.split(" ").map(Number);
}

function whole(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`);
}

/** The keys of HASH_KEY. While it is rotated there are two: the current one hashes what is written, both what is sought. */
export interface HashKeys {
  current: string;
  former?: string | undefined;
}

/**
 * Parses HASH_KEY: one key, or the current and the former one, separated by a space. Letters in capitals are the same key.
 *
 * @throws if it is neither
 */
export function parseHashKeys(text: string): HashKeys {
  if (!/^[0-9a-f]{64}( [0-9a-f]{64})?$/i.test(text)) {
    throw new Error("HASH_KEY must be 32 bytes in hex, or two such keys separated by a space");
  }
  const [current = "", former] = text.toLowerCase().split(" ");
  if (current === former) {
    throw new Error("HASH_KEY must not be the same key twice");
  }
  return { current, former };
}

/** Returns the keys that are held, the current one first. */
export function listKeys({ current, former }: HashKeys): string[] {
  return former === undefined ? [current] : [current, former];
}

/**
 * Returns the trace of a number that may be kept after its call: a keyed hash, equal for equal numbers, and two digits. The
 * hash begins with its key's name, so that it is known which key it needs.
 */
export function hashNumber(
  phoneNumber: string,
  hashKey: string,
): { numberHash: string; numberTail: string } {
  const hash = createHmac("sha256", hashKey).update(phoneNumber).digest("hex");
  return { numberHash: nameOfKey(hashKey) + hash, numberTail: phoneNumber.slice(-2) };
}

/** Returns the hashes of a number under every key that is held, that under the current one first. */
export function hashesOf(phoneNumber: string, keys: HashKeys): string[] {
  return listKeys(keys).map((key) => hashNumber(phoneNumber, key).numberHash);
}

const nameCharacters = 8;
const names = new Map<string, string>();

/** Returns a name of a key: eight hex digits that tell keys apart, and nothing about them. */
export function nameOfKey(key: string): string {
  const known = names.get(key);
  if (known !== undefined) return known;
  const digest = createHmac("sha256", key).update("name of this key").digest("hex");
  const name = digest.slice(0, nameCharacters);
  names.set(key, name); // a process has as many keys as HASH_KEY has had meanwhile
  return name;
}

/** Returns the name of the key that a number is hashed under. */
export function keyNameIn(numberHash: string): string {
  return numberHash.slice(0, nameCharacters);
}

/** Returns the part of a number's hash that differs from number to number. */
export function digitsOf(numberHash: string): string {
  return numberHash.slice(nameCharacters);
}
