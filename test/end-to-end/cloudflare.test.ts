import { describeFailingProviders } from "../contracts/failing-providers.ts";
import { describeForbiddenNumbers } from "../contracts/forbidden-numbers.ts";
import { describeResults } from "../contracts/results.ts";
import { describeService } from "../contracts/service/index.ts";
import { cloudflare } from "../support/platforms.ts";

describeService(cloudflare);
describeFailingProviders(cloudflare);
describeForbiddenNumbers(cloudflare);
describeResults(cloudflare);
