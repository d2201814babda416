import { createMemoryLedger } from "../../shared/ledger/memory-ledger.ts";
import { describeCallLedger } from "../contracts/call-ledger.ts";

describeCallLedger("memory", async () => {
  const dump: object[] = [];
  const ledger = createMemoryLedger(dump);
  return { ledger, stored: async () => JSON.stringify(dump, entriesOf) };
});

/** Maps and sets as lists of what they hold. */
function entriesOf(_key: string, value: unknown): unknown {
  return value instanceof Map || value instanceof Set ? [...value] : value;
}
