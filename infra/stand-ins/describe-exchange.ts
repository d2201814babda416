import type { StandInRequest } from "./endpoint.ts";

/** Names under which providers take a call's context. Their values, and the names in it, are never shown. */
const contextFields = new Set([
  "Attributes",
  "context",
  "dynamic_variables",
  "headers",
  "request_data",
  "retell_llm_dynamic_variables",
  "templateContext",
  "variableValues",
]);
/** Our call's id, alone or with the attempt. */
const ourId = /^call_[0-9A-Z]{26}_\d{5}(-\d+)?$/;

/** Result of a request, as it is printed. */
interface Exchange {
  status: number;
  /** Fault of the request, if it has one. */
  problem?: string | undefined;
  /** Failure that was played instead of the answer. */
  failure?: string | undefined;
}

/**
 * Returns a line about a request and its answer. Shown are the names of fields, numbers but for all digits
 * save the last two, our own ids, and texts of `visible`, such as an agent's id in the dial plan. Any other
 * text could hold a context or a secret.
 */
export function describeExchange(
  type: string,
  { request, exchange }: { request: StandInRequest; exchange: Exchange },
  visible: ReadonlySet<string>,
): string {
  const { method, path, headers, text } = request;
  const { status, problem, failure } = exchange;
  const body = text === "" ? "" : ` ${JSON.stringify(masked(bodyOf(text, headers), "", visible))}`;
  const played = failure === undefined ? "" : ` (played: ${failure})`;
  const fault = problem === undefined ? "" : `: ${problem}`;
  return `stand-in of ${type}: ${method} ${path}${body} answered ${status}${fault}${played}`;
}

function bodyOf(text: string, headers: StandInRequest["headers"]): unknown {
  if (headers["content-type"]?.includes("form") === true) {
    return Object.fromEntries(new URLSearchParams(text));
  }
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function masked(value: unknown, name: string, visible: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((one) => masked(one, name, visible));
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    if (contextFields.has(name)) return entries.length === 0 ? {} : "…";
    return Object.fromEntries(entries.map(([key, one]) => [key, masked(one, key, visible)]));
  }
  if (typeof value !== "string") return value;
  if (contextFields.has(name)) return "…";
  if (/^\+\d{7,15}$/.test(value)) return maskedNumber(value);
  // Some providers write numbers without the plus.
  if (/^\d{7,15}$/.test(value) && !visible.has(value)) return maskedNumber(`+${value}`);
  return ourId.test(value) || visible.has(value) ? value : "…";
}

/** Masks an E.164 number to its last two digits. */
export function maskedNumber(number: string): string {
  return `+${"•".repeat(Math.max(number.length - 3, 0))}${number.slice(-2)}`;
}
