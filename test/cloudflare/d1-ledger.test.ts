import { createD1Ledger } from "../../shared/ledger/d1-ledger.ts";
import { describeCallLedger } from "../contracts/call-ledger.ts";
import { testEnv } from "./env.ts";

describeCallLedger("D1", async () => {
  const { LEDGER } = testEnv;
  await LEDGER.batch(
    ["calls", "idempotency_keys", "holds"].map((table) => LEDGER.prepare(`DELETE FROM ${table}`)),
  );
  return createD1Ledger(LEDGER);
});
