import { backlogOfKey } from "#shared/calls/call-row.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Documents of one page, and maximum pages that one tick reads. */
export const pageDocuments = 5_000;
const pagesPerLook = 2;

type Backlog = StoredDocument<"backlog">;

/** The documents of backlogs that one dispatcher has read. */
export interface BacklogList {
  /** Reads the next pages of a listing. Returns true at its end, when removed backlogs are forgotten. */
  readOn(): Promise<boolean>;
  get(key: string): Backlog | undefined;
  all(): Iterable<Backlog>;
  /** True during a listing. There may be backlogs that were never read. */
  isReading(): boolean;
}

/** Creates the list. Backlogs that only a later version can read wait: they are left out, with an alarm each. */
export function createBacklogList({
  documents,
  log,
}: Pick<DialerDeps, "documents" | "log">): BacklogList {
  const warnedOf = new Set<string>();
  let backlogs = new Map<string, Backlog>();
  /** The backlogs of the current listing, and its cursor. */
  let listing = new Map<string, Backlog>();
  let after: string | undefined;
  return {
    async readOn() {
      for (let page = 0; page < pagesPerLook; page++) {
        const listed = await documents.list("backlog", { after, limit: pageDocuments });
        for (const one of listed) {
          if (!isReadable(one)) {
            if (!warnedOf.has(one.key)) log("alarm", "document.unreadable", nameIn(one.key));
            warnedOf.add(one.key);
            continue;
          }
          listing.set(one.key, one);
          backlogs.set(one.key, one);
        }
        after = listed.at(-1)?.key;
        if (listed.length === pageDocuments) continue;
        backlogs = listing;
        [listing, after] = [new Map(), undefined];
        return true;
      }
      return false;
    },
    get: (key) => backlogs.get(key),
    all: () => backlogs.values(),
    isReading: () => after !== undefined,
  };
}

function nameIn(key: string): { client: string; agent_id: string } {
  const { client, agentId } = backlogOfKey(key);
  return { client, agent_id: agentId };
}
