import { describeOrders } from "../describe-orders.ts";
import { explorations, isShort } from "../explorations.ts";

describeOrders(explorations.filter(isShort));
