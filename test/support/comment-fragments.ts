import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** First words of a clause that lacks its subject, such as "Whose a token is." instead of "Owner of the token." */
const fragmentWords = ["What", "When", "Of", "Whose", "How", "So", "Whether", "Who", "Which"];
const beginsFragment = new RegExp(`^(?:${fragmentWords.join("|")})\\b`);
const beginsFragmentInAnyCase = new RegExp(beginsFragment.source, "i");

const folders = ["functions", "shared", "infra", "test"];
const foreign = /\/node_modules\/|^test\/sdks\/dist\/|^infra\/client\/dist\/|\/generated\//;

/** A comment that begins with a fragment. */
export interface CommentFragment {
  /** Number of the line, from 1. */
  line: number;
  text: string;
}

/**
 * Finds comments whose first word begins a fragment, in the source text of one file: the first word of each
 * block of comment lines, of each description after `@param name` or `@returns`, and of a comment behind code.
 */
export function fragmentsIn(source: string): CommentFragment[] {
  const found: CommentFragment[] = [];
  let isInBlock = false;
  let isContinued = false;
  for (const [index, one] of source.split("\n").entries()) {
    const line = one.trim();
    const opens: boolean = !isInBlock && line.startsWith("/*");
    const isLineComment = !isInBlock && line.startsWith("//");
    const isComment = isInBlock || opens || isLineComment;
    const text = isComment ? line.replace(/^(?:\/\*+|\*+(?!\/)|\/\/)\s*/, "") : "";
    const described = /^@(?:returns|param\s+\S+)\s+(.*)/.exec(text)?.[1];
    const behindCode = isComment ? undefined : /[\s;,{([]\/\/ (.*)/.exec(line)?.[1];
    const isFragment =
      (isComment && !isContinued && beginsFragment.test(text)) ||
      beginsFragmentInAnyCase.test(described ?? behindCode ?? "");
    if (isFragment) found.push({ line: index + 1, text: line });
    isInBlock = (isInBlock || opens) && !line.endsWith("*/");
    isContinued = isLineComment || (isInBlock && (isContinued || text !== ""));
  }
  return found;
}

/**
 * Finds the comments of this project that begin with a fragment, each as `path:line: comment`.
 *
 * @param root folder of the project
 */
export async function commentFragments(root: string): Promise<string[]> {
  const inFolder = await Promise.all(
    folders.map(async (folder) => {
      const names = await readdir(join(root, folder), { recursive: true });
      return names.map((name) => `${folder}/${name}`);
    }),
  );
  const paths = inFolder.flat().filter((path) => /\.tsx?$/.test(path) && !foreign.test(path));
  const fragments = await Promise.all(
    paths.map(async (path) =>
      fragmentsIn(await readFile(join(root, path), "utf8")).map(
        ({ line, text }) => `${path}:${line}: ${text}`,
      ),
    ),
  );
  return fragments.flat().toSorted();
}
