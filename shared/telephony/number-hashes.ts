import { createHmac } from "node:crypto";
import { keyNameCharacters, listKeys, nameOfKey, type RotatedKeys } from "../lib/rotated-keys.ts";
import { mayAlsoBe } from "./phone-number.ts";
import { formsOf, toCanonical } from "./renumbered.ts";

/**
 * Hex digits of an HMAC that are kept: half of them, as RFC 2104 (section 5) allows. Two of a billion numbers are equal in
 * them with a chance of 10^-21, and a row and its index have that many bytes less.
 */
const digestDigits = 32;

/** The hashes of a number: its own, and with them those of numbers that may be the same phone. */
export interface NumberHashes {
  own: readonly string[];
  /** For questions to do-not-call lists and caps. */
  asked: readonly string[];
  /** Names of the keys that were held: entries under another key are not among these hashes. */
  keyNames: readonly string[];
}

/** Hashes numbers under the keys that are held, so that who asks about a number knows no key. */
export interface NumberHasher {
  /** Names of the keys, the current one's first. */
  keyNames: readonly string[];
  /** Returns the trace of a number under the current key, for rows and entries that are written. */
  trace(phoneNumber: string): NumberTrace;
  /** Returns the hash of the canonical form under each key, the current one first. */
  underEach(phoneNumber: string): string[];
  /** Returns the hashes of every form under every key, that of `trace` first: writers use the first, readers all. */
  own(phoneNumber: string): string[];
  all(phoneNumber: string): NumberHashes;
}

/** The trace of a number that may be kept after its call: a keyed hash, equal for equal numbers, and two digits. */
export interface NumberTrace {
  numberHash: string;
  numberTail: string;
}

/** Creates a hasher of numbers. A hash begins with its key's name, so that it is known which key it needs. */
export function createNumberHasher(keys: RotatedKeys): NumberHasher {
  const held = listKeys(keys);
  const keyNames = held.map(nameOfKey);
  const hashAll = (forms: readonly string[]) =>
    held.flatMap((key) => forms.map((form) => digestOf(form, key)));
  const own = (phoneNumber: string) => hashAll(formsOf(phoneNumber));
  return {
    keyNames,
    trace: (phoneNumber) => hashNumber(phoneNumber, keys.current),
    underEach: (phoneNumber) => hashAll([toCanonical(phoneNumber)]),
    own,
    all(phoneNumber) {
      const ofIt = own(phoneNumber);
      const others = mayAlsoBe(phoneNumber);
      const asked = others.length === 0 ? ofIt : [...ofIt, ...hashAll(others)];
      return { own: ofIt, asked, keyNames };
    },
  };
}

/** Returns the trace of a number under one key. */
export function hashNumber(phoneNumber: string, key: string): NumberTrace {
  return {
    numberHash: digestOf(toCanonical(phoneNumber), key),
    numberTail: phoneNumber.slice(-2),
  };
}

function digestOf(form: string, key: string): string {
  const digest = createHmac("sha256", key).update(form).digest("hex");
  return nameOfKey(key) + digest.slice(0, digestDigits);
}

/** Returns the name of the key that a number is hashed under. */
export function keyNameIn(numberHash: string): string {
  return numberHash.slice(0, keyNameCharacters);
}

/** Returns the part of a number's hash that differs from number to number. */
export function digitsOf(numberHash: string): string {
  return numberHash.slice(keyNameCharacters);
}
