import { CfnOutput, Stack } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { acknowledgeRules } from "./acknowledged-rules.ts";
import { createAlarms } from "./alarms.ts";
import { createDashboard } from "./dashboard.ts";
import { createFunctions } from "./functions.ts";
import { createHttpApi } from "./http-api.ts";
import { countLoggedEvents } from "./log-metrics.ts";
import type { OutboundCallsProps } from "./props.ts";
import { createStorage } from "./storage.ts";

/** The service on AWS: an HTTP API, three functions, two queues with their dead-letter queues, a table, a bucket. */
export class OutboundCallsStack extends Stack {
  constructor(scope: Construct, id: string, props: OutboundCallsProps) {
    super(scope, id, { terminationProtection: props.isUnprotected !== true });
    const storage = createStorage(this, id, props);
    const functions = createFunctions(this, props, storage);
    const httpApi = createHttpApi(this, props, functions);
    const logged = countLoggedEvents(this, functions);
    const watched = { ...storage, ...functions, ...props, httpApi, logged };
    createDashboard(this, watched, createAlarms(this, watched));
    acknowledgeRules(this, storage.bucket, props.xray === true);
    const { settings, providerSecrets, table } = storage;
    new CfnOutput(this, "SettingsSecret", { value: settings.secretArn });
    new CfnOutput(this, "ProviderSecretsSecret", { value: providerSecrets.secretArn });
    new CfnOutput(this, "LedgerTable", { value: table.tableName });
  }
}
