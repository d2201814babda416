import { describePace } from "../contracts/pace.ts";
import { cloudflare } from "../support/platforms.ts";

describePace(cloudflare);
