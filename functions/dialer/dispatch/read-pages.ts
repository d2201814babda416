import { type CallLedger, comparePositions } from "#shared/ports/ledger.ts";
import type { BacklogPage } from "./in-flight.ts";

/** Maximum rows of one query, and maximum rows of a backlog that is read together with many others. */
const pageRowsMax = 2_000;
const fewRows = 4;
/** A time after every due time. */
const endOfTime = Number.MAX_SAFE_INTEGER;

/**
 * Reads the first rows of backlogs, as many of each as needed: backlogs that need few in one query, the others in
 * another.
 *
 * @param needs rows to read, by the backlog's key
 */
export async function readPages(
  needs: ReadonlyMap<string, number>,
  ledger: Pick<CallLedger, "due">,
): Promise<Map<string, BacklogPage>> {
  const groups = [
    [...needs].filter(([, count]) => count <= fewRows),
    [...needs].filter(([, count]) => count > fewRows),
  ].filter((group) => group.length > 0);
  const pages = await Promise.all(
    groups.map(async (group): Promise<[string, BacklogPage][]> => {
      const most = Math.max(...group.map(([, count]) => count));
      // One more row shows if any is left.
      const each = Math.max(2, Math.min(most + 1, Math.floor(pageRowsMax / group.length)));
      const backlogs = group.map(([key]) => ({ key }));
      const found = await ledger.due({ lanes: backlogs, until: endOfTime, each });
      return group.map(([key], index) => {
        const rows = found[index] ?? [];
        return [key, { rows: rows.toSorted(comparePositions), isCut: rows.length >= each }];
      });
    }),
  );
  return new Map(pages.flat());
}
