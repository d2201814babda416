/**
 * The views beside the overview: a file of their own, which is loaded when one of them is opened first. Its parts that
 * the overview has too are in a third file, so that both see the same state.
 */
export { Accounts } from "./accounts.tsx";
export { Audit } from "./audit.tsx";
export { buildId } from "./build-id.ts";
export { Calls } from "./calls.tsx";
export { Campaigns } from "./campaigns.tsx";
export { Clients } from "./clients.tsx";
export { DoNotCall } from "./do-not-call.tsx";
export { Forecast } from "./forecast.tsx";
export { Incidents } from "./incidents.tsx";
export { Requests } from "./requests.tsx";
export { Review } from "./review.tsx";
export { Send } from "./send.tsx";
