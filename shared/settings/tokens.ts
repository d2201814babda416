import { createHash, hash, randomBytes, timingSafeEqual } from "node:crypto";
import { isTestClient, type Mode, testClientOf } from "../calls/ids.ts";
import type { Guard } from "../dial-plan/guards.ts";
import { parseJsonText } from "../lib/json-fault.ts";
import * as z from "../lib/zod.ts";

/**
 * Rights that a deployment may deny to all tokens: to read the client's requests, to cancel their waiting calls, and to
 * put numbers onto the do-not-call list.
 */
export const clientRights = ["read", "cancel", "opt_out", "events"] as const;
export type ClientRight = (typeof clientRights)[number];
/** All rights that a client's token may have. */
export const tokenRights = ["call", ...clientRights] as const;
type TokenRight = (typeof tokenRights)[number];
/** Rights of a token whose entry names none. */
const defaultRights = ["call"] as const;

/**
 * Roles of operators' tokens: to see calls without their numbers, to find the calls of a number, to decide the outcome of calls, to place
 * calls for a client, to reveal numbers and contexts, and to change what is for all calls or for good. A token without `roles` has
 * all of them; `see` is implied by each.
 */
export const operatorRoles = ["see", "find", "decide", "send", "reveal", "configure"] as const;
export type OperatorRole = (typeof operatorRoles)[number];

/** A name that is not one of a client's tests. */
const realName = z.string().check(
  z.minLength(1),
  z.refine((name) => !isTestClient(name), 'must not begin with "test:"'),
);

