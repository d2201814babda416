import { DatabaseSync } from "node:sqlite";
import type { ApiAnswer, ApiRequest } from "./endpoint.ts";

/** A database of D1. */
export interface Database {
  id: string;
  content: DatabaseSync;
}

/** A lifecycle rule of R2, as its API has it. */
export interface Rule {
  id: string;
  enabled: boolean;
  conditions: { prefix?: string };
  deleteObjectsTransition?: { condition: { type: string; maxAge: number } };
}

/** A bucket of R2, by its lifecycle rules. */
interface Bucket {
  rules: Rule[];
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
  /** One without a script is pulled from over HTTP. */
  consumers: { id: string; script?: string; settings: unknown; dead_letter_queue?: string }[];
}

/** Content of an account of Cloudflare. */
export interface Holdings {
  /** True if the plan is Workers Paid, whose queues keep messages for more than a day. */
  isPaid: boolean;
  /** True once R2 was switched on. */
  hasR2: boolean;
  queues: Map<string, Queue>;
  databases: Map<string, Database>;
  /** By their names, and their jurisdictions where they have one. */
  buckets: Map<string, Bucket>;
  scripts: Map<string, Script>;
}

let count = 0;
export const fresh = (): string => `id-${String((count += 1))}`;

/** Answers a request about a part of the account; undefined: about another part. */
export type Answerer = (holdings: Holdings, request: ApiRequest) => ApiAnswer | undefined;

/** Returns a copy of what an account holds. */
export function copyOf({ queues, databases, buckets, scripts, isPaid, hasR2 }: Holdings): Holdings {
  const copied = [...databases].map(([name, { id, content }]): [string, Database] => [
    name,
    { id, content: copyOfDatabase(content) },
  ]);
  return {
    ...structuredClone({ queues, buckets, scripts, isPaid, hasR2 }),
    databases: new Map(copied),
  };
}

function copyOfDatabase(content: DatabaseSync): DatabaseSync {
  const copy = new DatabaseSync(":memory:");
  const made = content
    .prepare(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'",
    )
    .all();
  for (const { type, name, sql } of made) {
    copy.exec(String(sql));
    if (type !== "table") continue;
    const table = String(name);
    for (const row of content.prepare(`SELECT * FROM "${table}"`).all()) {
      const values = Object.values(row);
      copy
        .prepare(`INSERT INTO "${table}" VALUES (${values.map(() => "?").join()})`)
        .run(...values);
    }
  }
  return copy;
}
