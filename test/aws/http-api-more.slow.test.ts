import { describeCallbacks } from "../contracts/http-api/callbacks.ts";
import { describeGuardedClients } from "../contracts/http-api/guards.ts";
import { describeReadiness } from "../contracts/http-api/readiness.ts";
import { describeOperatorApi } from "../contracts/operator-api/index.ts";
import { describeRequestsApi } from "../contracts/requests-api/index.ts";
import { useLambda } from "./lambda-api.ts";

const behind = useLambda();
const createApi = behind("an HTTP API's default stage");

describeGuardedClients("Lambda", createApi);
describeOperatorApi("Lambda", createApi);
describeCallbacks("Lambda", createApi, { runs: 100 });
describeRequestsApi("Lambda", createApi);
describeReadiness("Lambda", createApi);
