import { Worker } from "bullmq";
import { dial } from "../dial.ts";

const connection = {
  host: "127.0.0.1",
  port: Number(process.env["REDIS_PORT"]),
  maxRetriesPerRequest: null,
};
const worker = new Worker("calls", ({ data }) => dial(data), { connection, concurrency: 25 });
worker.on("error", (error) => console.error(error));
