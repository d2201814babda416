import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { DynamoDBClient, paginateScan } from "@aws-sdk/client-dynamodb";
import { localCredentials, localRegion } from "../../infra/local/aws-engines.ts";
import { type CallRow, parseRow } from "../../shared/calls/call-row.ts";
import { rowOf } from "../../shared/ledger/dynamodb-rows.ts";
import type { PlatformUnderTest } from "./service.ts";

export const cloudflare: PlatformUnderTest = {
  name: "Cloudflare",
  script: "start",
  prefix: "",
  /** Reads the rows without the service, through wrangler's own command. */
  async rows({ stateDirectory }) {
    const words = ["wrangler", "d1", "execute", "LEDGER", "--local", "--json", "--persist-to"];
    const read = () =>
      promisify(execFile)(
        "npx",
        [...words, stateDirectory, "--command", "SELECT id, version, row, number_hash FROM calls"],
        {
          maxBuffer: 64 * 1024 * 1024,
          env: { ...process.env, CI: "1" },
        },
      );
    // A second process on the same SQLite file gets SQLITE_BUSY right after a write of the service.
    const { stdout } = await read().catch(read).catch(read);
    const answers: {
      results: { id: string; version: string; row: string; number_hash: string }[];
    }[] = JSON.parse(stdout);
    return answers.flatMap(({ results }) =>
      results.flatMap(({ id, version, row, number_hash: numberHash }) => {
        return parseRow(id, version, { ...JSON.parse(row), numberHash }) ?? [];
      }),
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
    const rows: CallRow[] = [];
    // A scan is used because the ledger's own lists query one index after another, which takes the local
    // server many seconds.
    for await (const { Items = [] } of paginateScan({ client }, { TableName: "outbound-calls" })) {
      const items = Items.filter(({ pk }) => pk?.S?.startsWith("call#"));
      rows.push(...items.flatMap((item) => rowOf(item) ?? []));
    }
    client.destroy();
    return rows;
  },
};
