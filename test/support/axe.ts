import axe from "axe-core";
import type { Page } from "playwright-core";

/** Returns what axe finds on a page by the rules of WCAG 2.1 AA and its own best practice. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>(
    'axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"] })',
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
