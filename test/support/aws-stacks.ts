import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, AwsSolutionsChecks, Template, Validations } from "#infra/aws/cdk.ts";
import { afterAll, expect } from "vitest";
import { functionNames } from "#infra/aws/bundle.ts";
import type { OutboundCallsProps } from "#infra/aws/props.ts";
import { OutboundCallsStack } from "#infra/aws/stack.ts";

/** Makes stacks of functions that do nothing, whose files it removes after the file's tests. */
export function useStacks() {
  const bundles = mkdtempSync(join(tmpdir(), "outbound-calls-"));
  for (const name of functionNames) {
    mkdirSync(join(bundles, name));
    writeFileSync(join(bundles, name, "index.mjs"), "export const handler = () => undefined;\n");
  }
  afterAll(() => rmSync(bundles, { recursive: true }));

  /** CDK does not validate the templates: the tests of deployments have it done, and here it takes half of the time. */
  const createApp = () =>
    new App({
      builtinCloudFormationValidation: false,
      outdir: mkdtempSync(join(bundles, "out-")),
    });
  const stackOf = (props: Partial<OutboundCallsProps>, app = createApp(), name = "OutboundCalls") =>
    new OutboundCallsStack(app, name, { bundles, ...props });
  const templateOf = (props: Partial<OutboundCallsProps>, name?: string) =>
    Template.fromStack(stackOf(props, createApp(), name));

  /** Expects that cdk-nag has nothing to object to in a stack with these settings. */
  function expectNoObjection(props: Partial<OutboundCallsProps>): void {
    const app = createApp();
    stackOf(props, app);
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    const report: unknown = JSON.parse(
      readFileSync(join(app.synth().directory, "validation-report.json"), "utf8"),
    );
    expect(report).toMatchObject({
      pluginReports: [{ pluginName: "AwsSolutions", conclusion: "success", violations: [] }],
    });
  }
  return { stackOf, templateOf, expectNoObjection };
}

/** Returns the properties of all resources of a type. */
export function propertiesOf(template: Template, type: string): Record<string, unknown>[] {
  return Object.values(template.findResources(type)).map(
    ({ Properties = {} }): Record<string, unknown> => Properties,
  );
}
