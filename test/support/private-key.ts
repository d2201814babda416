import { generateKeyPairSync } from "node:crypto";

/** Makes a private key, as the PEM file that Vonage gives for an application. */
export function createPrivateKey(): string {
  return generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  }).privateKey;
}

/** Returns a text in base64, in one line. */
export function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
