/** The imports of an API on Express and BullMQ at its start. */
import { Queue, Worker } from "bullmq";
import express from "express";
import * as z from "zod";

export const app = express();
export const used = [Queue, Worker, z.strictObject];
