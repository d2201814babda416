import { hash } from "node:crypto";

/** Characters of one block of SHA-256: shorter keys are padded to it, longer ones would have to be hashed. */
const blockCharacters = 64;

/**
 * Creates an HMAC-SHA256 (RFC 2104) under a key of at most 64 ASCII characters, in base64url. `hash` called twice
 * costs half of `createHmac`, which makes an object for each text.
 *
 * @throws if the key is longer, or has other characters
 */
export function hmacUnder(key: string): (text: string) => string {
  if (!/^[\0-\x7f]{0,64}$/.test(key)) throw new Error("the key is no ASCII text of one block");
  const block = Buffer.from(key.padEnd(blockCharacters, "\0"));
  const padded = (mask: number) => String.fromCharCode(...block.map((byte) => byte ^ mask));
  const inner = padded(0x36);
  const outer = padded(0x5c);
  return (text) => {
    const digest = hash("sha256", inner + text, "binary");
    return hash("sha256", Buffer.from(outer + digest, "binary"), "base64url");
  };
}
