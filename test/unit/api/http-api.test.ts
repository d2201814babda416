import { describeCallHeaders } from "#test/contracts/http-api/call-headers.ts";
import { describeGuardedClients } from "#test/contracts/http-api/guards.ts";
import { describeHttpApi } from "#test/contracts/http-api/index.ts";
import { describeOperatorApi } from "#test/contracts/operator-api/index.ts";
import { describeRequestsApi } from "#test/contracts/requests-api/index.ts";
import { createMemoryApi } from "#test/support/memory-api.ts";

describeHttpApi("Node, in memory", createMemoryApi);
describeCallHeaders("Node, in memory", createMemoryApi);
describeGuardedClients("Node, in memory", createMemoryApi);
describeOperatorApi("Node, in memory", createMemoryApi);
describeRequestsApi("Node, in memory", createMemoryApi);
