import { testClientOf } from "#shared/calls/ids.ts";
import { hourMs, minuteMs } from "#shared/lib/units.ts";
import type { FoundDocument } from "#shared/ports/document-kinds.ts";
import { skipUnreadable } from "#shared/ports/found-documents.ts";
import { notOfToday, readOfToday } from "#shared/policy/ledger-epoch.ts";
import {
  agentsOfBoth,
  allTokens,
  clientKeyOf,
  isTokenValid,
  type StoredClient,
  type StoredToken,
  tokenKeyOf,
} from "#shared/policy/stored-tokens.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { createTokenMaker, hasHash } from "#shared/settings/made-token.ts";
import {
  type AgentsByClient,
  type Caller,
  joinAgents,
  tokenRights,
} from "#shared/settings/tokens.ts";
import type { ApiDeps, FoundCaller } from "./context.ts";
import { createCachedReads } from "./cached-reads.ts";
import { causeForLog, UncheckedTokenError } from "./port-limits.ts";

/** Time for which a token is cached. A revocation works everywhere after this time. */
const cachedMs = minuteMs;
/** Maximum cached tokens. */
const cachedMax = 5_000;
/** Time for which the object store's last known epoch is trusted, as by the dialer. */
const epochKnownMsMax = 5 * minuteMs;
/** Age of the noted time of use after which a use is noted again. */
const recordedMs = hourMs;

/** A token of the ledger and its client. Undefined: there is none. */
type Found = { token: StoredDocument<"token">; client: StoredClient | undefined } | undefined;

/** Resolves tokens that operators made. */
export type MadeTokens = Pick<ApiDeps, "callerOf" | "agentsByClient">;

/**
 * Creates the resolver of tokens that operators made. A token with a wrong MAC costs no read. Any other token is read
 * from the ledger at most once a minute in each process, and otherwise resolved from the cache. While the ledger
 * counts as restored, a revoked token may look valid, so only cached tokens are resolved.
 */
export function createMadeTokens(deps: ApiDeps): MadeTokens {
  const { settings, listedTokens, documents, clock } = deps;
  const maker = createTokenMaker(settings);
  const readEpoch = createEpochReader(deps);

  async function readToken(id: string): Promise<Found> {
    try {
      const epoch = await readEpoch.next();
      const found = await readOfToday([tokenKeyOf(id)], epoch, documents);
      readEpoch.remember(found.epoch);
      if (!found.isOfToday) throw new UncheckedTokenError(notOfToday);
      const token = found.read.get("token", id);
      if (token === undefined) return undefined;
      const clientKey = clientKeyOf(token.value.client);
      const client = (await documents.read([clientKey])).get("client", clientKey.key)?.value;
      if (isTokenValid(token.value, client, clock.now())) recordUse(token, deps);
      return { token, client };
    } catch (cause) {
      if (cause instanceof UncheckedTokenError) throw cause;
      throw new UncheckedTokenError("the token cannot be read", { cause });
    }
  }
  const tokens = createCachedReads(readToken, { cachedMs, cachedMax, now: () => clock.now() });

  const toCaller = (token: string, found: Found, now: number): Caller | undefined => {
    if (found === undefined || !hasHash(token, found.token.value.sha256)) return undefined;
    const { client, token: stored } = found;
    return client !== undefined && isTokenValid(stored.value, client, now)
      ? callerOf(stored, client)
      : undefined;
  };

  return {
    callerOf(token, now): FoundCaller {
      const id = maker.readId(token);
      if (id === undefined) return undefined;
      if (listedTokens === undefined) {
        return Promise.reject(new UncheckedTokenError("API_TOKENS cannot be read"));
      }
      // An entry of the same id in API_TOKENS replaces the token, for example an expired entry.
      if (listedTokens.has(id)) return undefined;
      const known = tokens.known(id);
      if (known !== undefined) return toCaller(token, known.value, now);
      return tokens.find(id).then((found) => toCaller(token, found, now));
    },
    agentsByClient: (now) => readMadeAgents(deps, now),
  };
}

/**
 * Reads the clients that may place calls by valid tokens of operators, with their agents. A token is left out if
 * API_TOKENS has an entry of its id, because the entry replaces it.
 */
async function readMadeAgents(
  { documents, listedTokens, log }: Pick<ApiDeps, "documents" | "listedTokens" | "log">,
  now: number,
): Promise<AgentsByClient> {
  const listed: FoundDocument<"token">[] = [];
  for await (const token of allTokens(documents)) listed.push(token);
  const made = skipUnreadable(listed, { log })
    .filter(({ key, value }) => value.rights.includes("call") && listedTokens?.has(key) !== true)
    .map(({ value }) => value);
  const names = [...new Set(made.map(({ client }) => client))];
  const read = await documents.read(names.map(clientKeyOf));
  return joinAgents(
    made.flatMap((token) => {
      const client = read.get("client", token.client)?.value;
      return client !== undefined && isTokenValid(token, client, now)
        ? [[ownerOf(token), agentsOfBoth(token.agents, client.agents)] as const]
        : [];
    }),
  );
}

function callerOf({ key, value }: StoredDocument<"token">, client: StoredClient): Caller {
  return {
    tokenId: key,
    client: ownerOf(value),
    mode: value.isTest ? "test" : "live",
    agents: agentsOfBoth(value.agents, client.agents),
    rights: tokenRights.filter((right) => value.rights.includes(right)),
    quota: client.quota ?? undefined,
  };
}

/** Returns the client whose calls a token places: those of a test token are of a client of their own. */
function ownerOf({ client, isTest }: StoredToken): string {
  return isTest ? testClientOf(client) : client;
}

/**
 * Creates a reader of the highest epoch that this process has seen. A process that has seen none cannot detect a
 * restore.
 */
function createEpochReader({ epochStore, clock }: ApiDeps) {
  let seen = 0;
  let knownAt = -Infinity;
  const remember = (epoch = 0) => (seen = Math.max(seen, epoch));
  const read = async () => {
    try {
      remember(await epochStore.read());
      knownAt = clock.now();
    } catch (error) {
      if (clock.now() - knownAt > epochKnownMsMax) throw error;
    }
  };
  const reads = createCachedReads(read, {
    cachedMs: minuteMs,
    cachedMax: 1,
    now: () => clock.now(),
  });
  return {
    remember,
    async next(): Promise<number> {
      await reads.find("epoch");
      return seen;
    },
  };
}

/**
 * Notes in the ledger that a token is used, at most once an hour, in parallel with the request. If the write is lost,
 * because the process stops or another write came first, the token's next read notes it.
 */
function recordUse(
  { kind, key, version, value, expiresAt }: StoredDocument<"token">,
  { documents, clock, randomId, log }: ApiDeps,
): void {
  const now = clock.now();
  if (value.usedAt !== null && now - value.usedAt < recordedMs) return;
  const next = { kind, key, version: randomId(), value: { ...value, usedAt: now }, expiresAt };
  documents.write([{ next, seen: version }]).catch((error: unknown) => {
    log("warning", "token.use_not_noted", { token_id: key, error: causeForLog(error) });
  });
}
