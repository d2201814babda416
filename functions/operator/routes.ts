import { auditRoutes } from "../api/actions/audit-log.ts";
import { backlogRoutes } from "./backlogs.ts";
import { bulkRoutes } from "./bulk.ts";
import { callRoutes } from "./calls.ts";
import { campaignRoutes } from "./campaigns.ts";
import { cancelRoutes } from "./cancel.ts";
import { clientReceiverRoutes } from "./client-receiver.ts";
import { clientRoutes } from "./clients.ts";
import { countRoutes } from "./counts.ts";
import { deadLetterRoutes } from "./dead-letters.ts";
import { decisionRoutes } from "./decisions.ts";
import { doNotCallRoutes } from "./do-not-call.ts";
import { eraseRoutes } from "./erase.ts";
import { eventRoutes } from "./events.ts";
import { findListedRoutes } from "./find-listed.ts";
import { forecastRoutes } from "./forecast.ts";
import { meRoutes } from "./me.ts";
import { needRoutes } from "./needs.ts";
import { pauseRoutes } from "./pauses.ts";
import { planRoutes } from "./plan.ts";
import { redialRoutes } from "./redial.ts";
import { replayRoutes } from "./replay-events.ts";
import { requestRoutes } from "./requests.ts";
import { ledgerRoutes } from "./ledger.ts";
import { reviewRoutes } from "./review.ts";
import { resultRoutes } from "./results.ts";
import { formerKeyRoutes } from "./retire-former-key.ts";
import { searchRoutes } from "./search.ts";
import { sendRoutes } from "./send-calls.ts";
import { splitRoutes } from "./splits.ts";
import type { Route } from "../api/http/route.ts";
import { tokenRoutes } from "./tokens.ts";
import { usageRoutes } from "./usage.ts";
import { whyRoutes } from "./why.ts";

/** Every route of the operator's API, in the order of the OpenAPI document. */
export const operatorRoutes: readonly Route[] = [
  ...callRoutes,
  ...reviewRoutes,
  ...searchRoutes,
  ...redialRoutes,
  ...bulkRoutes,
  ...decisionRoutes,
  ...requestRoutes,
  ...cancelRoutes,
  ...pauseRoutes,
  ...backlogRoutes,
  ...whyRoutes,
  ...planRoutes,
  ...countRoutes,
  ...needRoutes,
  ...resultRoutes,
  ...splitRoutes,
  ...usageRoutes,
  ...campaignRoutes,
  ...auditRoutes,
  ...eventRoutes,
  ...replayRoutes,
  ...forecastRoutes,
  ...doNotCallRoutes,
  ...findListedRoutes,
  ...eraseRoutes,
  ...formerKeyRoutes,
  ...ledgerRoutes,
  ...deadLetterRoutes,
  ...clientRoutes,
  ...clientReceiverRoutes,
  ...sendRoutes,
  ...tokenRoutes,
  ...meRoutes,
];
