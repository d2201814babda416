import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import {
  type Deployment,
  deploymentOf,
  type DeploymentSettings,
  firstName,
  readDeployment,
  settingsFile,
} from "#infra/aws/settings.ts";
import { DeployError } from "./tools.ts";

const root = resolve(import.meta.dirname, "../../..");

/** Returns the deployment of this name. @throws DeployError with the wrong settings */
export function deploymentNamed(name: string | undefined, file = settingsFile): Deployment {
  return orDeployError(() => readDeployment(name, file));
}

/**
 * Writes settings of a deployment into the settings' file, where later deployments find them.
 *
 * @throws DeployError with the wrong settings: then nothing is written
 */
export async function storeSettings(
  name: string | undefined,
  change: Partial<DeploymentSettings>,
  file = settingsFile,
): Promise<void> {
  const path = resolve(root, file);
  const all: Record<string, object> = JSON.parse(await readFile(path, "utf8"));
  const key = name ?? firstName;
  const json = `${JSON.stringify({ ...all, [key]: { ...all[key], ...change } }, null, 2)}\n`;
  orDeployError(() => deploymentOf(name, json));
  await writeFile(path, json);
}

/** @throws DeployError if the deployment has no operator API: a token for it would let nobody in */
export function requireOperatorApi(name: string | undefined, file = settingsFile): void {
  if (deploymentNamed(name, file).settings.operator) return;
  throw new DeployError(
    `${file} has "operator": false for this deployment, so its API cannot read calls and an operator's token lets ` +
      "nobody in. Remove that line, run npm run deploy:aws, then run this again.",
  );
}

function orDeployError<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw new DeployError(error instanceof Error ? error.message : "unreadable settings");
  }
}
