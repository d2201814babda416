/** The CDK app, which cdk.json names: `npm run synth:aws`, `npm run deploy:aws`, or `npm run cdk` (see docs/deploy-aws.md). */
import { resolve } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { parseDialPlan } from "#shared/dial-plan/parse-dial-plan.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import * as z from "#shared/lib/zod.ts";
import dialPlan from "../dial-plan.json" with { type: "json" };
import { bundleFunction, functionNames } from "./bundle.ts";
import { readDeployment, settingNames } from "./settings.ts";
import { OutboundCallsStack } from "./stack.ts";

const indexesSchema = z.record(z.string(), z.object({ hashKey: z.string(), rangeKey: z.string() }));
/** Reads the indexes of a step between two versions, which the deploy command names. */
const readIndexes = (json: unknown) =>
  typeof json === "string" ? indexesSchema.parse(JSON.parse(json)) : undefined;

const app = new App();
const misplaced = settingNames.filter((name) => app.node.tryGetContext(name) !== undefined);
if (misplaced.length > 0) {
  throw new Error(
    `${misplaced.join(", ")}: settings belong in infra/aws/settings.json, not after -c`,
  );
}
const name: unknown = app.node.tryGetContext("name");
if (name !== undefined && typeof name !== "string") throw new Error("-c name takes a name");
const ledgerIndexes = readIndexes(app.node.tryGetContext("ledgerIndexes"));
const withoutLedger = app.node.tryGetContext("withoutLedger") === "true";
const isUnprotected = app.node.tryGetContext("unprotected") === "true";
const { stackName, settings } = readDeployment(name);

const bundles = resolve(import.meta.dirname, "../../dist/aws");
for (const one of functionNames) await bundleFunction(one, resolve(bundles, one));
const plan = parseDialPlan(dialPlan, {}, routeKinds);
new OutboundCallsStack(app, stackName, {
  bundles,
  plan,
  ...settings,
  ...(ledgerIndexes && { ledgerIndexes }),
  withoutLedger,
  isUnprotected,
});
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
