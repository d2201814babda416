import { hash } from "node:crypto";
import type { HashKeys } from "../telephony/phone-number.ts";
import { randomBitsOf } from "./ids.ts";

/** Digits of the random part of an id that are a tag of the others: twenty bits. */
const tag = { start: 22, end: 27 } as const;

/**
 * Returns random hex digits for `createRequestId` in which some are a tag of the others under a secret key. Whoever asks for
 * an id that this service has not given is told so without a look for it, and can leave nothing behind.
 */
export function tagRandom(randomHex: string, key: string): string {
  const own = tagOf(randomHex.slice(0, 5), randomHex.slice(17, 22), key);
  return randomHex.slice(0, tag.start) + own + randomHex.slice(tag.end);
}

/** True if the service may have given the id, under one of its keys. Of a million others one passes for it. */
export function isIssued(requestId: string, { current, former = current }: HashKeys): boolean {
  const [first, second, own] = randomBitsOf(requestId);
  return [current, former].some((key) => tagOf(first, second, key) === own);
}

function tagOf(first: string, second: string, key: string): string {
  return hash("sha256", `id ${key} ${first} ${second}`).slice(0, tag.end - tag.start);
}
