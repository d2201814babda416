import { describeTries } from "../contracts/tries.ts";
import { createDynamoStores, useAwsEngines } from "./use-engines.ts";

const engines = useAwsEngines();
let tables = 0;

describeTries("DynamoDB", (now) => createDynamoStores(engines(), `tries-${++tables}`, now));
