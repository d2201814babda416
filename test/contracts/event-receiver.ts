import { clientNamed } from "#shared/calls/ids.ts";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPostEvent } from "#functions/dialer/runtime/post-event.ts";
import { findReceiver, receiverSchema } from "#shared/dial-plan/receivers.ts";
import { freePort } from "../support/service.ts";

const aSecret = () => `whsec_${randomBytes(32).toString("base64")}`;
const secret = aSecret();
const tenMinutesMs = 600_000;

/** Describes a receiver of docs/examples, run by a command. */
export function describeEventReceiver(command: string, file: string): void {
  describe(`the receiver ${file}`, () => {
    let child: ChildProcess;
    let port: number;
    /** Bodies of the events that the receiver has acted upon. */
    const handled: unknown[] = [];

    beforeAll(async () => {
      port = await freePort();
      const env = { PATH: process.env["PATH"], EVENTS_SECRET: secret, PORT: String(port) };
      child = spawn(command, [file], { env });
      if (child.stdout === null || child.stderr === null) throw new Error("it has outputs");
      let said = "";
      child.stderr.on("data", (chunk) => (said += String(chunk)));
      const lines = createInterface({ input: child.stdout });
      const failed = new Promise<never>((_, reject) => {
        child.on("error", reject); // the command is absent
        child.on("exit", (code) => reject(new Error(`it ended with ${code}: ${said}`)));
      });
      failed.catch(() => undefined); // also rejects when the tests end it
      await Promise.race([once(lines, "line"), failed]);
      lines.on("line", (line) => handled.push(JSON.parse(line)));
    });
    afterAll(async () => {
      const ended = once(child, "exit");
      child.kill();
      await ended;
    });

    it("has at most twenty lines of code", async () => {
      const lines = (await readFile(file, "utf8"))
        .replace(/^(\/\*\*|""")[^]*?(\*\/|""")/, "")
        .split("\n")
        .filter((line) => !/^\s*($|#|\/[/*])/.test(line));
      expect(lines.length).toBeLessThanOrEqual(20);
    });

    interface Posting {
      id: string;
      secrets?: string | undefined;
      now?: () => number;
      send?: typeof fetch;
    }
    const url = () => `http://127.0.0.1:${port}/events`;
    /** Posts an event as the dialer does. */
    async function post({ id, secrets, now = Date.now, send = fetch }: Posting) {
      const events = { "*": receiverSchema.parse({ url: url() }) };
      const receiver = findReceiver(clientNamed("crm"), { events });
      if (receiver === undefined) throw new Error("there is one for all clients");
      const postEvent = createPostEvent(
        { events },
        { environment: { EVENTS_SECRET: secrets }, fetch: send, now },
      );
      return postEvent(receiver, {
        id,
        body: JSON.stringify({ type: "call.placed", data: { id } }),
      });
    }
    const handledOf = (id: string) => handled.filter((one) => Object(one).data.id === id).length;
    const changing: typeof fetch = (to, init) => {
      const body = typeof init?.body === "string" ? init.body : "";
      return fetch(to, { ...init, body: body.replace("call.placed", "call.opt_out") });
    };

    it("handles an event once, however often it is delivered", async () => {
      for (let time = 0; time < 3; time++) {
        expect(await post({ id: "once.1", secrets: secret })).toMatchObject({ status: 204 });
      }
      expect(await post({ id: "once.2", secrets: secret })).toMatchObject({ status: 204 });
      await expect.poll(() => handledOf("once.2")).toBe(1);
      expect(handledOf("once.1")).toBe(1);
    });

    it.each([`${aSecret()},${secret}`, `${secret},${aSecret()}`])(
      "takes an event that is signed by two secrets, one of them its own",
      async (secrets) => {
        const id = `rotated.${secrets.startsWith(secret)}`;
        expect(await post({ id, secrets })).toMatchObject({ status: 204 });
        await expect.poll(() => handledOf(id)).toBe(1);
      },
    );

    it.each<{ what: string } & Omit<Posting, "id">>([
      { what: "forged", secrets: aSecret() },
      { what: "unsigned", secrets: undefined },
      { what: "changed on its way", secrets: secret, send: changing },
      { what: "old", secrets: secret, now: () => Date.now() - tenMinutesMs },
      { what: "of the future", secrets: secret, now: () => Date.now() + tenMinutesMs },
    ])("does not act upon an event that is $what", async ({ what, ...posting }) => {
      const id = `${what}.1`.replaceAll(" ", "_");
      expect(await post({ id, ...posting })).toMatchObject({ status: 401 });
      // Its id is not taken for seen: the right one is handled.
      expect(await post({ id, secrets: secret })).toMatchObject({ status: 204 });
      await expect.poll(() => handledOf(id)).toBe(1);
    });

    it("keeps working after bodies that are too long, break off or have no length", async () => {
      const isRefused = ({ status }: Response) => status === 401;
      // A connection that is closed before its body was read may break before the answer arrives.
      const isReset = () => true;
      const long = { method: "POST", body: "x".repeat(70_000) };
      expect(await fetch(url(), long).then(isRefused, isReset)).toBe(true);
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf");
      socket.destroy();
      const endless = new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from("x")) });
      const init = { method: "POST", body: endless, duplex: "half" } as const;
      expect(await fetch(url(), init).then(isRefused, isReset)).toBe(true);
      expect(await post({ id: "after.1", secrets: secret })).toMatchObject({ status: 204 });
      await expect.poll(() => handledOf("after.1")).toBe(1);
    });
  });
}
