import { csvField } from "#shared/lib/csv.ts";

export type Format = "csv" | "ndjson";
type Row = Readonly<Record<string, unknown>>;

/** Maximum rows of one file. */
export const rowsMax = 100_000;
const pauseMs = 200;
/** Waits before a page that could not be read is asked for again. */
const retryMs = [1_000, 3_000, 10_000];

/** The end of a file: the list's own, its maximum, a stop by somebody, or a page that could not be read. */
export type Ended = "whole" | "full" | "stopped" | "failed";

interface Exported {
  /** The file, in parts of one page each. */
  parts: string[];
  rows: number;
  ended: Ended;
}

/**
 * Reads a list page by page into the text of a file.
 *
 * @param file.columns columns of the CSV, each a field or a field of a field, such as `result.status`
 */
export async function exportRows(
  { format, columns }: { format: Format; columns: readonly string[] },
  list: {
    load(
      cursor: string | undefined,
    ): Promise<{ items: readonly Row[]; cursor?: string | undefined }>;
    isStopped(): boolean;
    progress(rows: number): void;
  },
  { sleep = sleepMs, most = rowsMax }: { sleep?: typeof sleepMs; most?: number } = {},
): Promise<Exported> {
  const parts = format === "csv" ? [`${columns.join(",")}\r\n`] : [];
  const lineOf = format === "csv" ? csvLine(columns) : (row: Row) => `${JSON.stringify(row)}\n`;
  let rows = 0;
  let cursor: string | undefined;
  for (;;) {
    const page = await loadAgain(() => list.load(cursor), sleep);
    if (page === undefined) return { parts, rows, ended: "failed" };
    const some = page.items.slice(0, most - rows);
    parts.push(some.map(lineOf).join(""));
    rows += some.length;
    list.progress(rows);
    cursor = page.cursor;
    if (some.length < page.items.length) return { parts, rows, ended: "full" };
    if (cursor === undefined) return { parts, rows, ended: "whole" };
    if (rows === most) return { parts, rows, ended: "full" };
    await sleep(pauseMs);
    if (list.isStopped()) return { parts, rows, ended: "stopped" };
  }
}

function csvLine(columns: readonly string[]) {
  return (row: Row) => `${columns.map((column) => csvField(fieldIn(row, column))).join(",")}\r\n`;
}

function fieldIn(row: Row, column: string): unknown {
  const [name = "", within] = column.split(".");
  return within === undefined ? row[name] : Object(row[name])[within];
}

async function loadAgain<Page>(
  load: () => Promise<Page>,
  sleep: typeof sleepMs,
): Promise<Page | undefined> {
  for (const wait of [...retryMs, undefined]) {
    try {
      return await load();
    } catch {
      if (wait !== undefined) await sleep(wait);
    }
  }
  return undefined;
}

async function sleepMs(ms: number): Promise<void> {
  await new Promise((done) => setTimeout(done, ms));
}
