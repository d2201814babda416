import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Commands of a page, as a reader pastes them. */
export interface DocCommands {
  page: string;
  text: string;
}

/** Reads the blocks of shell commands of README.md and docs, in their order. */
export async function readDocCommands(): Promise<DocCommands[]> {
  const names = await readdir("docs");
  const pages = ["README.md", ...names.filter((name) => name.endsWith(".md")).map(inDocs)];
  const blocks = pages.map(async (page) => {
    const found = (await readFile(page, "utf8")).matchAll(/^```sh\n(.*?)^```$/gms);
    return [...found].map(([, text = ""]) => ({ page, text }));
  });
  return (await Promise.all(blocks)).flat();
}

const inDocs = (name: string) => join("docs", name);

/** Lists the lines of some commands that run one of this project's, as words without their comment. */
export function wordsOf({ text }: DocCommands, script: string): string[][] {
  const lines = text.replaceAll("\\\n", " ").split("\n");
  return lines.flatMap((line) => {
    const [, words] =
      new RegExp(`npm run ${script} -- (.*)$`).exec(line.replace(/ # .*/, "")) ?? [];
    return words === undefined
      ? []
      : [words.split(" ").filter((word) => !["", "…"].includes(word))];
  });
}

/** Returns what finds the blocks of a page in a language, as they are pasted. */
export async function readPageBlocks(path: string): Promise<(language: string) => string[]> {
  const page = await readFile(path, "utf8");
  return (language) =>
    [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map(
      ([, text = ""]) => text,
    );
}
