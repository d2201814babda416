import { statesWhere } from "../../../shared/calls/states.ts";
import { createMemoryLedger } from "../../support/memory-ledger.ts";
import { describeCallLedger } from "../../contracts/call-ledger/index.ts";

const told = statesWhere(({ purge }) => purge !== "never");

describeCallLedger("memory", async () => createMemoryLedger(), { told, runs: 20 });
