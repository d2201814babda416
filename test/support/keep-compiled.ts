/**
 * Has Node keep the modules of the processes that a test starts, compiled and without their types: services and commands load
 * the same ones again and again. A worker of Vitest gains nothing by it.
 */
import { resolve } from "node:path";

process.env["NODE_COMPILE_CACHE"] ??= resolve("node_modules/.cache/outbound-calls/compiled");
