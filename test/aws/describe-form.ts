import { describeFuzz } from "../contracts/fuzz-api.ts";
import { describeCallbacks } from "../contracts/http-api/callbacks.ts";
import { describeGuardedClients } from "../contracts/http-api/guards.ts";
import { describeHttpApi } from "../contracts/http-api/index.ts";
import { describeReadiness } from "../contracts/http-api/readiness.ts";
import { describeOperatorApi } from "../contracts/operator-api/index.ts";
import { describeRequestsApi } from "../contracts/requests-api/index.ts";
import { type EventForm, useLambda } from "./lambda-api.ts";

/** The operator's suite takes half a minute: it goes along the usual form, and the one whose queries are encoded otherwise. */
const formsOfOperators = new Set<EventForm>(["an HTTP API's default stage", "a load balancer"]);

/** Describes the whole API behind one form of events. Each form has a file of its own, so that they run at once. */
export function describeForm(form: EventForm): void {
  const name = `Lambda behind ${form}`;
  const createApi = useLambda()(form);
  describeHttpApi(name, createApi);
  describeGuardedClients(name, createApi);
  describeFuzz(name, createApi, { runs: 60 });
  describeCallbacks(name, createApi, { runs: 100 });
  describeRequestsApi(name, createApi);
  if (formsOfOperators.has(form)) {
    describeOperatorApi(name, createApi);
    describeReadiness(name, createApi);
  }
}
