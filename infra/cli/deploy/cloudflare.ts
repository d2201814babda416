/**
 * `npm run deploy:cloudflare -- [--name NAME] [--location PLACE] [--jurisdiction PLACE] [--adopt] [--dry-run]`
 * and
 * `npm run destroy:cloudflare -- [--name NAME] [--yes]`.
 */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { deployToCloudflare, describeDeployment } from "./cloudflare-deploy.ts";
import { destroyOnCloudflare } from "./cloudflare-destroy.ts";
import { quietWrangler } from "./cloudflare-wrangler.ts";
import { DeployError, processTools } from "./tools.ts";

async function run(): Promise<void> {
  const { values } = parseArgs({
    options: {
      name: { type: "string" },
      location: { type: "string" },
      jurisdiction: { type: "string" },
      adopt: { type: "boolean" },
      "dry-run": { type: "boolean" },
      destroy: { type: "boolean" },
      yes: { type: "boolean" },
    },
  });
  quietWrangler();
  if (values.destroy === true) return destroyOnCloudflare(processTools, values);
  const path = resolve(import.meta.dirname, "../../dial-plan.json");
  const plan: unknown = JSON.parse(await readFile(path, "utf8"));
  const deploy = values["dry-run"] === true ? describeDeployment : deployToCloudflare;
  return deploy(processTools, plan, values);
}

try {
  await run();
} catch (error) {
  const isExpected = error instanceof DeployError || error instanceof TypeError;
  console.error(isExpected ? error.message : error);
  process.exit(1);
}
