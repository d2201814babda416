import type { FoundDocument, ValueOf } from "#shared/ports/document-kinds.ts";
import type { DuePosition } from "#shared/ports/ledger.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Position of a walk through rows, stored between its steps. `open`: backlogs that are being read; `after`: the last listed one. */
export type Walk = NonNullable<ValueOf<"upkeep">["walk"]>;

/** Backlogs of one step. */
const pageBacklogs = 500;
/** Maximum positions of one step, which the backlogs share: to decide or recover them takes up to 80 statements. */
const positionsMax = 2_000;

/** The beginning of a walk through all backlogs. */
export const allBacklogs: Walk = { after: null, isLast: false, open: [] };

/** The beginning of a walk through one backlog. */
export function oneBacklog(key: string): Walk {
  return { after: null, isLast: true, open: [{ key }] };
}

/** Result of one step. */
export interface Step {
  /** Backlogs that the step has listed, with their documents. */
  listed: FoundDocument<"backlog">[];
  /** Positions by backlog. A backlog that was just listed and has none is empty. */
  found: { key: string; positions: DuePosition[] }[];
  /** Where the next step begins. Null: the walk has ended. */
  next: Walk | null;
}

/**
 * Takes one step through the rows of backlogs: as many backlogs at once as fit into a page, each from its own position.
 * Two statements, however many rows or backlogs there are.
 *
 * @param until the latest due time of the rows
 */
export async function takeStep(
  { after, isLast, open }: Walk,
  { until }: { until: number },
  { documents, ledger }: Pick<DialerDeps, "documents" | "ledger">,
): Promise<Step> {
  const isListing = open.length === 0 && !isLast;
  const listed = isListing
    ? await documents.list("backlog", { after: after ?? undefined, limit: pageBacklogs })
    : [];
  const backlogs: Walk["open"] = isListing ? listed.map(({ key }) => ({ key })) : open;
  const most = Math.max(1, Math.floor(positionsMax / Math.max(1, backlogs.length)));
  const due = await ledger.due({ lanes: backlogs, until, each: most });
  const found = backlogs.map(({ key }, index) => ({ key, positions: due[index] ?? [] }));
  const next: Walk = {
    after: listed.at(-1)?.key ?? after,
    isLast: isLast || (isListing && listed.length < pageBacklogs),
    open: found
      .filter(({ positions }) => positions.length === most)
      .map(({ key, positions }) => ({ key, after: positions.at(-1) })),
  };
  return { listed, found, next: next.isLast && next.open.length === 0 ? null : next };
}
