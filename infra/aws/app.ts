/** The CDK app: `npm run synth:aws`, or `npx cdk deploy` with the same `--app` (see docs/deploy-aws.md). */
import { resolve } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { bundleFunction, functionNames } from "./bundle.ts";
import { OutboundCallsStack } from "./stack.ts";

const bundles = resolve(import.meta.dirname, "../../dist/aws");
for (const name of functionNames) await bundleFunction(name, resolve(bundles, name));

const app = new App();
const text = (name: string): string | undefined => {
  const value: unknown = app.node.tryGetContext(name);
  return typeof value === "string" && value !== "" ? value : undefined;
};
const concurrency = text("dialerConcurrency");
new OutboundCallsStack(app, "OutboundCalls", {
  bundles,
  stage: text("stage"),
  basePath: text("basePath"),
  operator: text("operator") === "true",
  alarmEmail: text("alarmEmail"),
  dialerConcurrency: concurrency === undefined ? undefined : Number(concurrency),
});
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
