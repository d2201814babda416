import { createHmac } from "node:crypto";
import { listKeys, type RotatedKeys } from "./rotated-keys.ts";

type Part = string | Uint8Array;

/** Hashes what it is given under the keys that are held, so that who hashes knows no key. */
export interface KeyedHashes {
  /** Returns the HMAC-SHA256 of the parts under the current key, in base64url. */
  current(...parts: readonly Part[]): string;
  /** Returns it under each key, the current one first. */
  each(...parts: readonly Part[]): string[];
}

export function createKeyedHashes({ hashKeys: keys }: { hashKeys: RotatedKeys }): KeyedHashes {
  const under = (key: string, parts: readonly Part[]) =>
    parts.reduce((hmac, part) => hmac.update(part), createHmac("sha256", key)).digest("base64url");
  return {
    current: (...parts) => under(keys.current, parts),
    each: (...parts) => listKeys(keys).map((key) => under(key, parts)),
  };
}
