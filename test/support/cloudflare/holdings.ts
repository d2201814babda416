import type { DatabaseSync } from "node:sqlite";
import type { ApiAnswer, ApiRequest } from "./endpoint.ts";

/** A database of D1. */
export interface Database {
  id: string;
  content: DatabaseSync;
}

/** A bucket of R2, by its lifecycle rules. */
interface Bucket {
  rules: unknown[];
}

/** A Worker. */
export interface Script {
  secrets: Map<string, string>;
  /** Metadata of its versions, the latest last. A Worker that secrets alone have made has none but an empty one. */
  versions: Record<string, unknown>[];
  crons: unknown;
  /** Settings that are of no version, such as those of its log. */
  settings: unknown;
  /** True if it has an address, and if its versions have. */
  subdomain: { enabled: boolean; previews_enabled: boolean };
}

/** A queue with what consumes it. */
export interface Queue {
  id: string;
  settings: Record<string, unknown>;
  consumers: { id: string; script: string; settings: unknown; dead_letter_queue?: string }[];
}

/** Content of an account of Cloudflare. */
export interface Holdings {
  queues: Map<string, Queue>;
  databases: Map<string, Database>;
  buckets: Map<string, Bucket>;
  scripts: Map<string, Script>;
}

let count = 0;
export const fresh = (): string => `id-${String((count += 1))}`;

/** Answers a request about a part of the account; undefined: about another part. */
export type Answerer = (holdings: Holdings, request: ApiRequest) => ApiAnswer | undefined;
