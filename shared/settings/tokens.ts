import { createHash, hash, randomBytes, timingSafeEqual } from "node:crypto";
import * as z from "../lib/zod.ts";

/**
 * Rights that a deployment may deny to all tokens: to read the client's requests, to cancel their waiting calls, and to
 * put numbers onto the do-not-call list.
 */
export const clientRights = ["read", "cancel", "opt_out"] as const;
export type ClientRight = (typeof clientRights)[number];
/** All rights that a client's token may have. */
export const tokenRights = ["call", ...clientRights] as const;
type TokenRight = (typeof tokenRights)[number];
/** Rights of a token whose entry names none. */
const defaultRights = ["call"] as const;

const tokenSchema = z.strictObject({
  /** Name of the token in logs. */
  id: z.string().check(z.minLength(1)),
  /** SHA-256 of the whole token, in hex. */
  sha256: z.string().check(z.regex(/^[0-9a-f]{64}$/i, "must be 64 hex digits")),
  /** Owner of the token: the scope of an Idempotency-Key, kept when the token is rotated. */
  client: z.optional(z.string().check(z.minLength(1))),
  /** Agents that the token may place calls for; `*` is all of them. */
  agents: z._default(z.array(z.string().check(z.minLength(1))).check(z.minLength(1)), ["*"]),
  /** Absent: `call` alone. */
  rights: z.optional(z.array(z.enum(tokenRights)).check(z.minLength(1))),
  /** End of the token's validity: a date or an instant, ISO 8601. */
  notAfter: z.optional(
    z
      .string()
      .check(z.refine((text) => !Number.isNaN(Date.parse(text)), "must be an ISO 8601 date")),
  ),
});

const tokensSchema = z.array(tokenSchema).check(
  z.minLength(1, "must hold at least one token"),
  z.refine(
    (tokens) => new Set(tokens.map(({ id }) => id)).size === tokens.length,
    "must not hold two tokens of one id",
  ),
);

export interface Caller {
  tokenId: string;
  client: string;
  agents: string[];
  rights: readonly TokenRight[];
}

/**
 * Parses the tokens in the variable of this name. @throws an Error that describes the problem without the
 * variable's text
 */
export function parseTokens(
  json: string,
  name: "API_TOKENS" | "OPERATOR_TOKENS" = "API_TOKENS",
): z.infer<typeof tokensSchema> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Error(`${name} is not JSON`); // the parser's message would quote the text
  }
  const parsed = tokensSchema.safeParse(value);
  if (!parsed.success) throw new Error(`${name}: ${z.prettifyError(parsed.error)}`);
  const limited = parsed.data.some(({ agents }) => !agents.includes("*"));
  if (limited && name === "OPERATOR_TOKENS") {
    throw new Error(`${name}: an operator sees all agents; agents cannot be given`);
  }
  if (parsed.data.some(({ rights }) => rights !== undefined) && name === "OPERATOR_TOKENS") {
    throw new Error(`${name}: an operator may do everything; rights cannot be given`);
  }
  return parsed.data;
}

/** Returns the caller to whom `token` belongs, or undefined. Every entry is compared, in constant time. */
export function findCaller(
  token: string,
  tokens: z.infer<typeof tokensSchema>,
  now: number,
): Caller | undefined {
  // `hash` takes a tenth of the time of createHash. Hex, as a buffer as its output takes twice as long.
  const digest = Buffer.from(hash("sha256", token, "hex"), "hex");
  let found: Caller | undefined;
  for (const { id, sha256, client, agents, rights = defaultRights, notAfter } of tokens) {
    const same = timingSafeEqual(digest, Buffer.from(sha256, "hex"));
    const valid = notAfter === undefined || now < Date.parse(notAfter);
    if (same && valid) found = { tokenId: id, client: client ?? id, agents, rights };
  }
  return found;
}

/**
 * Returns the agents for which a client's valid tokens may place calls; `*` is all of them. Empty if there is no such
 * token.
 */
export function agentsOfClient(
  client: string,
  tokens: z.infer<typeof tokensSchema>,
  now: number,
): string[] {
  const own = tokens.filter(
    ({ id, client: owner = id, rights = defaultRights, notAfter }) =>
      owner === client &&
      rights.includes("call") &&
      (notAfter === undefined || now < Date.parse(notAfter)),
  );
  return [...new Set(own.flatMap(({ agents }) => agents))];
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Creates a token, `oc_` and 30 base62 characters (178 random bits), and the hash to store. */
export function createToken(): { token: string; sha256: string } {
  let text = "oc_";
  while (text.length < 33) {
    const byte = randomBytes(1)[0] ?? 255;
    if (byte < 248) text += base62[byte % 62]; // 248 = 4 × 62: every character equally likely
  }
  return { token: text, sha256: createHash("sha256").update(text).digest("hex") };
}
