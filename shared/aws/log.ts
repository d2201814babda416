import type { Log, LogLevel } from "../lib/log.ts";

/** Lambda's level of a line follows from the method that prints it. */
const methods: Record<LogLevel, "log" | "warn" | "error"> = {
  info: "log",
  warning: "warn",
  alarm: "error",
};

/**
 * Prints each event as an object. In Lambda's JSON format a line is `{"timestamp", "level", "requestId", "message"}`,
 * and an object that is printed alone becomes `message` unchanged, so that metric filters can read its fields, such
 * as `$.message.event`.
 */
export const lambdaLog: Log = (level, event, fields) => {
  console[methods[level]]({ time: new Date().toISOString(), level, event, ...fields });
};
