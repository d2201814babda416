import { callStates } from "../../shared/calls/call-row.ts";
import { createMemoryLedger } from "../support/memory-ledger.ts";
import { describeCallLedger } from "../contracts/call-ledger/index.ts";

const told = callStates.filter((state) => state !== "WAITING" && state !== "DIALING");

describeCallLedger("memory", async () => createMemoryLedger(), { told, runs: 20 });
