/**
 * `zod/mini`, of whose functions a bundle contains those that it uses, with its messages in English. Every schema is made
 * by `import * as z` from here: `zod/mini` itself calls every fault "Invalid input".
 */
import { config } from "zod/mini";
import english from "zod/v4/locales/en.js";

config(english());

export * from "zod/mini";
// As `z.core.$ZodError` it would bring all of zod into the bundle.
export { $ZodError as ZodError } from "zod/v4/core";
