import { describeFailingProviders } from "../contracts/failing-providers.ts";
import { describeForbiddenNumbers } from "../contracts/forbidden-numbers.ts";
import { cloudflare } from "../support/platforms.ts";

describeFailingProviders(cloudflare);
describeForbiddenNumbers(cloudflare);
