import { type Call } from "#shared/calls/call-request.ts";
import { toCall, type ClientAgent } from "#shared/calls/call-row.ts";
import { callBackLateMs } from "#shared/calls/tries.ts";
import { requestIdOf, timeOfId, type ClientOfMode } from "#shared/calls/ids.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import type { CallLedger, DuePosition } from "#shared/ports/ledger.ts";
import { endOfTime } from "#functions/api/http/fields.ts";

/** Maximum rows whose positions are read, and maximum rows that are read whole. */
const positionsMax = 50_000;
const rowsMax = 1_000;
/** Backlogs per list, and lists. */
const pageBacklogs = 500;
const pagesMax = 2;
/** Maximum backlogs and positions of one read of positions, and maximum rows of one read, as a row may have 33 kB. */
const backlogsAtOnce = 100;
const positionsAtOnce = 5_000;
const rowsAtOnce = 100;

type Backlog = StoredDocument<"backlog">;

/** A call that waits in a backlog. */
export interface WaitingCall {
  call: Call;
  backlog: string;
  dueAt: number;
  reason: string;
  /** False if the row's request was not read. Then `request` is a neighbour's. */
  hasNumber: boolean;
}

/** The waiting calls of one backlog. */
interface BacklogRead {
  backlog: Backlog;
  positions: DuePosition[];
  /** True if all positions were read. */
  isWhole: boolean;
}

/** The waiting calls that were read. */
export interface BacklogsRead {
  waiting: WaitingCall[];
  /** Agents of backlogs that were read in part. */
  agentsCut: Set<string>;
  /** True if some backlogs were not read at all. */
  isCut: boolean;
}

/**
 * Reads the waiting calls of some agents' backlogs: the positions of at most 50,000 calls, and the requests of at
 * most 1,000 of these, evenly spread. A row whose request was not read is assumed to be like the last read row before
 * it.
 */
export async function readBacklogs(
  isWanted: (of: ClientAgent & ClientOfMode) => boolean,
  { documents, ledger }: { documents: Documents; ledger: CallLedger },
): Promise<BacklogsRead> {
  const { backlogs, isCut } = await listBacklogs(documents);
  const reads = await readPositions(
    backlogs.filter(({ value }) => isWanted(value)),
    ledger,
  );
  const total = reads.reduce((sum, { positions }) => sum + positions.length, 0);
  // At least one request of each backlog is read.
  const step = Math.ceil(total / Math.max(1, rowsMax - reads.length));
  const samples = reads.flatMap(({ positions }) =>
    positions.filter((_, index) => index % step === 0),
  );
  const rows = await readCalls(samples, ledger);
  return {
    waiting: reads.flatMap((read) => waitingIn(read, rows)),
    agentsCut: new Set(
      reads.filter(({ isWhole }) => !isWhole).map(({ backlog }) => backlog.value.agentId),
    ),
    isCut,
  };
}

/** Lists at most 1,000 backlogs. */
export async function listBacklogs(
  documents: Documents,
): Promise<{ backlogs: Backlog[]; isCut: boolean }> {
  const backlogs: Backlog[] = [];
  let after: string | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const listed = await documents.list("backlog", { after, limit: pageBacklogs });
    // The calls of a backlog that only a later version can read wait for that version.
    backlogs.push(...listed.filter(isReadable));
    after = listed.at(-1)?.key;
    if (listed.length < pageBacklogs) return { backlogs, isCut: false };
  }
  return { backlogs, isCut: true };
}

/** Reads the positions of all backlogs in turn, up to the maximum. */
export async function readPositions(
  backlogs: readonly Backlog[],
  ledger: CallLedger,
): Promise<BacklogRead[]> {
  const reads = backlogs.map((backlog): BacklogRead => ({
    backlog,
    positions: [],
    isWhole: false,
  }));
  let open = reads;
  for (let left = positionsMax; left > 0 && open.length > 0;) {
    const each = Math.max(
      1,
      Math.min(
        Math.floor(left / open.length),
        Math.floor(positionsAtOnce / Math.min(open.length, backlogsAtOnce)),
      ),
    );
    for (let start = 0; start < open.length && left > 0; start += backlogsAtOnce) {
      const some = open.slice(start, start + backlogsAtOnce);
      const asked = some.map(({ backlog, positions }) => ({
        key: backlog.key,
        after: positions.at(-1),
      }));
      const pages = await ledger.due({ lanes: asked, until: endOfTime, each });
      for (const [index, read] of some.entries()) {
        const page = pages[index] ?? [];
        read.positions.push(...page);
        read.isWhole = page.length < each;
        left -= page.length;
      }
    }
    open = open.filter(({ isWhole }) => !isWhole);
  }
  return reads;
}

/** Reads the calls of rows that still wait, with the reasons of their waits. */
async function readCalls(
  positions: readonly DuePosition[],
  ledger: CallLedger,
): Promise<Map<string, { call: Call; reason: string }>> {
  const parts = Array.from({ length: Math.ceil(positions.length / rowsAtOnce) }, (_, part) =>
    positions.slice(part * rowsAtOnce, (part + 1) * rowsAtOnce),
  );
  const read = await Promise.all(parts.map((part) => ledger.read(part.map(({ id }) => id))));
  return new Map(
    read.flatMap(({ rows }) =>
      rows.flatMap((row): [string, { call: Call; reason: string }][] => {
        const call = row.state === "WAITING" ? toCall(row) : undefined;
        return call === undefined ? [] : [[row.id, { call, reason: row.reason }]];
      }),
    ),
  );
}

/** Returns the waiting calls of a backlog. Rows without a known request have gone meanwhile, or are too few to matter. */
function waitingIn(
  { backlog, positions }: BacklogRead,
  rows: ReadonlyMap<string, { call: Call; reason: string }>,
): WaitingCall[] {
  const waiting: WaitingCall[] = [];
  let like: { call: Call; reason: string } | undefined;
  for (const { id, dueAt } of positions) {
    const own = rows.get(id);
    like = own ?? like;
    if (like === undefined) continue;
    const { call, reason } = like;
    const hasNumber = own !== undefined;
    const one = hasNumber ? call : toCallLike(call, { id, dueAt });
    waiting.push({ call: one, backlog: backlog.key, dueAt, reason, hasNumber });
  }
  return waiting;
}

/** Returns the call of a position whose row was not read: a neighbour's, with what the position says of its times. */
function toCallLike(call: Call, { id, dueAt }: DuePosition): Call {
  const acceptedAt = timeOfId(id);
  const { tries } = call;
  // Its own due time is not before its own Call-Not-Before.
  const unlike = { ancestors: undefined, notBefore: undefined };
  const like = { ...call, id, requestId: requestIdOf(id), acceptedAt, ...unlike };
  if (tries === undefined) return like;
  const own =
    tries.promisedAt === undefined
      ? { until: tries.until + acceptedAt - call.acceptedAt }
      : { until: dueAt + callBackLateMs, promisedAt: dueAt };
  return { ...like, tries: { ...tries, ...own } };
}
