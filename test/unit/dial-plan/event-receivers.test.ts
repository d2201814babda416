import { describeEventReceiver } from "#test/contracts/event-receiver.ts";

describeEventReceiver(process.execPath, "docs/examples/event-receiver.ts");
