declare module "dynalite" {
  import type { Server } from "node:http";
  /** A DynamoDB server; kept in memory without `path`. */
  export default function dynalite(options?: {
    path?: string;
    createTableMs?: number;
    deleteTableMs?: number;
    updateTableMs?: number;
  }): Server;
}
