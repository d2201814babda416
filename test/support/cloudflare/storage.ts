import { DatabaseSync } from "node:sqlite";
import { type Answerer, type Database, fresh } from "./holdings.ts";
import { refuse } from "./endpoint.ts";

/** Answers requests about D1 and R2. */
export const answerStorage: Answerer = (holdings, request) =>
  answerD1(holdings, request) ?? answerR2(holdings, request);

const answerD1: Answerer = ({ databases }, { method, path, parts }) => {
  const [, , id, rest = ""] = /^\/d1\/database(\/([^/]+)(\/.*)?)?$/.exec(path) ?? [];
  if (!path.startsWith("/d1/database")) return undefined;
  const described = (name: string, one: Database) => ({
    uuid: one.id,
    name,
    version: "production",
  });
  if (id === undefined && method === "GET") {
    return { result: [...databases].map(([name, one]) => described(name, one)) };
  }
  const body = () => JSON.parse(parts.get("body") ?? "{}");
  if (id === undefined) {
    const { name } = body();
    if (databases.has(name)) return refuse(400, 7502, "A database with that name already exists");
    const made = { id: fresh(), content: new DatabaseSync(":memory:") };
    databases.set(name, made);
    return { result: described(name, made) };
  }
  const found = [...databases].find(([name, one]) => one.id === id || name === id);
  if (found === undefined) return refuse(404, 7404, `The database ${id} could not be found`);
  if (rest !== "/query") return { result: described(...found) };
  const { sql } = body();
  try {
    return { result: queryAll(found[1].content, sql) };
  } catch (error) {
    return refuse(400, 7500, `${error instanceof Error ? error.message : ""}: SQLITE_ERROR`);
  }
};

/** Runs statements as D1 does: all of them or none, each with its rows. */
function queryAll(content: DatabaseSync, sql: string) {
  const isReading = /^\s*(SELECT|PRAGMA)/i.test(sql);
  const statements = isReading ? sql.split(/;\s*(?=\S)/) : [sql];
  content.exec("BEGIN");
  try {
    const results = statements.map((one) => {
      if (isReading || /\bRETURNING\b/i.test(one)) return content.prepare(one).all();
      content.exec(one);
      return [];
    });
    content.exec("COMMIT");
    return results.map((rows) => ({ results: rows, success: true, meta: { duration: 0 } }));
  } catch (error) {
    content.exec("ROLLBACK");
    throw error;
  }
}

const answerR2: Answerer = (holdings, { method, path, parts, jurisdiction }) => {
  const { buckets, hasR2 } = holdings;
  const [, , name, rest = ""] = /^\/r2\/buckets(\/([^/]+)(\/.*)?)?$/.exec(path) ?? [];
  if (!path.startsWith("/r2/buckets")) return undefined;
  if (!hasR2) return refuse(403, 10042, "Please enable R2 through the Cloudflare Dashboard.");
  const body = () => JSON.parse(parts.get("body") ?? "{}");
  const keyOf = (one = "") =>
    [one, jurisdiction === "default" ? "" : jurisdiction].join(" ").trim();
  if (name === undefined && method === "POST") {
    const key = keyOf(body().name);
    if (buckets.has(key))
      return refuse(409, 10004, "The bucket you tried to create already exists");
    buckets.set(key, { rules: [] });
    return { result: {} };
  }
  const bucket = buckets.get(keyOf(name));
  if (bucket === undefined) return refuse(404, 10006, "The specified bucket does not exist.");
  if (rest === "/lifecycle" && method === "PUT") {
    bucket.rules = body().rules;
    return { result: {} };
  }
  return { result: rest === "/lifecycle" ? { rules: bucket.rules } : { name } };
};
