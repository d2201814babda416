import { setTimeout as sleep } from "node:timers/promises";
import type { CallState } from "../../shared/ledger/call-ledger.ts";

const attemptsMax = 5;
const pageCalls = 200;

/** A row as operators see it. */
export interface RowView {
  id: string;
  state: CallState;
  reason: string;
  can_be_revealed: boolean;
}

export type LedgerReader = ReturnType<typeof createLedgerReader>;

/** Reads the ledger as an operator does, through the service's own API. */
export function createLedgerReader(address: () => string, token: string) {
  async function ask(path: string, init: RequestInit = {}): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${address()}/operator${path}`, { ...init, headers }).catch(
        () => undefined,
      );
      const text = await response?.text().catch(() => undefined);
      if (response?.ok === true && text !== undefined) return text;
      // Whatever serves the operator may be killed as anything else is.
      if (attempt === attemptsMax)
        throw new Error(`the operator's API answered ${response?.status ?? "nothing"}`);
      await sleep(1000);
    }
  }
  return {
    /** Every row that stands in one of these states. */
    async list(states: readonly CallState[]): Promise<Map<string, RowView>> {
      const rows = new Map<string, RowView>();
      for (const state of states) {
        let cursor: string | undefined;
        do {
          const query = new URLSearchParams({
            state,
            limit: String(pageCalls),
            ...(cursor === undefined ? {} : { cursor }),
          });
          const page: { calls: RowView[]; cursor?: string } = JSON.parse(
            await ask(`/calls?${query.toString()}`),
          );
          for (const row of page.calls) rows.set(row.id, row);
          cursor = page.cursor;
        } while (cursor !== undefined);
      }
      return rows;
    },
    /** The label that the stream gave a call. */
    async labelOf(id: string): Promise<string> {
      const { context }: { context: { n?: string } } = JSON.parse(
        await ask(`/calls/${id}/reveal`, { method: "POST" }),
      );
      return context.n ?? "";
    },
  };
}
