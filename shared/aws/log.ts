import type { Log, LogLevel } from "../lib/log.ts";

/** Lambda's level of a line follows from the method that prints it. */
const methods: Record<LogLevel, "log" | "warn" | "error"> = {
  info: "log",
  warning: "warn",
  alarm: "error",
};

/**
 * Prints each event as an object. In Lambda's JSON format a line is
 * `{"timestamp", "level", "requestId", "message"}`, and a sole object that is printed becomes `message` as it
 * is, while a string would stay a string: metric filters read the event's fields, such as `$.message.event`.
 */
export const lambdaLog: Log = (level, event, fields) => {
  console[methods[level]]({ time: new Date().toISOString(), level, event, ...fields });
};
