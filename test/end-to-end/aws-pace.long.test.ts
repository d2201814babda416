import { describePace } from "../contracts/pace.ts";
import { aws } from "../support/platforms.ts";

describePace(aws);
