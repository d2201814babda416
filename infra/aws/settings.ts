import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseJsonText } from "#shared/lib/json-fault.ts";
import { clientRights } from "#shared/settings/tokens.ts";
import * as z from "#shared/lib/zod.ts";
import { reservationMin } from "./limits.ts";

/** First parts of the API's own paths: under a stage of that name they could not be distinguished from the stage. */
const reservedStages = ["v1", "operator", "callbacks", "docs", "healthz", "readyz", "openapi.json"];

const deploymentSchema = z.strictObject({
  /** A named stage beside the default one. */
  stage: z.optional(
    z.string().check(
      z.refine((stage) => !reservedStages.includes(stage), {
        error: `must not be ${reservedStages.join(", ")}, which the API's own paths begin with`,
      }),
      z.regex(/^[\w-]{1,128}$/, "must be letters, digits, hyphens and underscores"),
    ),
  ),
  /** Base path that a custom domain puts in front. */
  basePath: z.optional(
    z.string().check(z.regex(/^\/[\w.~-]+(?:\/[\w.~-]+)*$/, "must be a path such as /phone")),
  ),
  /** True if there is an operator API, for which the API's function reads and writes calls. */
  operator: z._default(z.boolean(), true),
  /** Rights that clients' tokens may have beyond placing calls. Each lets the API's function do what it needs. */
  clientRights: z._default(z.array(z.enum(clientRights)), []),
  /** True to trace the functions' invocations with X-Ray. */
  xray: z._default(z.boolean(), false),
  /** E-mail address that receives alarms. */
  alarmEmail: z.optional(z.email()),
  /** ARN of an SNS topic that receives alarms instead of the stack's own. */
  alarmTopicArn: z.optional(
    z
      .string()
      .check(
        z.regex(/^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]{1,256}$/, "must be the ARN of an SNS topic"),
      ),
  ),
  /**
   * Name of the table that is used instead of the stack's own: one that was restored from a point in time, as DynamoDB
   * restores into a new table.
   */
  ledgerTable: z.optional(
    z.string().check(z.regex(/^[\w.-]{3,255}$/, "must be the name of a DynamoDB table")),
  ),
  /** Concurrent invocations of the dialer that are reserved to it. */
  dialerConcurrency: z.optional(z.int().check(z.minimum(reservationMin))),
});

/**
 * A deployment's name becomes part of its stack's name. Queues of `calls-events` would have the names of events queues of
 * `calls`.
 */
const isName = (name: string): boolean =>
  /^[a-z][a-z0-9-]{0,29}$/.test(name) && !/(^|-)events$/.test(name);
const nameRule = "at most 30 lowercase letters, digits and hyphens, and must not end in events";
const settingsSchema = z.record(z.string(), deploymentSchema).check(
  z.refine((deployments) => Object.keys(deployments).every(isName), {
    error: `the name of a deployment must be ${nameRule}`,
  }),
);

/** Settings of one deployment. */
export type DeploymentSettings = z.infer<typeof deploymentSchema>;

/** Path of the settings' file from the project's root. */
export const settingsFile = "infra/aws/settings.json";
/** Name in the settings' file of the deployment without a name. */
export const firstName = "default";

/** A deployment: its stack and its settings. */
export interface Deployment {
  stackName: string;
  settings: DeploymentSettings;
}

/**
 * Returns a deployment with the settings that infra/aws/settings.json has for it; without any, the defaults.
 *
 * @param name the deployment beside the first, such as `staging`
 * @param file path from the project's root, another one in tests
 * @throws an Error that names each wrong setting
 */
export function readDeployment(name?: string, file = settingsFile): Deployment {
  return deploymentOf(name, readFileSync(resolve(import.meta.dirname, "../..", file), "utf8"));
}

/** Returns the deployment of this name from the text of the settings' file. @throws an Error as `readDeployment` */
export function deploymentOf(name: string | undefined, json: string): Deployment {
  if (name !== undefined && !isName(name)) {
    throw new Error(`--name must be ${nameRule}`);
  }
  const parsed = settingsSchema.safeParse(parseJsonText(json, settingsFile));
  if (!parsed.success) throw new Error(`${settingsFile}:\n${z.prettifyError(parsed.error)}`);
  return {
    stackName: name === undefined ? "OutboundCalls" : `OutboundCalls-${name}`,
    settings: parsed.data[name ?? firstName] ?? deploymentSchema.parse({}),
  };
}

/** Names of the settings, which stand in the file alone: `-c name=value` would last for one deployment. */
export const settingNames = Object.keys(deploymentSchema.shape);
