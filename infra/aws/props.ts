import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import type { DeploymentSettings } from "./settings.ts";

/** Keys of the table's indexes by name. */
type Indexes = Readonly<Record<string, { hashKey: string; rangeKey: string }>>;

/** Settings of one deployment, and the code that it runs. */
export interface OutboundCallsProps extends Partial<DeploymentSettings> {
  /** Folder of the built functions, each in a folder of its own. */
  bundles: string;
  /** The dial plan in the bundles, whose routes decide what the dialer's role may do. */
  plan?: DialPlan;
  /** Indexes of the own table while they change one at a time; absent: those of this version. */
  ledgerIndexes?: Indexes;
  /** True while a restored table takes the place of the own one, which the stack has let go. */
  withoutLedger?: boolean;
  /** True while the stack is created: a roll-back could not delete what is protected against deletion. */
  isUnprotected?: boolean;
}
