import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "@babel/parser";

/** A node of a syntax tree: what the edits need of it. */
export interface Node {
  type: string;
  /** Offsets in the text of its file. */
  start: number;
  end: number;
}

/** A source file with its syntax tree. */
export interface Source {
  file: string;
  text: string;
  program: Node;
}

/** A function, variable or property that a path of names leads to. */
export interface Place {
  path: string;
  source: Source;
  node: Node;
}

const folders = [
  "functions/dialer",
  "functions/api",
  "functions/operator",
  "shared",
  "test/support",
];
/** True for core files. In test/support only the ports in memory count, which follow the rules of the engines' adapters. */
const isCore = (file: string) =>
  file.endsWith(".ts") && (!file.startsWith("test/") || file.includes("/memory-"));

export function toSource(file: string, text: string): Source {
  const { program } = parse(text, { sourceType: "module", plugins: ["typescript"] });
  return { file, text, program: toNode(program) };
}

/** Reads the core of a project, or of a copy of it. */
export function readCore(root: string): Source[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
        join(folder, name),
      ),
    )
    .filter(isCore)
    .map((file) => toSource(file, readFileSync(join(root, file), "utf8")));
}

/**
 * Finds the function, variable or property that a path names, such as `applyClaim.claims`: `claims` somewhere in
 * `applyClaim`, wherever that stands in the core. A variable goes before a property of the same name. Where two files
 * have the same name, one is named first, without its folder: `dial-plan:expiryOf`.
 *
 * @throws if the path leads nowhere or to several places
 */
export function findPlace(core: readonly Source[], path: string): Place {
  const [file, inFile] = path.includes(":") ? path.split(":") : [undefined, path];
  const names = inFile?.split(".") ?? [];
  const searched = core.filter((one) => file === undefined || one.file.endsWith(`/${file}.ts`));
  const found = searched.flatMap((source) =>
    source.text.includes(names[0] ?? "")
      ? placesIn(source, names).map((node) => ({ source, node }))
      : [],
  );
  const declared = found.filter(({ node }) => !node.type.endsWith("Property"));
  const [only, ...others] = declared.length === 1 ? declared : found;
  if (only === undefined) throw new Error(`nowhere in the core: ${path}`);
  if (others.length === 0) return { path, ...only };
  const files = found.map(({ source }) => source.file);
  throw new Error(`${found.length} times in the core: ${path} (${files.join(", ")})`);
}

function placesIn({ program }: Source, names: readonly string[]): Node[] {
  const places = new Set<Node>([program]);
  for (const name of names) {
    const outer = [...places];
    places.clear();
    for (const node of outer.flatMap((one) => listBelow(one))) {
      if (nameOf(node) === name) places.add(node);
    }
  }
  return [...places];
}

/** Returns the name under which a path finds a node. Undefined: paths do not name it. */
export function nameOf(node: Node): string | undefined {
  if (/^(FunctionDeclaration|ClassDeclaration|VariableDeclarator)$/.test(node.type)) {
    return identifierOf(childOf(node, "id"));
  }
  return /^(ObjectMethod|ObjectProperty|ClassMethod|ClassProperty)$/.test(node.type)
    ? identifierOf(childOf(node, "key"))
    : undefined;
}

/** Returns the path that leads to a node: its file, and all that is named around it. */
export function pathOf(node: Node, { file, program }: Source): string {
  const names = pathTo(node, program).flatMap((one) => nameOf(one) ?? []);
  return `${file.replace(/^.*\/|\.ts$/g, "")}:${names.join(".")}`;
}

/** Returns the name of an identifier, or the text of a string that is a property's name. */
export function identifierOf(node: Node | undefined): string | undefined {
  if (node === undefined) return undefined;
  const { name, value }: { name?: unknown; value?: unknown } = node as object;
  if (node.type === "Identifier" && typeof name === "string") return name;
  return node.type === "StringLiteral" && typeof value === "string" ? value : undefined;
}

/** Lists a node's children with the nodes from the root that lead to it, in the order of the text. */
export function listBelow(node: Node): Node[] {
  return childrenOf(node).flatMap((child) => [child, ...listBelow(child)]);
}

/** Lists the nodes from `outer` to `inner`, both included. */
export function pathTo(inner: Node, outer: Node): Node[] {
  if (outer === inner) return [outer];
  for (const child of childrenOf(outer)) {
    if (child.start > inner.start || child.end < inner.end) continue;
    const rest = pathTo(inner, child);
    if (rest.length > 0) return [outer, ...rest];
  }
  return [];
}

export function childOf(node: Node, key: string): Node | undefined {
  const child: unknown = Reflect.get(node, key);
  return isNode(child) ? child : undefined;
}

/** Lists the nodes of an array among a node's children, such as a call's arguments. */
export function listIn(node: Node, key: string): Node[] {
  const children: unknown = Reflect.get(node, key);
  return Array.isArray(children) ? children.filter(isNode) : [];
}

function childrenOf(node: Node): Node[] {
  // A property of a pattern, as in `const { row } = claim`, is no place of its own. Types are left out.
  if (node.type === "ObjectPattern" || node.type.startsWith("TSType")) return [];
  return Object.entries(node)
    .filter(([key]) => !/comments$/i.test(key))
    .flatMap(([, value]: [string, unknown]) => (Array.isArray(value) ? value : [value]))
    .filter(isNode)
    .toSorted((one, other) => one.start - other.start);
}

function isNode(value: unknown): value is Node {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    "start" in value &&
    "end" in value
  );
}

export function toNode(value: unknown): Node {
  if (!isNode(value)) throw new Error("no node");
  return value;
}
