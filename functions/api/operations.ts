/** The operators' API and the clients' other routes, which no POST of calls needs. */
export { createOperator } from "../operator/operator.ts";
export { createRequests } from "./requests/routes.ts";
