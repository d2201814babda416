import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const root = pathToFileURL(join(import.meta.dirname, "../../")).href;
let copies = 0;

/** A constant of a source file, and the value to try. */
export interface Constant {
  /** Path of the file from the root. */
  path: string;
  name: string;
  value: number;
}

/**
 * Imports a file of this project, with all project files that it imports, once more with another value of a
 * constant.
 *
 * @param load imports the URL that it is given
 * @throws if the file declares no such constant
 */
export async function importWith<Module>(
  path: string,
  constant: Constant,
  load: (url: string) => Promise<Module>,
): Promise<Module> {
  const query = `?copy=${++copies}`;
  let isReplaced = false;
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const isOurs = resolved.url.startsWith(root) && !resolved.url.includes("/node_modules/");
      const isWithin = context.parentURL?.endsWith(query) === true;
      return isOurs && isWithin ? { ...resolved, url: `${resolved.url}${query}` } : resolved;
    },
    load(url, context, next) {
      const loaded = next(url, context);
      if (url !== `${root}${constant.path}${query}`) return loaded;
      const text = loaded.source ?? "";
      const source = typeof text === "string" ? text : new TextDecoder().decode(text);
      const declared = new RegExp(`const ${constant.name} = [\\d_]+`);
      isReplaced = declared.test(source);
      return {
        ...loaded,
        source: source.replace(declared, `const ${constant.name} = ${constant.value}`),
      };
    },
  });
  try {
    const loaded = await load(`${root}${path}${query}`);
    if (!isReplaced) throw new Error(`${constant.path} declares no number ${constant.name}`);
    return loaded;
  } finally {
    hooks.deregister();
  }
}
