/**
 * The views beside the overview: a file of their own, which is loaded when one of them is opened first. Its parts that
 * the overview has too are in a third file, so that both see the same state.
 */
export { Accounts } from "../accounts/accounts.tsx";
export { Audit } from "../audit/audit.tsx";
export { buildId } from "./build-id.ts";
export { Calls } from "../calls/calls.tsx";
export { Campaigns } from "../campaigns/campaigns.tsx";
export { Clients } from "../clients/clients.tsx";
export { DoNotCall } from "../do-not-call/do-not-call.tsx";
export { Forecast } from "../forecast/forecast.tsx";
export { Incidents } from "../incidents/incidents.tsx";
export { Requests } from "../requests/requests.tsx";
export { Review } from "../review/review.tsx";
export { Send } from "../send/send.tsx";
