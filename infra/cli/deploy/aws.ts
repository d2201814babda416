/**
 * `npm run deploy:aws -- [--name NAME] [--alarm-email ADDRESS] [--alarm-topic ARN] [--import-ledger] [--strand] [--dry-run]`
 * and `npm run destroy:aws -- [--name NAME] [--yes]`.
 */
import { parseArgs } from "node:util";
import { deployToAws, describeDeployment } from "./aws-deploy.ts";
import { deploymentNamed } from "./aws-deployment.ts";
import { regionOf } from "./aws-cdk.ts";
import { destroyOnAws } from "./aws-destroy.ts";
import { importLedger } from "./aws-import.ts";
import { readBundledPlan } from "./deploy-steps.ts";
import { printHelp } from "../help.ts";
import { DeployError, processTools } from "./tools.ts";
import { complainOf } from "../print.ts";

const usage = `npm run deploy:aws -- [OPTIONS]       deploys the service to AWS, or brings it up to date
npm run destroy:aws -- [OPTIONS]      prints what would be deleted and what stays; --yes destroys the stack

  --name NAME              a second, separate deployment, such as staging
  --alarm-email ADDRESS    receives alarms from now on
  --alarm-topic ARN        an SNS topic that receives alarms from now on
  --import-ledger          makes a restored table (ledgerTable) the stack's own
  --strand                 deploys a plan that lost agents with waiting calls, without asking
  --dry-run                builds, checks and prints what it would do; needs no account
  --yes                    of destroy:aws: does it

Environment: AWS credentials and AWS_REGION; secrets that the dial plan needs, or they are asked for. docs/deploy-aws.md`;

async function run(): Promise<void> {
  printHelp(usage);
  const { values } = parseArgs({
    options: {
      name: { type: "string" },
      "alarm-email": { type: "string" },
      "alarm-topic": { type: "string" },
      strand: { type: "boolean" },
      "dry-run": { type: "boolean" },
      "import-ledger": { type: "boolean" },
      destroy: { type: "boolean" },
      yes: { type: "boolean" },
    },
  });
  const plan = await readBundledPlan();
  if (values["dry-run"] === true) return describeDeployment(processTools, plan, values);
  deploymentNamed(values.name);
  const { DynamoDBClient } = await import("@aws-sdk/client-dynamodb");
  const { CloudFormationClient } = await import("@aws-sdk/client-cloudformation");
  const dynamo = new DynamoDBClient(regionOf(processTools));
  const cloudFormation = new CloudFormationClient(regionOf(processTools));
  if (values.destroy === true) {
    return destroyOnAws({ tools: processTools, cloudFormation }, values);
  }
  if (values["import-ledger"] === true) {
    const deps = { dynamo, cloudFormation, print: processTools.print };
    return importLedger(processTools, deps, values);
  }
  const { createAwsSecretStore } = await import("./aws-secrets.ts");
  const { createDynamoClient } = await import("#shared/aws/dynamodb-client.ts");
  const { endpointIn } = await import("#shared/aws/signed-post.ts");
  return deployToAws(
    {
      tools: processTools,
      store: createAwsSecretStore(processTools, values.name),
      dynamo,
      ledger: createDynamoClient({
        account: dynamo.config,
        endpoint: endpointIn(processTools.environment, "DYNAMODB"),
      }),
      cloudFormation,
    },
    plan,
    {
      name: values.name,
      strand: values.strand,
      alarms: { alarmEmail: values["alarm-email"], alarmTopicArn: values["alarm-topic"] },
    },
  );
}

try {
  await run();
} catch (error) {
  const isExpected = error instanceof DeployError || error instanceof TypeError;
  complainOf(error, isExpected);
  process.exit(1);
}
