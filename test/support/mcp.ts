import { text } from "node:stream/consumers";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Readable } from "node:stream";

/** An entry of an assistant's configuration. */
export interface ServerEntry {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** The answer of a tool. */
export interface ToolAnswer {
  isError: boolean;
  /** Its data. */
  data: Record<string, unknown>;
  /** Its texts. */
  texts: string[];
}

/** An assistant that is connected to an MCP server over stdio. */
export interface Assistant {
  client: Client;
  use(tool: string, input?: Record<string, unknown>): Promise<ToolAnswer>;
  /** Ends the server, and resolves to what it has printed beside the protocol. */
  stop(): Promise<string>;
}

/** Starts a server as an assistant does, by the client of the official SDK. */
export async function startAssistant({ command, args, env }: ServerEntry): Promise<Assistant> {
  const inherited = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "" };
  const transport = new StdioClientTransport({
    command,
    args,
    env: { ...inherited, ...env },
    stderr: "pipe",
  });
  const printed =
    transport.stderr instanceof Readable ? text(transport.stderr) : Promise.resolve("");
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  return {
    client,
    async use(name, input = {}) {
      const {
        isError = false,
        structuredContent,
        content,
      } = await client.callTool({
        name,
        arguments: input,
      });
      const texts = content.flatMap((block) => (block.type === "text" ? block.text : []));
      return { isError, data: Object(structuredContent ?? {}), texts };
    },
    async stop() {
      await client.close();
      return printed;
    },
  };
}
