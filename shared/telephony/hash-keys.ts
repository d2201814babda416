import { createHmac } from "node:crypto";
import { hashNumber } from "./phone-number.ts";

/** The keys of HASH_KEY. While it is rotated there are two: the current one hashes what is written, both what is sought. */
export interface HashKeys {
  current: string;
  former?: string | undefined;
}

/** Returns the keys that are held, the current one first. */
export function listKeys({ current, former }: HashKeys): string[] {
  return former === undefined ? [current] : [current, former];
}

/** Returns the hashes of a number under every key, that under the current one first. */
export function hashesOf(phoneNumber: string, keys: HashKeys): string[] {
  return listKeys(keys).map((key) => hashNumber(phoneNumber, key).numberHash);
}

/** Returns a name of a key that may be stored: it tells keys apart, and nothing about them. */
export function nameOfKey(key: string): string {
  return createHmac("sha256", key).update("name of this key").digest("hex").slice(0, 16);
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
