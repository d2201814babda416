import { describe } from "vitest";
import { describeFuzz } from "../contracts/fuzz-api.ts";
import { describeCallHeaders } from "../contracts/http-api/call-headers.ts";
import { describeCallbacks } from "../contracts/http-api/callbacks.ts";
import { describeIdempotency } from "../contracts/http-api/idempotency.ts";
import { describeHttpApi } from "../contracts/http-api/index.ts";
import { describeOtherRequests } from "../contracts/http-api/other-requests.ts";
import { useHttpApi } from "../contracts/http-api/setup.ts";
import { itListsRequests } from "../contracts/requests-api/listing.ts";
import { useRequestsApi } from "../contracts/requests-api/setup.ts";
import { type EventForm, useLambda } from "./lambda-api.ts";

/**
 * Describes what differs behind one form of events: bodies, headers, paths and queries, and of a named stage the paths alone.
 * All of the API behind the usual form is in http-api.test.ts and http-api-more.slow.test.ts. Each form has a file of its own,
 * so that they run at once.
 */
export function describeForm(form: EventForm): void {
  const name = `Lambda behind ${form}`;
  const createApi = useLambda()(form);
  if (form === "an HTTP API's named stage") {
    describe(`the API on ${name}`, () => {
      const api = useHttpApi(createApi);
      describeOtherRequests(api, { hasOperator: true });
      describeIdempotency(api); // an answer is bound to its path
    });
  } else {
    describeHttpApi(name, createApi);
    describeCallHeaders(name, createApi);
  }
  describeFuzz(name, createApi, { runs: 20 });
  describeCallbacks(name, createApi, { runs: 30 });
  // Its queries are encoded otherwise than those of all other forms.
  if (form === "a load balancer") {
    describe(`the API of requests on ${name}`, () => itListsRequests(useRequestsApi(createApi)));
  }
}
