import * as z from "zod/v4/core";
import { real } from "#shared/lib/later-schemas.ts";
import { dialPlanSchema } from "#shared/dial-plan/plan-schema.ts";
import { settingDescriptions } from "#shared/dial-plan/setting-descriptions.ts";

type Node = z.JSONSchema.BaseSchema;

/** A setting of the dial plan: its path, in which `*` stands for a name, and what is said of it. */
export interface PlanSetting {
  path: string;
  values: string;
  default: string;
  means: string;
}

/** Sections of docs/dial-plan.md and other pages that say more about a setting. */
const more: Readonly<Record<string, string>> = {
  "agents.*.checks": "checks.md",
  "agents.*.retry": "#retries",
  "agents.*.from": "#calling-numbers",
  "agents.*.split": "splits.md",
  "agents.*.callBacks": "call-backs.md",
  "providers.*.type": "providers.md",
  "providers.*.callsPerSecond": "#pace",
  "providers.*.callsPerDay": "#guards",
  "providers.*.liveCalls": "results.md#live-calls",
  callingHours: "#calling-hours",
  maxCalls: "#caps",
  defaultTimeZone: "#time-zones",
  results: "results.md",
  "results.pauseAgents": "results.md#agents-that-are-paused",
  events: "events.md",
  clientReceivers: "events.md#receivers-of-your-own",
  guards: "#guards",
  checks: "checks.md",
  traces: "traces.md",
};

/** Settings of a route that its provider's schema has, not the plan's. */
const ofRoutes: PlanSetting[] = [
  {
    path: "agents.*.checks",
    values: "1 to 3 names",
    default: "none",
    means: "the checks that are asked before this agent's calls",
  },
  {
    path: "agents.*.from",
    values: "a number, or a pool",
    default: "by provider",
    means: "the calling number; other fields of a route are on its provider's page",
  },
];

/** Lists every setting of the dial plan, in the order of its schema. */
export function listPlanSettings(): PlanSetting[] {
  const plan = z.toJSONSchema(real(dialPlanSchema), { io: "input", unrepresentable: "any" });
  const settings = settingsIn(plan, "");
  const at = settings.findIndex(({ path }) => path === "agents.*.retry");
  return settings.toSpliced(at, 0, ...ofRoutes);
}

/** Lists the settings below a path. Entries of a record have `*` as their name; caps and delays are one setting each. */
function settingsIn({ properties = {}, required = [] }: Node, parent: string): PlanSetting[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const node = nodeOf(schema);
    const path = `${parent}${name}`;
    const description = settingDescriptions[path];
    if (description === undefined && node.properties === undefined) {
      throw new Error(`${path} of the dial plan has no description`);
    }
    const own: PlanSetting[] =
      description === undefined
        ? []
        : [{ path, values: valuesOf(node), default: defaultOf(node), means: description }];
    const setting = own.map((one) => {
      const [, means = one.means, absent = one.default] = absentPattern.exec(one.means) ?? [];
      return { ...one, means, default: required.includes(name) ? "required" : absent };
    });
    const { additionalProperties: entries } = node;
    if (nodeOf(entries).properties !== undefined) {
      return [...setting, ...settingsIn(nodeOf(entries), `${path}.*.`)];
    }
    const isWhole = name === "maxCalls" || name === "after";
    return isWhole ? setting : [...setting, ...settingsIn(node, `${path}.`)];
  });
}

/** Returns a schema, of which `true` and an absent one say nothing. */
function nodeOf(schema: z.JSONSchema._JSONSchema | undefined): Node {
  return typeof schema === "object" ? schema : {};
}

/** A description that says what holds where a setting without a default is absent. */
const absentPattern = /^(.*); absent: (.*)$/;

function valuesOf(node: Node): string {
  const { type, format, items, enum: words } = node;
  if (words !== undefined) return words.map((word) => `\`${String(word)}\``).join(", ");
  if (type === "boolean") return "true, false";
  if (type === "integer" || type === "number") {
    return node.minimum === undefined
      ? `up to ${node.maximum}`
      : `${node.minimum} to ${node.maximum}`;
  }
  if (type === "array") {
    const item = Array.isArray(items) ? {} : nodeOf(items);
    if (item.enum !== undefined && item.enum.length <= 3) return valuesOf(item);
    return node.maxItems === undefined ? "a list" : `up to ${node.maxItems}`;
  }
  if (format === "uri") return "https URL";
  if (type === "string") return "text";
  if (type !== "object") return "hours";
  return node.properties === undefined ? "by name" : "an object";
}

function defaultOf({ default: value }: Node): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return Array.isArray(value) && value.length > 0 ? "all" : "none";
}

/** Returns the list of settings in docs/dial-plan.md, a line each. */
export function planSettingsList(): string {
  const lines = listPlanSettings().map(({ path, values, default: byDefault, means }) => {
    const link = more[path];
    const text = link === undefined ? means : `${means} ([more](${link}))`;
    const range = byDefault === "none" ? values : `${values}; ${ofDefault(byDefault)}`;
    return `- \`${path}\` (${range}): ${text}`;
  });
  return lines.join("\n");
}

const ofDefault = (value: string) => (value === "required" ? value : `default ${value}`);

/** Names of the settings that limit how many calls an account places in a time, such as `callsPerDay`. */
export const accountLimits: readonly string[] = listPlanSettings().flatMap(
  ({ path }) => /^providers\.\*\.(calls(?!PerSecond)\w+)$/.exec(path)?.[1] ?? [],
);
