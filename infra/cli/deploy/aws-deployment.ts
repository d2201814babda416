import { type Deployment, readDeployment } from "../../aws/settings.ts";
import { DeployError } from "./tools.ts";

/** Returns the deployment of this name. @throws DeployError with the wrong settings */
export function deploymentNamed(name: string | undefined): Deployment {
  try {
    return readDeployment(name);
  } catch (error) {
    throw new DeployError(error instanceof Error ? error.message : "unreadable settings");
  }
}
