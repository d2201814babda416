import type { Documents } from "#shared/ports/documents.ts";
import type { CallLedger, DuePosition } from "#shared/ports/ledger.ts";
import { endOfTime } from "../api/http/fields.ts";

/** Backlogs whose waiting calls are read at once, and maximum backlogs that are read. */
const backlogsAtOnce = 20;
const backlogsMost = 1000;

/** Finds waiting calls, at most `most` of a backlog, until `most` are found or 1,000 backlogs are read. */
export async function readWaitingPositions(
  ledger: CallLedger,
  documents: Documents,
  most: number,
): Promise<DuePosition[]> {
  const positions: DuePosition[] = [];
  let after: string | undefined;
  for (let asked = 0; asked < backlogsMost && positions.length < most; asked += backlogsAtOnce) {
    const listed = await documents.list("backlog", { after, limit: backlogsAtOnce });
    if (listed.length === 0) break;
    const backlogs = listed.map(({ key }) => ({ key }));
    const found = await ledger.due({ backlogs, until: endOfTime, each: most });
    positions.push(...found.flat());
    after = listed.at(-1)?.key;
  }
  return positions;
}
