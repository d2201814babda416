import type { Hono } from "hono";
import type { ResultStatus } from "#shared/calls/call-result.ts";
import type { CallState } from "#shared/calls/states.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { DeadLetters } from "#shared/ports/dead-letters.ts";
import type { Journal } from "#shared/ports/journal.ts";
import type { EpochStore } from "#shared/ports/epoch-store.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import type { ProviderType } from "#shared/calls/provider-types.ts";
import type { CallbackSubject } from "#shared/settings/callback-url.ts";
import type { KeyedHashes } from "#shared/lib/keyed-hashes.ts";
import type { RotatedKeys } from "#shared/lib/rotated-keys.ts";
import type { NumberHasher } from "#shared/telephony/number-hashes.ts";
import type { Log } from "#shared/lib/log.ts";
import type { CallQueue } from "#shared/ports/queue.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { ApiSettings, Settings } from "#shared/settings/settings.ts";
import type { AgentsByClient, Caller, ClientRight } from "#shared/settings/tokens.ts";

/** Names of the files that the build makes and the API serves: the operator's console and the OpenAPI documents. */
export type ServedFile =
  | "page.html"
  | "page.js"
  | "views.js"
  | "shared.js"
  | "leads.js"
  | "page.css"
  | "docs.html"
  | "openapi.json"
  | "operator-openapi.json";

/**
 * Loads the parts of the API that few requests need. A process evaluates a part at its first such request, not at its
 * start.
 */
export interface Parts {
  /** Creates the operator's console and API, below `/operator`. */
  operator(): Promise<
    (
      deps: ApiDeps | undefined,
      others: PlatformDeps & { operatorOf: NonNullable<ApiDeps["operatorOf"]> },
    ) => Hono<ApiEnv>
  >;
  /** Creates the clients' other routes below `/v1`. */
  requests(): Promise<(deps: ApiDeps | undefined, others: PlatformDeps) => Hono<ApiEnv>>;
}

/** Dependencies that exist even if the settings are wrong. */
export type PlatformDeps = Omit<ApiDeps, "settings">;

/** Dependencies of the API, with valid settings. */
export interface ApiDeps {
  queue: CallQueue;
  /** Queue of providers' callbacks. */
  eventsQueue: CallQueue<EventMessage>;
  ledger: CallLedger;
  documents: Documents;
  deadLetters: DeadLetters;
  /** Keeps changes that a restore of the ledger must not undo. */
  journal: Pick<Journal, "append">;
  settings: ApiSettings;
  /**
   * Resolves a client's token; `now` is in milliseconds since the epoch. A promise, where the ledger is asked, rejects with an
   * UncheckedTokenError if that fails.
   */
  callerOf(token: string, now: number): FoundCaller;
  /** Resolves to the clients whose valid tokens may place calls, with the agents of these; `*` is all. */
  agentsByClient(now: number): Promise<AgentsByClient>;
  /** Ids of the tokens of API_TOKENS. Undefined if it cannot be read. */
  listedTokens: ReadonlySet<string> | undefined;
  /** True if API_TOKENS has a valid token of the client; `now` is in milliseconds since the epoch. */
  isListedClient(client: string, now: number): boolean;
  /** The epoch by which a restore of the ledger is noticed. */
  epochStore: Pick<EpochStore, "read">;
  /** Rights beyond `call` that the deployment permits to clients' tokens. Absent: none. */
  clientRights?: readonly ClientRight[] | undefined;
  /** Counts requests by their token, or by what it reads. Resolves to false above the limit. Absent: there is none. */
  tokenLimit?: ((tokenId: string) => Promise<boolean>) | undefined;
  /** Resolves an operator's token. Undefined disables the operator API. */
  operatorOf?: ((token: string, now: number) => Caller | undefined) | undefined;
  /**
   * Resolves to the contents of a served file. Files are not in the bundle, which each start has to read: they are
   * the Worker's assets, or beside the Lambda's handler. Rejects if the file was not deployed.
   */
  readServed(name: ServedFile): Promise<string | ReadableStream>;
  parts: Parts;
  clock: {
    /** Current time in milliseconds since the epoch. */
    now(): number;
  };
  /** Returns a fresh UUID (version 4) without its hyphens: 32 hex digits. */
  randomId(): string;
  log: Log;
}

/** Dependencies from an entry, with unchecked settings. */
export type UncheckedApiDeps = Omit<ApiDeps, "settings"> & { settings: Settings<ApiSettings> };

/** The caller to whom a token belongs; undefined if it is not valid. */
export type FoundCaller = Caller | undefined | Promise<Caller | undefined>;

/** Counts of a request's calls. */
export interface Progress {
  counts: {
    by_state: Partial<Record<CallState, number>>;
    by_result: Partial<Record<ResultStatus, number>>;
    /** Calls whose callee was promised a call-back. Absent: none. */
    promised?: number;
  };
  finished: boolean;
}

/** Cache of requests' counts in this process. */
export interface RequestProgress {
  /**
   * Resolves to the progress of a request, at most one millisecond per call old. Thus repeated requests cause at most
   * a thousand row reads a second, and concurrent ones share a count.
   *
   * @param total calls of the request
   */
  of(requestId: string, total: number): Promise<Progress>;
  /** Drops a request's counts, after its calls were changed. */
  forget(requestId: string): void;
}

/** Dependencies of the routes that read or change calls. */
export interface RouteDeps extends ApiDeps {
  plan: DialPlan;
  /** Time for which the plan keeps ended calls, in milliseconds. */
  retentionMs: number;
  numbers: NumberHasher;
  hashes: KeyedHashes;
  /** Keys of the secrets of clients' own receivers. */
  eventsKeys: RotatedKeys;
  random: {
    /** Returns a fresh version of a row or document. */
    version(): string;
  };
  /** Cached counts of requests. */
  progress: RequestProgress;
}

/** Request-scoped values that the middleware sets for handlers. */
export interface ApiEnv {
  Variables: {
    requestId: string;
    caller: Caller;
    /** Subject of a provider's callback, and the type of its account. Undefined: the plan has no such account any more. */
    callback: CallbackSubject & { provider: ProviderType | undefined };
  };
}
