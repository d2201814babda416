import { hash } from "node:crypto";
import type { RotatedKeys } from "../lib/rotated-keys.ts";
import { bitsIn, withBits } from "./ids.ts";

/**
 * Returns a request's id with twenty of its random bits replaced by a tag of all others under a secret key: the id of
 * a request that is being accepted. Ids of answers that accept nothing have no tag, so a client has as many such ids
 * as accepted requests. An order for another id is refused without a search for it, and stores nothing.
 */
export function markAccepted(requestId: string, key: string): string {
  return withBits(requestId, tagOf(requestId, key));
}

/** True if the id is that of a request that was accepted, or may have been, under one of the keys. Of a million others one passes for it. */
export function mayBeAccepted(
  requestId: string,
  { current, former = current }: RotatedKeys,
): boolean {
  const bits = bitsIn(requestId);
  return [current, former].some((key) => tagOf(requestId, key) === bits);
}

/** The tag covers the time and the number of calls too: from one id no other can be made. */
function tagOf(requestId: string, key: string): number {
  return parseInt(hash("sha256", `id ${key} ${withBits(requestId, 0)}`).slice(0, 5), 16);
}

/** Ids of requests that this service accepts. */
export interface IssuedIds {
  /** Marks the id of a request that is being accepted. */
  mark(requestId: string): string;
  /** True if the id is that of a request that was accepted, or may have been. */
  mayBeAccepted(requestId: string): boolean;
}

export function createIssuedIds(keys: RotatedKeys): IssuedIds {
  return {
    mark: (requestId) => markAccepted(requestId, keys.current),
    mayBeAccepted: (requestId) => mayBeAccepted(requestId, keys),
  };
}
