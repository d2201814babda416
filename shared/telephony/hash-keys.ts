import { createHmac } from "node:crypto";

/** The keys of HASH_KEY. While it is rotated there are two: the current one hashes what is written, both what is sought. */
export interface HashKeys {
  current: string;
  former?: string | undefined;
}

/** Parses HASH_KEY: one key, or the current and the former one, separated by a space. @throws if it is neither */
export function parseHashKeys(text: string): HashKeys {
  if (!/^[0-9a-f]{64}( [0-9a-f]{64})?$/i.test(text)) {
    throw new Error("HASH_KEY must be 32 bytes in hex, or two such keys separated by a space");
  }
  const [current = "", former] = text.split(" ");
  if (current.toLowerCase() === former?.toLowerCase()) {
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