const tokenSchema = z.strictObject({
  /** Name of the token in logs. */
  id: realName,
  /** SHA-256 of the whole token, in hex. */
  sha256: z.string().check(z.regex(/^[0-9a-f]{64}$/i, "must be 64 hex digits")),
  /** Owner of the token: the scope of an Idempotency-Key, kept when the token is rotated. */
  client: z.optional(realName),
  /** `test`: its calls are tests, which nobody receives (docs/sandbox.md). */
  mode: z.optional(z.literal("test")),
  /** Agents that the token may place calls for; `*` is all of them. */
  agents: z._default(z.array(z.string().check(z.minLength(1))).check(z.minLength(1)), ["*"]),
  /** Absent: `call` alone. */
  rights: z.optional(z.array(z.string()).check(z.minLength(1))),
  /** Roles of an operator's token. Absent: all. */
  roles: z.optional(z.array(z.string()).check(z.minLength(1))),
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

type StoredEntry = z.infer<typeof tokenSchema>;

/** An entry of a list of tokens, with the rights and roles that this version knows. */
export interface TokenEntry extends Omit<StoredEntry, "rights" | "roles"> {
  rights?: readonly TokenRight[] | undefined;
  roles?: readonly OperatorRole[] | undefined;
}

export interface Caller {
  tokenId: string;
  client: string;
  mode: Mode;
  agents: string[];
  rights: readonly TokenRight[];
  /** Roles of an operator. A client has none. */
  roles?: readonly OperatorRole[] | undefined;
  /** Limits beside the plan's guards, of a client that operators made. */
  quota?: Guard | undefined;
}

/** Name of a variable with a list of tokens. */
type ListName = "API_TOKENS" | "OPERATOR_TOKENS";

/**
 * Parses the tokens in the variable of this name. A right or role that only a later version knows gives nothing, so
 * that it locks no other token out. @throws an Error that describes the problem without the variable's text
 */
export function parseTokens(json: string, name: ListName = "API_TOKENS"): TokenEntry[] {
  return entriesIn(json, name).map(({ rights, roles, ...entry }) => ({
    ...entry,
    ...(rights && { rights: rights.filter(isTokenRight) }),
    ...(name === "OPERATOR_TOKENS" && { roles: rolesOf(roles) }),
  }));
}

const isTokenRight = (name: string): name is TokenRight => tokenRights.some((one) => one === name);

/** Parses tokens that are to be stored. @throws an Error for an unknown right or role, too, which may be a typo */
export function parseNewTokens(json: string, name: ListName = "API_TOKENS"): TokenEntry[] {
  const known: ReadonlySet<string> = new Set([...tokenRights, ...operatorRoles]);
  const named = entriesIn(json, name).flatMap(({ rights = [], roles = [] }) => [
    ...rights,
    ...roles,
  ]);
  if (named.every((one) => known.has(one))) return parseTokens(json, name);
  throw new Error(
    `${name}: rights must be of ${tokenRights.join(", ")}; roles of ${operatorRoles.join(", ")}`,
  );
}

function entriesIn(json: string, name: ListName): StoredEntry[] {
  const parsed = tokensSchema.safeParse(parseJsonText(json, name));
  if (!parsed.success) throw new Error(`${name}: ${z.prettifyError(parsed.error)}`);
  if (name === "OPERATOR_TOKENS") parsed.data.forEach(requireOperator);
  else if (parsed.data.some(({ roles }) => roles !== undefined)) {
    throw new Error(`${name}: roles are for operators' tokens; give a client's token rights`);
  }
  return parsed.data;
}

/** @throws an Error if an operator's entry has what only a client's token may have */
function requireOperator(entry: StoredEntry): void {
  if (!entry.agents.includes("*")) {
    throw new Error("OPERATOR_TOKENS: an operator sees all agents; agents cannot be given");
  }
  if (entry.mode !== undefined) {
    throw new Error("OPERATOR_TOKENS: an operator has no mode; it is for clients' tokens");
  }
  if (entry.rights !== undefined) {
    throw new Error("OPERATOR_TOKENS: rights are for clients' tokens; give an operator roles");
  }
}

/** Returns an operator's roles, with the implied one. */
function rolesOf(given: readonly string[] = operatorRoles): OperatorRole[] {
  const roles = operatorRoles.filter((role) => given.includes(role));
  return roles.length === 0 || roles.includes("see") ? roles : ["see", ...roles];
}

/** Returns the caller to whom `token` belongs, or undefined. Every entry is compared, in constant time. */
export function findCaller(
  token: string,
  tokens: readonly TokenEntry[],
  now: number,
): Caller | undefined {
  // `hash` takes a tenth of the time of createHash. Hex, as a buffer as its output takes twice as long.
  const digest = Buffer.from(hash("sha256", token, "hex"), "hex");
  let found: Caller | undefined;
  for (const entry of tokens) {
    const { id, sha256, agents, rights = defaultRights, roles } = entry;
    const same = timingSafeEqual(digest, Buffer.from(sha256, "hex"));
    const isValid = isValidAt(entry, now);
    if (!same || !isValid) continue;
    const { mode = "live" } = entry;
    found = { tokenId: id, client: ownerOf(entry), mode, agents, rights, roles };
  }
  return found;
}

function isValidAt({ notAfter }: { notAfter?: string | undefined }, now: number): boolean {
  return notAfter === undefined || now < Date.parse(notAfter);
}

/** True if a token of the client, or of its tests, is valid. */
export function hasTokenOf(client: string, tokens: readonly TokenEntry[], now: number): boolean {
  return tokens.some((entry) => (entry.client ?? entry.id) === client && isValidAt(entry, now));
}

/** Returns the client whose calls a token places: those of a test token are of a client of their own. */
function ownerOf({ id, client = id, mode }: Pick<TokenEntry, "id" | "client" | "mode">): string {
  return mode === "test" ? testClientOf(client) : client;
}

/** Agents for which the valid tokens of each client may place calls; `*` is all of them. */
export type AgentsByClient = ReadonlyMap<string, readonly string[]>;

/** Returns the clients whose valid tokens may place calls, with the agents of these. */
export function readAgentsByClient(tokens: readonly TokenEntry[], now: number): AgentsByClient {
  const valid = tokens.filter(
    (entry) => (entry.rights ?? defaultRights).includes("call") && isValidAt(entry, now),
  );
  return joinAgents(valid.map((entry): [string, string[]] => [ownerOf(entry), entry.agents]));
}

/** Joins agents by their client, each once. */
export function joinAgents(
  all: Iterable<readonly [client: string, agents: readonly string[]]>,
): AgentsByClient {
  const joined = new Map<string, readonly string[]>();
  for (const [client, agents] of all) {
    joined.set(client, [...new Set([...(joined.get(client) ?? []), ...agents])]);
  }
  return joined;
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Beginning of the tokens that operators make (made-token.ts). */
export const madePrefix = "oc1_";

/** Returns random characters, each of 62 equally likely. */
export function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    const byte = randomBytes(1)[0] ?? 255;
    if (byte < 248) text += base62[byte % 62]; // 248 = 4 × 62
  }
  return text;
}

/** Creates a token, `oc_` and 30 base62 characters (178 random bits), and the hash to store. */
export function createToken(): { token: string; sha256: string } {
  const token = `oc_${randomBase62(30)}`;
  return { token, sha256: createHash("sha256").update(token).digest("hex") };
}
