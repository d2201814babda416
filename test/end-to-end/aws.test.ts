import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { localCredentials, localRegion } from "../../infra/local/aws-engines.ts";
import { createDynamoLedger } from "../../shared/ledger/dynamodb-ledger.ts";
import { describeService } from "../contracts/service.ts";

const states = [
  "DEFERRED",
  "DIALING",
  "UNKNOWN",
  "PARKED",
  "PLACED",
  "REJECTED",
  "EXPIRED",
] as const;

describeService({
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
    const pages = await Promise.all(states.map((state) => ledger.list({ state, limit: 20_000 })));
    client.destroy();
    return pages.flat();
  },
});
