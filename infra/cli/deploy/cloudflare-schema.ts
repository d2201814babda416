import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as z from "#shared/lib/zod.ts";
import { parseJson, wrangler } from "./cloudflare-wrangler.ts";
import type { Target } from "./cloudflare-target.ts";
import { DeployError, type Tools } from "./tools.ts";

const migrations = resolve(import.meta.dirname, "../../d1");

/** A schema's parts by their names, such as `index calls_due`, each with its declaration in one form. */
type Schema = ReadonlyMap<string, string>;

const resultsSchema = z.array(z.object({ results: z.array(z.record(z.string(), z.unknown())) }));

const declaredSchema = z.object({
  type: z.string(),
  name: z.string(),
  table: z.string(),
  sql: z.string(),
});
const columnSchema = z.object({
  name: z.string(),
  type: z.string(),
  notnull: z.number(),
  dflt_value: z.nullable(z.string()),
  pk: z.number(),
  hidden: z.number(),
});

/** Returns the statements that read the schema of some tables: their declarations, then the columns of each. */
function schemaQueries(tables: readonly string[]): string[] {
  const names = tables.map((table) => `'${table}'`).join(", ");
  return [
    `SELECT type, name, tbl_name AS "table", sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name IN (${names})`,
    ...tables.map((table) => `PRAGMA table_xinfo(${table})`),
  ];
}

/** Returns the schema that the answers to `schemaQueries` describe. */
function toSchema(tables: readonly string[], answers: readonly unknown[][]): Schema {
  const [declared = [], ...columnsOf] = answers;
  const parts = z.array(declaredSchema).parse(declared);
  const partsBy = parts.map(({ type, name, sql }): [string, string] => [
    `${type} ${name}`,
    type === "table" ? optionsIn(sql) : inOneForm(sql),
  ]);
  const columns = tables.flatMap((table, index) => {
    const sql = parts.find(({ type, name }) => type === "table" && name === table)?.sql ?? "";
    const declarations = declarationsIn(sql);
    return z
      .array(columnSchema)
      .parse(columnsOf[index] ?? [])
      .map(({ name, type, notnull, dflt_value: byDefault, pk, hidden }): [string, string] => {
        const declaration = declarations.find((one) => one.startsWith(`${name} `)) ?? name;
        // SQLite's own view of the column: the table may declare it part of its key.
        const facts = { type, notnull, default: byDefault, pk, hidden };
        return [`column ${table}.${name}`, `${declaration}; to SQLite ${JSON.stringify(facts)}`];
      });
  });
  return new Map([...partsBy, ...columns]);
}

/** Applies migrations to an empty database, and returns the names of its tables and the schema. */
export function schemaOf(texts: readonly string[]): { tables: string[]; schema: Schema } {
  const database = new DatabaseSync(":memory:");
  try {
    for (const text of texts) database.exec(text);
    const tables = database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      .all()
      .map(({ name }) => String(name));
    const answers = schemaQueries(tables).map((sql) => database.prepare(sql).all());
    return { tables, schema: toSchema(tables, answers) };
  } finally {
    database.close();
  }
}

async function expectedSchema(): Promise<ReturnType<typeof schemaOf>> {
  const names = (await readdir(migrations)).filter((name) => name.endsWith(".sql")).toSorted();
  return schemaOf(await Promise.all(names.map((name) => readFile(join(migrations, name), "utf8"))));
}

/**
 * Compares the ledger's real tables, columns and indexes with those that the migrations make. A record that a
 * migration was applied says nothing about its present file, or about changes by hand since. Additional parts of the
 * ledger stay, as after a roll-back.
 *
 * @throws DeployError with the differences and what to do
 */
export async function checkSchema(tools: Tools, { database }: Target): Promise<void> {
  const { tables, schema: expected } = await expectedSchema();
  const command = schemaQueries(tables).join("; ");
  const args = ["d1", "execute", database, "--remote", "--json", "--command", command];
  const said = await wrangler(tools, args);
  const answers = parseJson(resultsSchema, said)?.map(({ results }) => results);
  if (answers?.length !== tables.length + 1) {
    throw new DeployError(`wrangler d1 execute said:\n${said}`);
  }
  const real = toSchema(tables, answers);
  const missing = tables.filter((table) => !real.has(`table ${table}`));
  const isOfMissing = ([name, declaration]: [string, string]) =>
    missing.some((one) => name.startsWith(`column ${one}.`) || declaration.includes(` ON ${one}(`));
  const wrong = [...expected].filter((part) => real.get(part[0]) !== part[1] && !isOfMissing(part));
  if (wrong.length > 0) throw new DeployError(adviceOn(database, wrong, real));
  for (const name of real.keys()) {
    if (expected.has(name)) continue;
    tools.print(`The ledger also has the ${name}, which this version does not use. It stays.`);
  }
}

function adviceOn(database: string, wrong: [name: string, declaration: string][], real: Schema) {
  const lines = wrong.map(([name, declaration]) => {
    const found = real.get(name);
    return found === undefined
      ? `- the ${name} is missing`
      : `- the ${name} is declared differently\n    there:    ${found}\n    expected: ${declaration}`;
  });
  const isIndex = ([name]: [string, string]) => name.startsWith("index ");
  const indexes = wrong.filter(isIndex);
  const execute = ([name, declaration]: [string, string]) => {
    const sql = real.has(name) ? `DROP ${name}; ${declaration}` : declaration;
    return `  npx wrangler d1 execute ${database} --remote --command "${sql}"`;
  };
  return [
    `The ledger ${database} is not as this version's migrations make it. No code was deployed.`,
    ...lines,
    ...(indexes.length > 0
      ? ["Make each index anew, which loses no call, and then run this again:"]
      : []),
    ...indexes.map(execute),
    ...(indexes.length < wrong.length
      ? [
          "A migration was changed after it was applied, or the ledger was changed by hand. It may hold calls: do not " +
            "delete it. See docs/deploy-cloudflare.md, The ledger's tables differ.",
        ]
      : []),
  ].join("\n");
}

/** Returns a declaration without comments, quotes of names and differences of space. */
function inOneForm(sql: string): string {
  return sql
    .replaceAll(/--.*$/gm, " ")
    .replaceAll(/["`]/g, "")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ?([(),]) ?/g, "$1")
    .trim();
}

/** Returns the declarations of a table's columns and keys, which commas outside of inner brackets part. */
function declarationsIn(sql: string): string[] {
  const text = inOneForm(sql);
  const body = text.slice(text.indexOf("(") + 1, text.lastIndexOf(")"));
  return body.split(/,(?![^(]*\))/);
}

/** Returns what stands behind the brackets of a table's declaration, such as `STRICT`. */
const optionsIn = (sql: string) => inOneForm(sql).replace(/^.*\)/, "");
