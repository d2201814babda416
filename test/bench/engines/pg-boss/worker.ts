import { dial } from "../dial.ts";
import { connect } from "./queue.ts";

const boss = await connect();
const options = { localConcurrency: 25, notifyPollingIntervalSeconds: 2 };
await boss.work("calls", options, async ([job]) => dial(job?.data));
