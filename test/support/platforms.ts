import { DynamoDBClient, paginateScan } from "@aws-sdk/client-dynamodb";
import { localCredentials, localRegion } from "#infra/local/aws-engines.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { toRow } from "#shared/aws/dynamodb-rows.ts";
import { rowColumns, type StoredRow, toRow as toD1Row } from "#shared/cloudflare/d1-rows.ts";
import { openLocalD1 } from "./local-d1.ts";
import type { PlatformUnderTest } from "./service.ts";

export const cloudflare: PlatformUnderTest = {
  name: "Cloudflare",
  script: "start",
  prefix: "",
  /** Reads the rows without the service, from the file of its D1. */
  async rows({ stateDirectory }) {
    using database = await openLocalD1(stateDirectory);
    const rows = database.prepare(`SELECT ${rowColumns} FROM calls`).all();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the columns are those of a stored row
    return rows.flatMap((stored) => toD1Row(stored as unknown as StoredRow) ?? []);
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
      rows.push(...items.flatMap((item) => toRow(item) ?? []));
    }
    client.destroy();
    return rows;
  },
};
