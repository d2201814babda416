import type { DocumentsRead } from "../ports/document-kinds.ts";
import type { Served } from "./turns.ts";
import { type StandsBy, standsByNames } from "../calls/stands-by.ts";

/** Names the document of the dispatcher. */
export const dispatcherKey = { kind: "dispatcher", key: "dispatcher" } as const;

/** Returns what the dispatcher notes of an account; undefined where none of its calls was due yet. */
export function findDispatched(account: string, documents: DocumentsRead) {
  const { kind, key } = dispatcherKey;
  const { accounts = {} } = documents.get(kind, key)?.value ?? {};
  return Object.hasOwn(accounts, account) ? accounts[account] : undefined;
}

/** Returns why due calls of an account stand still; null if none do, or by a name that this version does not know. */
export function findStillReason(account: string, documents: DocumentsRead): StandsBy | null {
  const why = findDispatched(account, documents)?.why;
  return standsByNames.find((name) => name === why) ?? null;
}

/** Returns who was served last at an account, as the dispatcher notes it. */
export function findServedAt(account: string, documents: DocumentsRead): Served {
  const { client = "", agents = {} } = findDispatched(account, documents) ?? {};
  return { client, agents: new Map(Object.entries(agents)) };
}
