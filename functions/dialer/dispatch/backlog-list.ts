import type { StoredDocument } from "../../../shared/ports/document-kinds.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Documents of one page, and pages that one look reads. */
export const pageDocuments = 5_000;
const pagesPerLook = 2;

type Backlog = StoredDocument<"backlog">;

/** The documents of all backlogs, as far as one dispatcher has read them. */
export interface BacklogList {
  /** Reads on, some pages at each look. Returns true at the end of a listing: backlogs that are gone are forgotten then. */
  readOn(): Promise<boolean>;
  get(key: string): Backlog | undefined;
  all(): Iterable<Backlog>;
  /** True in the midst of a listing: there may be backlogs that were never read. */
  isReading(): boolean;
}

export function createBacklogList({ documents }: Pick<DialerDeps, "documents">): BacklogList {
  let backlogs = new Map<string, Backlog>();
  /** The backlogs of the listing that is under way, and where it goes on. */
  let listing = new Map<string, Backlog>();
  let after: string | undefined;
  return {
    async readOn() {
      for (let page = 0; page < pagesPerLook; page++) {
        const listed = await documents.list("backlog", { after, limit: pageDocuments });
        for (const one of listed) {
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
