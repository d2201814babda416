import type {
  CallToolResult,
  StandardSchemaWithJSON,
  ToolAnnotations,
} from "@modelcontextprotocol/server";
import type { Json } from "../generate/json-schema.ts";

/** A tool, as the server offers it. */
export interface Tool {
  name: string;
  config: {
    title: string;
    description: string;
    inputSchema: StandardSchemaWithJSON<Json, Json>;
    outputSchema: StandardSchemaWithJSON<Json, Json>;
    annotations: ToolAnnotations;
  };
  /** Throws a Refusal or a Failure for people if the service does not do what was asked. */
  run(input: Json): Promise<CallToolResult>;
}
