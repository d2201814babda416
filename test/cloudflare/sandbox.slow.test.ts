import { describeSandbox } from "../contracts/sandbox.ts";
import { createD1Stores } from "./d1-stores.ts";

describeSandbox("D1", createD1Stores);
