import { setTimeout as sleep } from "node:timers/promises";
import type { CallState } from "#shared/calls/states.ts";

const attemptsMax = 5;
const pageCalls = 200;

/** A row in an operator's view. */
export interface RowView {
  id: string;
  state: CallState;
  reason: string;
  can_be_revealed: boolean;
}

export type LedgerReader = ReturnType<typeof createLedgerReader>;

/**
 * Reads the ledger like an operator, through the service's own API.
 *
 * @param since time before the first call was accepted, in milliseconds since the epoch
 */
export function createLedgerReader(address: () => string, token: string, since: number) {
  async function ask(path: string): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${address()}/operator${path}`, { headers }).catch(
        () => undefined,
      );
      const text = await response?.text().catch(() => undefined);
      if (response?.ok === true && text !== undefined) return text;
      // The function that serves the operator may be killed like any other.
      if (attempt === attemptsMax)
        throw new Error(`the operator's API answered ${response?.status ?? "nothing"}`);
      await sleep(1000);
    }
  }
  return {
    /** Reads every row, by its id. */
    async list(): Promise<Map<string, RowView>> {
      const rows = new Map<string, RowView>();
      let cursor: string | undefined;
      do {
        const query = new URLSearchParams({
          limit: String(pageCalls),
          from: new Date(since).toISOString(),
          ...(cursor === undefined ? {} : { cursor }),
        });
        const page: { calls: RowView[]; cursor?: string } = JSON.parse(
          await ask(`/calls?${query.toString()}`),
        );
        for (const row of page.calls) rows.set(row.id, row);
        cursor = page.cursor;
      } while (cursor !== undefined);
      return rows;
    },
  };
}
