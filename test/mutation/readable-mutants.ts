import { dotted, type Change, type Edit } from "./edits.ts";
import type { HandMade } from "./mutant.ts";
import {
  childOf,
  identifierOf,
  listBelow,
  listIn,
  pathOf,
  pathTo,
  type Node,
  type Source,
} from "./tree.ts";

const unit = (folder: string, ...names: string[]) =>
  names.map((name) => `test/unit/${folder}/${name}.test.ts`);

const tests = [
  ...unit("rules", "unreadable", "earlier-tries"),
  ...unit("dialer", "unreadable", "unreadable-rows", "settle-surely", "lost-claims", "tries-told"),
  ...unit("dialer", "look-up", "erasures", "results", "client-receivers", "sweep-live-calls"),
  ...unit("api", "report-unreadable", "api-failures", "change-call"),
];

/** Places where it may count as absent, with what holds the call then. */
const heldElsewhere: Readonly<Record<string, string>> = {
  "dial-calls:readAndDecide":
    "a first write of the call's row meets the row that there is, and the delivery comes again",
};

/**
 * Returns a mutant for each place that asks if only a later version can read something: it counts as absent there, and what
 * a list has skipped as nothing. So no reader can be forgotten.
 */
export function readableMutants(core: readonly Source[]): HandMade[] {
  return core.flatMap((source) => {
    const paths = listAsked(source.program).map((asked) => pathOf(asked, source));
    return paths.flatMap((path, at) => {
      if (Object.hasOwn(heldElsewhere, path)) return [];
      const index = paths.slice(0, at).filter((one) => one === path).length;
      const breaks = `${path} knows what it cannot read (${index + 1})`;
      return { breaks, edits: [[path, asAbsent(index)]], tests };
    });
  });
}

/** Has what only a later version can read count as absent, where that is asked at a place for this time, from 0. */
function asAbsent(index: number): Edit {
  return ({ path, source, node }) => {
    const asked = listAsked(node).filter((one) => pathOf(one, source) === pathOf(node, source));
    const one = asked[index];
    if (one === undefined) throw new Error(`asks for nothing unreadable: ${path}`);
    return [changeOf(one, source)];
  };
}

function changeOf(asked: Node, { text, program }: Source): Change {
  const { start, end } = asked;
  const textOf = (node: Node) => text.slice(node.start, node.end);
  const absent = (node: Node) =>
    `((found) => (found === "unreadable" ? undefined : found))(${textOf(node)})`;
  const [given] = listIn(asked, "arguments");
  if (given !== undefined) return { start, end, becomes: absent(given) };
  const left = childOf(asked, "left");
  if (left !== undefined && isCount(left)) return { ...rangeOf(left), becomes: "0" };
  const read = left && findRead(left, pathTo(asked, program));
  if (read !== undefined) return { ...rangeOf(read), becomes: absent(read) };
  return { start, end, becomes: String(operatorOf(asked) === "!==") };
}

const rangeOf = ({ start, end }: Node) => ({ start, end });
const operatorOf = (node: Node) => String(Reflect.get(node, "operator"));

/** Lists what asks if only a later version can read something: calls of `requireReadable`, and comparisons. */
function listAsked(node: Node): Node[] {
  const all = listBelow(node);
  const alike = new Set(all.filter(isAlike).map((one) => childOf(one, "right")));
  return all.filter((one) => isRequired(one) || (isCompared(one) && !alike.has(one)));
}

const isRequired = (node: Node) => dotted(childOf(node, "callee")) === "requireReadable";

/** True for `row === unreadable`, `isUnreadable === true`, and the count of what a list has skipped beside 0. */
function isCompared(node: Node): boolean {
  const [left, right] = [childOf(node, "left"), childOf(node, "right")];
  if (node.type !== "BinaryExpression" || left === undefined || right === undefined) return false;
  if (right.type === "Identifier" && identifierOf(right) === "unreadable") {
    return /^[=!]==$/.test(operatorOf(node));
  }
  if (right.type === "BooleanLiteral") return dotted(left).endsWith(".isUnreadable");
  return right.type === "NumericLiteral" && isCount(left);
}

const isCount = (node: Node) => /(^|\.)unreadable(\.size)?$/.test(dotted(node));

/** True for `row === undefined || row === unreadable`, which answers alike for an absent one. */
function isAlike(node: Node): boolean {
  if (operatorOf(node) !== "||") return false;
  const [left, right] = [childOf(node, "left"), childOf(node, "right")];
  if (left === undefined || right === undefined || !isCompared(right)) return false;
  const name = identifierOf(childOf(right, "left"));
  return (
    identifierOf(childOf(left, "left")) === name &&
    identifierOf(childOf(left, "right")) === "undefined"
  );
}

/** Finds what a variable of the same function was read as. Undefined: it is a parameter, or a part of something else. */
function findRead(variable: Node, path: readonly Node[]): Node | undefined {
  const innermost = path.findLastIndex(({ type }) => /Function|Method/.test(type));
  const declared = path
    .slice(innermost + 1)
    .flatMap((block) => listIn(block, "body"))
    .flatMap((statement) => listIn(statement, "declarations"))
    .findLast((one) => identifierOf(childOf(one, "id")) === identifierOf(variable));
  const value = declared && childOf(declared, "init");
  return value?.type === "LogicalExpression" ? childOf(value, "left") : value;
}
