import { parseExpression } from "@babel/parser";
import {
  childOf,
  identifierOf,
  listBelow,
  listIn,
  nameOf,
  pathTo,
  toNode,
  type Node,
  type Place,
} from "./tree.ts";

/** A change of a file's text. */
export interface Change {
  start: number;
  end: number;
  becomes: string;
}

/** Breaks the code at a place. @throws if what it names does not stand there exactly once */
export type Edit = (place: Place) => Change[];

/** Gives a variable, constant or property another value. */
export function becomes(text: string): Edit {
  return (place) => {
    const { node } = place;
    const value = childOf(node, "init") ?? childOf(node, "value");
    if (value === undefined) throw new Error(`has no value: ${place.path}`);
    const change = replace(value, text, place);
    if (Reflect.get(node, "shorthand") !== true) return [change];
    return [{ ...rangeOf(node), becomes: `${nameOf(node)}: ${text}` }];
  };
}

/** Has a function return a value at once. */
export function returns(text: string): Edit {
  return (place) => {
    const { node } = place;
    const body = childOf(childOf(node, "init") ?? childOf(node, "value") ?? node, "body");
    if (body === undefined) throw new Error(`is no function: ${place.path}`);
    const isBlock = body.type === "BlockStatement";
    const change = replace(body, `(${text})`, place);
    return [isBlock ? { ...change, becomes: `{ return ${text}; }` } : change];
  };
}

/** Leaves out a call: its statement, or `undefined` in its place. Without a name, leaves out the property itself. */
export function leaveOut(called?: string): Edit {
  return (place) => {
    const { node, source } = place;
    if (called === undefined) {
      return [withComma(node, source.text)];
    }
    const path = pathTo(findCall(place, called), node);
    let at = path.length - 1;
    while (
      /^(Await|Unary|Member|OptionalMember)Expression$/.test(path[at - 1]?.type ?? "") ||
      isCalled(path, at)
    ) {
      at -= 1;
    }
    const statement = path[at - 1];
    if (statement?.type === "ExpressionStatement") return [{ ...rangeOf(statement), becomes: ";" }];
    return [{ ...rangeOf(path[at]), becomes: "undefined" }];
  };
}

/** Leaves out an entry of a list, by its text. */
export function without(entry: string): Edit {
  return (place) => {
    const { text } = place.source;
    const found = listBelow(place.node)
      .filter(({ type }) => type === "ArrayExpression")
      .flatMap((list) => listIn(list, "elements"))
      .filter(({ start, end }) => text.slice(start, end) === entry);
    return [withComma(single(found, `entry ${entry}`, place), text)];
  };
}

function withComma({ start, end }: Node, text: string): Change {
  const comma = /^\s*,/.exec(text.slice(end))?.[0].length ?? 0;
  return { start, end: end + comma, becomes: "" };
}

/** True if the node is what its parent calls, as in `work().catch(…)`. */
function isCalled(path: readonly Node[], at: number): boolean {
  const parent = path[at - 1];
  return parent !== undefined && childOf(parent, "callee") === path[at];
}

/** Puts another expression in the place of a call. */
export function callBecomes(called: string, text: string): Edit {
  return (place) => [replace(findCall(place, called), text, place)];
}

