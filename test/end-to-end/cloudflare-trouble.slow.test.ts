import { describeTrouble } from "../contracts/trouble.ts";
import { cloudflare } from "../support/platforms.ts";

describeTrouble(cloudflare);
