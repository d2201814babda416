import { connect, createServer, type Socket } from "node:net";
import { fail, host } from "./settings.ts";

/**
 * Opens the service's port, and passes each connection on, byte for byte, to the address at which the service listens by
 * then. Called last, so that nobody's request comes before everything stands. Ends the process with one clear line if
 * the port is taken.
 *
 * @param addressOf asked for each connection, as a service that was restarted may listen elsewhere
 */
export async function openPort(port: number, addressOf: () => Promise<URL>): Promise<void> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    client.on("error", () => client.destroy());
    addressOf().then(
      ({ hostname, port: inner }) => join(client, hostname, Number(inner)),
      () => client.destroy(),
    );
  });
  await new Promise<void>((open) => {
    server.once("error", () => fail(`Port ${port} is taken: set PORT to another one.`));
    server.listen(port, host, open);
  });
}

/** Connects a client to the service. The reset of one side, or its end by force, ends the other side. */
function join(client: Socket, hostname: string, port: number): void {
  const service = connect({ host: hostname, port, noDelay: true, allowHalfOpen: true });
  if (client.destroyed) service.destroy();
  client.once("close", () => service.destroy());
  service.on("error", () => undefined); // its close follows
  service.once("close", () => client.destroySoon());
  client.pipe(service).pipe(client);
}
