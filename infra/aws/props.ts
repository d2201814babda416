import type { DialPlan } from "../../shared/dial-plan/plan-schema.ts";
import type { DeploymentSettings } from "./settings.ts";

/** Settings of one deployment, and the code that it runs. */
export interface OutboundCallsProps extends Partial<DeploymentSettings> {
  /** Folder of the built functions, each in a folder of its own. */
  bundles: string;
  /** The dial plan in the bundles, whose routes decide what the dialer's role may do. */
  plan?: DialPlan;
}
