import { createCloudflareSecretStore } from "./cloudflare-secrets.ts";
import { targetOf } from "./cloudflare-target.ts";
import { quietWrangler } from "./cloudflare-wrangler.ts";
import type { SecretStore } from "./secret-names.ts";
import { DeployError, type Tools } from "./tools.ts";

/** Options by which a command finds a deployment. */
export const deploymentOptions = {
  platform: { type: "string", default: "cloudflare" },
  name: { type: "string" },
} as const;

/** Opens the secrets of a deployment. AWS's client is loaded only where it is used. */
export async function openSecretStore(
  tools: Tools,
  { platform, name }: { platform: string; name?: string | undefined },
): Promise<SecretStore> {
  if (platform === "cloudflare") {
    quietWrangler();
    return createCloudflareSecretStore(tools, targetOf(name));
  }
  if (platform !== "aws") throw new DeployError("--platform is cloudflare or aws");
  const { createAwsSecretStore } = await import("./aws-secrets.ts");
  return createAwsSecretStore(tools, name);
}
