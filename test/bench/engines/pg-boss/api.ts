import express from "express";
import { connect } from "./queue.ts";

const boss = await connect();
const app = express();
app.use(express.json());
app.post("/calls", async (request, response) => {
  const id = await boss.send("calls", request.body);
  response.status(201).json({ id });
});
app.listen(Number(process.env["PORT"]), "127.0.0.1");
