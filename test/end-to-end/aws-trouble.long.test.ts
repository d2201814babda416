import { describeTrouble } from "../contracts/trouble.ts";
import { aws } from "../support/platforms.ts";

describeTrouble(aws);
