import { PgBoss } from "pg-boss";

/** Connects, and creates the queue if it is absent. */
export async function connect(): Promise<PgBoss> {
  const connectionString = process.env["DATABASE_URL"] ?? "";
  const boss = new PgBoss({ connectionString, useListenNotify: true });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue("calls", { retryBackoff: true, heartbeatSeconds: 10, notify: true });
  return boss;
}
