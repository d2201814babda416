import type { Context } from "hono";
import type { CallHeaders } from "#shared/calls/call-request.ts";
import { labels } from "#shared/calls/labels.ts";
import * as z from "#shared/lib/zod.ts";
import type { ProblemError } from "../http/problem.ts";

/** Names of the headers that concern a request's calls. */
export const notBeforeHeader = "Call-Not-Before";
export const priorityHeader = "Call-Priority";

/** A time as RFC 3339 has it: with seconds, any number of decimals, and an offset. */
const timeSchema = z.whenUsed(() =>
  z.iso.datetime({ offset: true }).check(z.regex(/T\d\d:\d\d:\d\d/)),
);

/**
 * Reads the headers of a request that concern its calls. Platforms join two headers of one name by a comma, so a
 * repeated header is malformed. A label may contain a comma, so a repeated label is not detected.
 */
export function readCallHeaders(c: Context): CallHeaders | { errors: ProblemError[] } {
  const later = c.req.header(notBeforeHeader)?.toUpperCase();
  const priority = c.req.header(priorityHeader);
  const errors: ProblemError[] = [];
  if (later !== undefined && !timeSchema.safeParse(later).success) {
    const detail = "must be sent once, and be a time such as 2026-11-21T09:00:00Z or ...+01:00";
    errors.push({ header: notBeforeHeader, detail });
  }
  if (priority !== undefined && priority !== "urgent") {
    errors.push({ header: priorityHeader, detail: "must be sent once, and be urgent" });
  }
  const given: Record<string, string> = {};
  for (const [name, { header, pattern, rule }] of Object.entries(labels)) {
    const label = readLabel(c.req.header(header)?.trim());
    if (label === undefined) continue;
    if (pattern.test(label)) given[name] = label;
    else errors.push({ header, detail: rule });
  }
  if (errors.length > 0) return { errors };
  return {
    ...(later === undefined ? {} : { notBefore: toTime(later) }),
    ...(priority === undefined ? {} : { urgent: true }),
    ...(Object.keys(given).length === 0 ? {} : { labels: given }),
  };
}

/**
 * Returns the label in a header: printable ASCII as it stands, or decoded from `UTF-8''Fr%C3%BChling`, as RFC 8187
 * (https://www.rfc-editor.org/rfc/rfc8187#section-3.2) encodes any text. Empty: it is malformed.
 */
function readLabel(value: string | undefined): string | undefined {
  const [, encoded] = /^UTF-8'[\w-]*'(.*)$/is.exec(value ?? "") ?? [];
  if (encoded === undefined) return value === undefined || /^[ -~]*$/.test(value) ? value : "";
  if (!/^(?:[\w!#$&+.^`|~-]|%[\da-f]{2})+$/i.test(encoded)) return "";
  try {
    return decodeURIComponent(encoded);
  } catch {
    return ""; // its bytes are not UTF-8
  }
}

/** Returns a time in milliseconds since the epoch, rounded up, so that no call goes before it. */
function toTime(text: string): number {
  return Date.parse(text) + (/\.\d{3}0*[1-9]/.test(text) ? 1 : 0);
}
