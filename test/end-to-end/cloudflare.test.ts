import { describeFailingProviders } from "../contracts/failing-providers.ts";
import { describeService } from "../contracts/service/index.ts";
import { cloudflare } from "../support/platforms.ts";

describeService(cloudflare);
describeFailingProviders(cloudflare);
