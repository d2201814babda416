import { DBOS } from "@dbos-inc/dbos-sdk";
import { dial } from "../dial.ts";

DBOS.registerWorkflow(
  async (call: unknown) => {
    await DBOS.runStep(() => dial(call), { name: "dial", retriesAllowed: true });
  },
  { name: "call" },
);
DBOS.setConfig({
  name: "calls",
  applicationVersion: "0.1.0",
  systemDatabaseUrl: process.env["DATABASE_URL"] ?? "",
});
await DBOS.launch();
await DBOS.registerQueue("calls", { workerConcurrency: 25 });
