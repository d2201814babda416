import { campaignPattern } from "./campaign-name.ts";
import * as z from "../lib/zod.ts";

/**
 * The labels of a request: the client's own names, on which dialing does not depend. Each has a header. Messages,
 * rows, usage, events and views carry all of them as one bag, so a further label is one entry here.
 */
export const labels = {
  campaign: {
    header: "Call-Campaign",
    pattern: campaignPattern,
    rule: "must be 1 to 64 printable characters, those beyond ASCII encoded by RFC 8187",
  },
} as const satisfies Record<string, { header: string; pattern: RegExp; rule: string }>;

export type LabelName = keyof typeof labels;
export type Labels = { readonly [Name in LabelName]?: string };

/** Names of the labels, by each of which usage is grouped. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the object has no other keys
export const labelNames = Object.keys(labels) as LabelName[];

/** Returns an object with a value under the name of each label, such as the schema of a field. */
export function fillLabels<Value>(value: Value): Record<LabelName, Value> {
  return { campaign: value };
}

/** Labels as stored. Labels that only a later version knows are preserved. */
export const labelsSchema = z.record(z.string(), z.string());

/** The labels as answers and events show them. Absent: not sent. */
export const labelViews = {
  campaign: z
    .optional(z.string())
    .check(z.describe("Call-Campaign of its request; absent where none was sent")),
} satisfies Record<LabelName, z.ZodMiniType>;

/** Descriptions of the headers, for the API's document. */
export const labelDescriptions: Readonly<Record<string, string>> = {
  campaign:
    "Your name for the requests that belong together. It is kept with the calls and repeated in answers and events; nothing of the dialing depends on it. Spaces at its ends do not count. 1 to 64 characters; a name beyond ASCII as RFC 8187 has it: `UTF-8''Fr%C3%BChling`.",
} satisfies Record<LabelName, string>;