/** Has a document that only a later version can read count as absent where a call of `get` reads it. */
export function documentAsAbsent(called: string): Edit {
  return (place) => {
    const call = findCall(place, called);
    const known = place.source.text.slice(call.start, call.end);
    const found = known.replace(/\.get\(/, ".find(");
    const text = `((found) => (found?.value === "unreadable" ? undefined : ${known}))(${found})`;
    return [{ ...rangeOf(call), becomes: text }];
  };
}

/** Gives a call another argument, counted from 0. */
export function argument(called: string, index: number, text: string): Edit {
  return (place) => {
    const given = listIn(findCall(place, called), "arguments")[index];
    if (given === undefined) throw new Error(`${called} has no argument ${index}: ${place.path}`);
    return [replace(given, text, place)];
  };
}

/** Has another function called with the same arguments. */
export function calls(called: string, instead: string): Edit {
  return (place) => {
    const callee = childOf(findCall(place, called), "callee");
    return callee === undefined ? [] : [replace(callee, instead, place)];
  };
}

/** Exchanges two steps: the neighbouring statements, operands or arguments in which these calls stand. */
export function exchange(one: string, other: string): Edit {
  return (place) => {
    const { node, source } = place;
    const [first, second] = [one, other].map((called) => pathTo(findCall(place, called), node));
    const at = first?.findIndex((step, index) => step !== second?.[index]) ?? -1;
    const [a, b] = [rangeOf(first?.[at]), rangeOf(second?.[at])];
    const textOf = ({ start, end }: { start: number; end: number }) =>
      source.text.slice(start, end);
    return [
      { ...a, becomes: textOf(b) },
      { ...b, becomes: textOf(a) },
    ];
  };
}

/** Has the only condition that mentions a name never hold. */
export const never = (name: string): Edit => ofCondition(name, "false");
/** Has the only condition that mentions a name always hold. */
export const always = (name: string): Edit => ofCondition(name, "true");

function ofCondition(name: string, text: string): Edit {
  return (place) => {
    const tests = listBelow(place.node)
      .filter(({ type }) => /^(IfStatement|ConditionalExpression|WhileStatement)$/.test(type))
      .flatMap((node) => childOf(node, "test") ?? [])
      .filter((test) => mentions(test, name));
    return [{ ...rangeOf(single(tests, `condition of ${name}`, place)), becomes: text }];
  };
}

/** Leaves out the operand of `&&`, `||` or `??` that mentions a name. */
export function ignore(name: string): Edit {
  return (place) => {
    const sides = listBelow(place.node)
      .filter(({ type }) => type === "LogicalExpression")
      .flatMap((node) => {
        const [left, right] = [childOf(node, "left"), childOf(node, "right")];
        if (left === undefined || right === undefined) return [];
        if (mentions(left, name) === mentions(right, name)) return [];
        return [{ node, rest: mentions(left, name) ? right : left }];
      });
    const innermost = sides.filter(
      ({ node }) => !sides.some((one) => one.node !== node && isIn(one.node, node)),
    );
    const { node, rest } = single(innermost, `operand with ${name}`, place);
    return [{ ...rangeOf(node), becomes: place.source.text.slice(rest.start, rest.end) }];
  };
}

const isIn = (inner: Node, outer: Node) => inner.start >= outer.start && inner.end <= outer.end;

function mentions(node: Node, name: string): boolean {
  return [node, ...listBelow(node)].some((one) => identifierOf(one) === name);
}

/** Finds the call of a function by its name, or by the end of its path as in `caps.release`. */
function findCall(place: Place, called: string): Node {
  const found = listBelow(place.node).filter((node) => {
    if (!/^(CallExpression|OptionalCallExpression|NewExpression)$/.test(node.type)) return false;
    const path = dotted(childOf(node, "callee"));
    return path === called || path.endsWith(`.${called}`);
  });
  return single(found, `call of ${called}`, place);
}

/** Returns the names of a path such as `rows.unreadable.size`, joined by points. */
export function dotted(node: Node | undefined): string {
  if (node === undefined) return "";
  if (!node.type.endsWith("MemberExpression")) return identifierOf(node) ?? "";
  return `${dotted(childOf(node, "object"))}.${identifierOf(childOf(node, "property")) ?? ""}`;
}

function single<Item>(found: readonly Item[], what: string, { path, source }: Place): Item {
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  throw new Error(`${found.length} times in ${path} (${source.file}): ${what}`);
}

function rangeOf(node: Node | undefined): { start: number; end: number } {
  if (node === undefined) throw new Error("nothing to change");
  return { start: node.start, end: node.end };
}

/**
 * Replaces a node. A name in the new text that the file does not know would fail each test without showing anything,
 * so it throws.
 */
function replace(range: { start: number; end: number }, text: string, place: Place): Change {
  const expression = toNode(parseExpression(text, { plugins: ["typescript"] }));
  const known = new Set(listBelow(place.source.program).map(identifierOf));
  const stale = namesIn(expression).filter((name) => !known.has(name) && !(name in globalThis));
  if (stale.length > 0)
    throw new Error(`${place.source.file} knows no ${stale.join(", ")}: ${text}`);
  return { ...rangeOf({ type: "", ...range }), becomes: text };
}

/** Lists the variables that an expression reads. */
function namesIn(node: Node): string[] {
  if (node.type === "Identifier") return [identifierOf(node) ?? ""];
  const isMember = node.type.endsWith("MemberExpression");
  const parts = isMember
    ? [childOf(node, "object")]
    : node.type === "ObjectProperty"
      ? [childOf(node, "value")]
      : null;
  if (parts !== null) return parts.flatMap((part) => (part === undefined ? [] : namesIn(part)));
  return directChildren(node).flatMap((child) => namesIn(child));
}

function directChildren(node: Node): Node[] {
  const below = listBelow(node);
  return below.filter((one) => !below.some((other) => other !== one && isIn(one, other)));
}
