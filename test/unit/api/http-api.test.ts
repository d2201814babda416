import { describeGuardedClients } from "../../contracts/http-api/guards.ts";
import { describeHttpApi } from "../../contracts/http-api/index.ts";
import { describeOperatorApi } from "../../contracts/operator-api/index.ts";
import { describeRequestsApi } from "../../contracts/requests-api/index.ts";
import { createMemoryApi } from "../../support/memory-api.ts";

describeHttpApi("Node, in memory", createMemoryApi);
describeGuardedClients("Node, in memory", createMemoryApi);
describeOperatorApi("Node, in memory", createMemoryApi);
describeRequestsApi("Node, in memory", createMemoryApi);
