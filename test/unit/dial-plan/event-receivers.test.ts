import { describeEventReceiver } from "../../contracts/event-receiver.ts";

describeEventReceiver(process.execPath, "docs/examples/event-receiver.ts");
