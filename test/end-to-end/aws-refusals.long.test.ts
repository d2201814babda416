import { describeFailingProviders } from "../contracts/failing-providers.ts";
import { describeForbiddenNumbers } from "../contracts/forbidden-numbers.ts";
import { aws } from "../support/platforms.ts";

describeFailingProviders(aws);
describeForbiddenNumbers(aws);
