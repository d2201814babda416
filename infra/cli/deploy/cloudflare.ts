/**
 * `npm run deploy:cloudflare -- [--name NAME] [--location PLACE] [--jurisdiction PLACE] [--adopt] [--strand] [--dry-run]`
 * and
 * `npm run destroy:cloudflare -- [--name NAME] [--yes]`.
 */
import { parseArgs } from "node:util";
import { deployToCloudflare, describeDeployment } from "./cloudflare-deploy.ts";
import { destroyOnCloudflare } from "./cloudflare-destroy.ts";
import { quietWrangler } from "./cloudflare-wrangler.ts";
import { readBundledPlan } from "./deploy-steps.ts";
import { printHelp } from "../help.ts";
import { DeployError, processTools } from "./tools.ts";
import { complainOf } from "../print.ts";

const usage = `npm run deploy:cloudflare -- [OPTIONS]    deploys the service to Cloudflare, or brings it up to date
npm run destroy:cloudflare -- [OPTIONS]   prints what would be deleted and what stays; --yes deletes it

  --name NAME            a second, separate deployment, such as staging
  --location PLACE       location hint for D1 and R2, such as weur, at creation
  --jurisdiction PLACE   jurisdiction of the data, eu or fedramp, at creation
  --adopt                takes over queues, a database or a bucket that are found without their Workers
  --strand               deploys a plan that lost agents with waiting calls, without asking
  --dry-run              builds, checks and prints what it would do; needs no account
  --yes                  of destroy:cloudflare: does it

Environment: CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID, unless wrangler is logged in; secrets that the dial plan needs,
or they are asked for. docs/deploy-cloudflare.md`;

async function run(): Promise<void> {
  printHelp(usage);
  const { values } = parseArgs({
    options: {
      name: { type: "string" },
      location: { type: "string" },
      jurisdiction: { type: "string" },
      adopt: { type: "boolean" },
      strand: { type: "boolean" },
      "dry-run": { type: "boolean" },
      destroy: { type: "boolean" },
      yes: { type: "boolean" },
    },
  });
  quietWrangler();
  if (values.destroy === true) return destroyOnCloudflare(processTools, values);
  const plan = await readBundledPlan();
  const deploy = values["dry-run"] === true ? describeDeployment : deployToCloudflare;
  return deploy(processTools, plan, values);
}

try {
  await run();
} catch (error) {
  const isExpected = error instanceof DeployError || error instanceof TypeError;
  complainOf(error, isExpected);
  process.exit(1);
}
