import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { localCredentials, localRegion } from "../../infra/local/aws-engines.ts";
import { callStates } from "../../shared/ledger/call-ledger.ts";
import { createDynamoLedger } from "../../shared/ledger/dynamodb-ledger.ts";
import type { PlatformUnderTest } from "./service.ts";

interface D1Row {
  id: string;
  state: string;
  reason: string;
  attempt: number;
  due_at: number | null;
  agent_id: string;
  call: string | null;
}

export const cloudflare: PlatformUnderTest = {
  name: "Cloudflare",
  script: "start",
  prefix: "",
  /** Past the service, by wrangler's own command. */
  async rows({ stateDirectory }) {
    const words = ["wrangler", "d1", "execute", "LEDGER", "--local", "--json", "--persist-to"];
    const read = () =>
      promisify(execFile)("npx", [...words, stateDirectory, "--command", "SELECT * FROM calls"], {
        maxBuffer: 64 * 1024 * 1024,
        env: { ...process.env, CI: "1" },
      });
    // A second process at the same SQLite file: it is told SQLITE_BUSY where the service has just written.
    const { stdout } = await read().catch(read).catch(read);
    const answers: { results: D1Row[] }[] = JSON.parse(stdout);
    return answers.flatMap(({ results }) =>
      results.map(({ agent_id, due_at, call, ...row }) => ({
        ...row,
        agentId: agent_id,
        dueAt: due_at,
        call: call === null ? null : JSON.parse(call),
      })),
    );
  },
};

export const aws: PlatformUnderTest = {
  name: "AWS",
  script: "start:aws",
  prefix: "/prod",
  async rows(service) {
    const [, endpoint = ""] = /DynamoDB: (\S+), table/.exec(service.output()) ?? [];
    const client = new DynamoDBClient({
      region: localRegion,
      credentials: localCredentials,
      endpoint,
    });
    const ledger = createDynamoLedger(client, "outbound-calls", 0);
    const pages = await Promise.all(
      callStates.map((state) => ledger.list({ state, limit: 20_000 })),
    );
    client.destroy();
    return pages.flat();
  },
};
