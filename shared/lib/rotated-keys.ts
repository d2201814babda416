import { createHmac } from "node:crypto";

/** A secret's keys. While they are rotated there are two: the current one writes, both read or sign. */
export interface RotatedKeys {
  current: string;
  former?: string | undefined;
}

/**
 * Parses keys: one, or the current and the former one, separated by a space. Letters in capitals are the same key.
 *
 * @param name the secret's, for the error
 * @throws if it is neither
 */
export function parseKeys(text: string, name: string): RotatedKeys {
  if (!/^[0-9a-f]{64}( [0-9a-f]{64})?$/i.test(text)) {
    throw new Error(`${name} must be 32 bytes in hex, or two such keys separated by a space`);
  }
  const [current = "", former] = text.toLowerCase().split(" ");
  if (current === former) {
    throw new Error(`${name} must not be the same key twice`);
  }
  return { current, former };
}

/** Returns the keys that are held, the current one first. */
export function listKeys({ current, former }: RotatedKeys): string[] {
  return former === undefined ? [current] : [current, former];
}

/** Characters of a key's name. */
export const keyNameCharacters = 8;
const names = new Map<string, string>();

/** Returns a name of a key: eight hex digits that distinguish keys and reveal nothing. */
export function nameOfKey(key: string): string {
  const known = names.get(key);
  if (known !== undefined) return known;
  const digest = createHmac("sha256", key).update("name of this key").digest("hex");
  const name = digest.slice(0, keyNameCharacters);
  names.set(key, name); // a process has as many keys as its secrets have had meanwhile
  return name;
}
