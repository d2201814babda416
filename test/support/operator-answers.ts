import { expect } from "vitest";
import { operatorRoutes } from "#functions/operator/routes.ts";

/**
 * Checks that an answer of the operator's API has the status and the body that its route declares. Problems are not
 * checked.
 *
 * @param path below `/operator`
 */
export function expectDeclared(
  method: string,
  path: string,
  { status, text }: { status: number; text: string },
): void {
  if (status >= 300) return;
  const [plainPath = ""] = path.split("?");
  const route = operatorRoutes.find(
    (one) =>
      one.method === method &&
      new RegExp(`^${one.path.replaceAll(/:\w+/g, "[\\w-]+")}$`).test(plainPath),
  );
  expect(route?.status ?? 200).toBe(status);
  const body: unknown = JSON.parse(text);
  expect(route?.answer.parse(body)).toEqual(body);
}
