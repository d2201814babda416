import { randomUUID } from "node:crypto";

/**
 * 122 random bits in 32 hex digits: a UUID (RFC 9562, version 4) without its hyphens. Runtimes keep random bytes in
 * stock for these, where each `randomBytes` asks the system anew: a tenth of what accepting a call cost.
 */
export function randomId(): string {
  return randomUUID().replaceAll("-", "");
}
