interface Indexed {
  account: string;
  backlog: string;
}

/** Rows by id, with their numbers by account and by backlog. */
export interface IndexedRows<Row extends Indexed> {
  /** Rows by id, in the order of `put`. */
  byId: ReadonlyMap<string, Row>;
  /** Number of rows by backlog. Backlogs without rows are absent. */
  byBacklog: ReadonlyMap<string, number>;
  countOf(account: string): number;
  countIn(backlog: string): number;
  put(id: string, row: Row): void;
  /** Removes a row and returns it. */
  take(id: string): Row | undefined;
}

export function createIndexedRows<Row extends Indexed>(): IndexedRows<Row> {
  const byId = new Map<string, Row>();
  const byAccount = new Map<string, number>();
  const byBacklog = new Map<string, number>();
  function take(id: string): Row | undefined {
    const row = byId.get(id);
    if (row === undefined) return undefined;
    byId.delete(id);
    addTo(byAccount, row.account, -1);
    addTo(byBacklog, row.backlog, -1);
    return row;
  }
  function put(id: string, row: Row): void {
    take(id);
    byId.set(id, row);
    addTo(byAccount, row.account, 1);
    addTo(byBacklog, row.backlog, 1);
  }
  return {
    byId,
    byBacklog,
    countOf: (account) => byAccount.get(account) ?? 0,
    countIn: (backlog) => byBacklog.get(backlog) ?? 0,
    put,
    take,
  };
}

/** Adds to the count of a name. A count of zero is removed. */
export function addTo(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
