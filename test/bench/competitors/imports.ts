/** What an API of Express and BullMQ imports at its start. */
import { Queue, Worker } from "bullmq";
import express from "express";
import * as z from "zod";

export const app = express();
export const used = [Queue, Worker, z.strictObject];
