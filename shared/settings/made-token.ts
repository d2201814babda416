import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { hmacUnder } from "../lib/hmac.ts";
import { type RotatedKeys, listKeys, nameOfKey } from "../lib/rotated-keys.ts";
import { madePrefix, randomBase62 } from "./tokens.ts";

/** Characters of a token's id (71 bits), of its secret (178 bits) and of its MAC (132 bits, in base64url). */
const characters = { id: 12, secret: 30, mac: 22 };
/** Pattern of an id. */
export const madeIdPattern = /^[0-9A-Za-z]{12}$/;
const pattern = new RegExp(
  `^(${madePrefix}([0-9A-Za-z]{${characters.id}})_[0-9A-Za-z]{${characters.secret}})_([\\w-]{${characters.mac}})$`,
);

/** A fresh token. Only its hash is to be kept. */
interface MadeToken {
  id: string;
  token: string;
  /** SHA-256 of the token, in hex. */
  sha256: string;
  /** Name of the HASH_KEY that its MAC depends on. */
  keyName: string;
}

/**
 * Makes and recognizes the tokens that operators make: `oc1_`, an id, a secret, and a MAC of both, whose key is derived from
 * HASH_KEY. Thus a forged token is recognized without the ledger. The MAC alone lets nobody in: the ledger must have the hash of the
 * token.
 */
export function createTokenMaker({ hashKeys }: { hashKeys: RotatedKeys }) {
  const macs = listKeys(hashKeys).map((key) => ({
    keyName: nameOfKey(key),
    macOf: hmacUnder(createHmac("sha256", key).update("key of made tokens").digest("hex")),
  }));
  return {
    /** @param key one of the held keys, for the MAC */
    make(key = hashKeys.current): MadeToken {
      const id = randomBase62(characters.id);
      const text = `${madePrefix}${id}_${randomBase62(characters.secret)}`;
      const mac = macs.find(({ keyName }) => keyName === nameOfKey(key));
      if (mac === undefined) throw new Error("the HASH_KEY is not held");
      const token = `${text}_${mac.macOf(text).slice(0, characters.mac)}`;
      return { id, token, sha256: hash("sha256", token, "hex"), keyName: mac.keyName };
    },
    /** Returns the id of a token whose MAC is right under a key that is held; undefined otherwise. */
    readId(token: string): string | undefined {
      const [, text = "", id, mac = ""] = pattern.exec(token) ?? [];
      const isRight = macs.some(({ macOf }) => {
        const right = macOf(text).slice(0, characters.mac);
        return mac.length === right.length && timingSafeEqual(Buffer.from(mac), Buffer.from(right));
      });
      return isRight ? id : undefined;
    },
  };
}

/** True if a token has this hash. Compares in constant time. */
export function hasHash(token: string, sha256: string): boolean {
  const digest = Buffer.from(hash("sha256", token, "hex"));
  return digest.length === sha256.length && timingSafeEqual(digest, Buffer.from(sha256));
}
