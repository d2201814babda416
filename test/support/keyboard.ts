import type { Locator, Page } from "playwright-core";

/** Maximum steps of the Tab key to one element: a page has fewer that can be reached. */
const stepsMax = 250;

/** Moves the focus to an element by the Tab key alone. @throws if the key does not lead there */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.first().waitFor();
  for (let step = 0; step < stepsMax; step++) {
    const isThere = await target
      .first()
      .evaluate((element) => element === element.ownerDocument.activeElement);
    if (isThere) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`the Tab key does not lead to ${target.toString()}`);
}

/** Goes to an element by the Tab key and presses it by Enter. */
export async function press(page: Page, target: Locator): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press("Enter");
}

/** Goes to a field by the Tab key and replaces its text. */
export async function type(page: Page, target: Locator, text: string): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.press("Delete");
  if (text !== "") await page.keyboard.type(text);
}
