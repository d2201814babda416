import type { DialPlan } from "../../shared/dial-plan/dial-plan.ts";
import type { Documents } from "../../shared/documents/documents.ts";
import type { CallLedger } from "../../shared/ledger/call-ledger.ts";
import type { Log } from "../../shared/platform/log.ts";
import type { CallQueue } from "../../shared/queue/call-queue.ts";
import type { ApiSettings, Settings } from "../../shared/platform/settings.ts";
import type { Caller } from "../../shared/platform/tokens.ts";

/** What the API needs of the platform it runs on. */
export interface ApiDeps {
  queue: CallQueue;
  /** Made by the first request that needs it. */
  ledger(): Promise<CallLedger>;
  /** Made by the first request that needs them. */
  documents(): Promise<Documents>;
  settings: Settings<ApiSettings>;
  /** Resolves a client's token; `now` is in milliseconds since the epoch. */
  callerOf(token: string, now: number): Caller | undefined;
  /** Resolves an operator's token. Undefined disables the operator API. */
  operatorOf?: ((token: string, now: number) => Caller | undefined) | undefined;
  clock: {
    /** Milliseconds since the epoch. */
    now(): number;
  };
  /** A fresh UUID (version 4) without its hyphens: 32 hex digits. */
  randomId(): string;
  log: Log;
}

/** What the operator's routes need besides: settings that are right. */
export interface OperatorDeps extends ApiDeps {
  plan: DialPlan;
  /** How long the plan has ended calls kept, in milliseconds. */
  retentionMs: number;
  /** Keys the hashes of numbers. */
  hashKey: string;
}

/** Request-scoped values that the middleware sets for handlers. */
export interface ApiEnv {
  Variables: { requestId: string; caller: Caller; body: Uint8Array };
}
