import { DBOSClient } from "@dbos-inc/dbos-sdk";
import express from "express";

const client = await DBOSClient.create({ systemDatabaseUrl: process.env["DATABASE_URL"] ?? "" });
const app = express();
app.use(express.json());
app.post("/calls", async (request, response) => {
  const options = { queueName: "calls", workflowName: "call" };
  const { workflowID } = await client.enqueue(options, request.body);
  response.status(201).json({ id: workflowID });
});
app.listen(Number(process.env["PORT"]), "127.0.0.1");
