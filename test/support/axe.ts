import axe from "axe-core";
import type { Page } from "playwright-core";

/** Returns what axe finds on a page by the rules of WCAG 2.2 AA and its own best practice. */
export async function axeFindings(page: Page): Promise<string[]> {
  // A page keeps it until it is left; to send and compile it takes half as long as it runs.
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>(
    'axe.run({ resultTypes: ["violations"], ' +
      'runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }' +
      ").then(({ violations }) => ({ violations }))",
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

/** Returns what axe finds wrong with the page as it stands, and by how many pixels it is wider than the window. */
export async function flawsOf(page: Page): Promise<string[]> {
  const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
  const tooWide = overflow === 0 ? [] : [`${String(overflow)} px too wide`];
  return [...(await axeFindings(page)), ...tooWide];
}
