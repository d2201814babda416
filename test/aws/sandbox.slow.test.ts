import { describeSandbox } from "../contracts/sandbox.ts";
import { createDynamoStores, useAwsEngines } from "./use-engines.ts";

const engines = useAwsEngines();
let tables = 0;

describeSandbox("DynamoDB", (now) => createDynamoStores(engines(), `sandbox-${++tables}`, now));
