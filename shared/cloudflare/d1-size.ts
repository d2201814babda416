import { countStatements, subrequest } from "./invocation.ts";

/** Maximum size of a database of D1, 10 GB (https://developers.cloudflare.com/d1/platform/limits/). */
const bytesMax = 10_000_000_000;

/** Returns a function that reads the size of a database, which D1 reports with every answer. */
export function createD1Size(database: D1Database) {
  return async (): Promise<{ bytes: number; bytesMax: number }> => {
    countStatements(1);
    const { meta } = await subrequest(() => database.prepare("SELECT 1").run(), {
      isStatement: true,
    });
    return { bytes: meta.size_after, bytesMax };
  };
}
