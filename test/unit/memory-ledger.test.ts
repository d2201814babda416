import { createMemoryLedger } from "../../shared/ledger/memory-ledger.ts";
import { describeCallLedger } from "../contracts/call-ledger.ts";

describeCallLedger("memory", async () => createMemoryLedger());
