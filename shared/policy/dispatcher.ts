import type { DocumentsRead } from "../ports/document-kinds.ts";
import type { Served } from "./turns.ts";

/** Names the document of the dispatcher. */
export const dispatcherKey = { kind: "dispatcher", key: "dispatcher" } as const;

/** Returns the dispatcher's record of an account; undefined if none of the account's calls was due yet. */
export function findDispatched(account: string, documents: DocumentsRead) {
  const { kind, key } = dispatcherKey;
  const { accounts = {} } = documents.get(kind, key)?.value ?? {};
  return Object.hasOwn(accounts, account) ? accounts[account] : undefined;
}

/** Returns the client and agents that the dispatcher served last at an account. */
export function findServedAt(account: string, documents: DocumentsRead): Served {
  const { client = "", agents = {} } = findDispatched(account, documents) ?? {};
  return { client, agents: new Map(Object.entries(agents)) };
}
