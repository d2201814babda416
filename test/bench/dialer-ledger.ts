/** A DynamoDB server (in memory) with the ledger's table, in a process of its own. */
import { answer, ready } from "./competitors/side.ts";
import { startAwsEngines } from "#infra/local/aws-engines.ts";

const engines = await startAwsEngines();
await engines.createTable("calls");
answer();
ready({ port: Number(new URL(engines.dynamoEndpoint).port) });
