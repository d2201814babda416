import { describeTries } from "../contracts/tries.ts";
import { createD1Stores } from "./d1-stores.ts";

describeTries("D1", createD1Stores);
