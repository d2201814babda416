import { describeFuzz } from "../contracts/fuzz-api.ts";
import { describeCallHeaders } from "../contracts/http-api/call-headers.ts";
import { describeCallbacks } from "../contracts/http-api/callbacks.ts";
import { describeGuardedClients } from "../contracts/http-api/guards.ts";
import { describeReadiness } from "../contracts/http-api/readiness.ts";
import { describeOperatorApi } from "../contracts/operator-api/index.ts";
import { describeRequestsApi } from "../contracts/requests-api/index.ts";
import { judgeOf } from "../support/aws/rights.ts";
import { useStacks } from "../support/aws-stacks.ts";
import { apiEnvironment } from "../support/environment.ts";
import { parseDialPlan } from "../support/plans.ts";
import { useLambda } from "./lambda-api.ts";
import { useRights } from "./use-rights.ts";

const plan = parseDialPlan(JSON.parse(apiEnvironment.DIAL_PLAN), {});
const { templateOf } = useStacks();
const template = templateOf({ clientRights: ["read", "cancel", "opt_out", "events"], plan });
const { before } = useRights(judgeOf(template, "api"));
const behind = useLambda({ before });
const createApi = behind("an HTTP API's default stage");

// They count what is queued, and the others leave messages behind.
describeCallHeaders("Lambda", createApi);
describeFuzz("Lambda", createApi, { runs: 8 });
describeGuardedClients("Lambda", createApi);
describeOperatorApi("Lambda", createApi);
describeCallbacks("Lambda", createApi, { runs: 100 });
describeRequestsApi("Lambda", createApi);
describeReadiness("Lambda", createApi);
