import { Queue } from "bullmq";
import express from "express";

const connection = { host: "127.0.0.1", port: Number(process.env["REDIS_PORT"]) };
const calls = new Queue("calls", {
  connection,
  defaultJobOptions: { attempts: 3, backoff: { type: "exponential", delay: 1000 } },
});
const app = express();
app.use(express.json());
app.post("/calls", async (request, response) => {
  const { id } = await calls.add("call", request.body);
  response.status(201).json({ id });
});
app.listen(Number(process.env["PORT"]), "127.0.0.1");
