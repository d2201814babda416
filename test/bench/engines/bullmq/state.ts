/** Prints what has become of the jobs, for the bench. */
import { Queue } from "bullmq";

const connection = { host: "127.0.0.1", port: Number(process.env["REDIS_PORT"]) };
const queue = new Queue("calls", { connection });
const ids = (jobs: { id?: string }[]) => jobs.map(({ id }) => id);
const [open, left] = await Promise.all([
  queue.getJobs(["active", "waiting", "delayed", "prioritized"]),
  queue.getJobs(["failed"]),
]);
console.log(JSON.stringify({ open: ids(open), left: ids(left) }));
await queue.close();
