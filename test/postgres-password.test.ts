import { describe, expect, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { Server } from "../src/storage/postgres/connection.ts";
import { DatabaseMisuse, isLocal } from "../src/storage/postgres/database-url.ts";
import { startPostgres } from "./postgres.ts";

const options = { databasePassword: undefined, allowUnsafeDatabase: false };
const sslRequestBytes = 8;
const clearTextRequest = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);
// An address of this machine that is not loopback: what is sent to it never leaves the machine.
const ownAddress = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;

/** Speaks PostgreSQL up to the password, which it asks for in clear text, and records everything that it receives. */
async function startImpostor(host: string) {
  let received = "";
  const server = createServer((socket: Socket) => {
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
      if (bytes.length === sslRequestBytes) socket.write("N");
      else if (bytes.includes("user")) socket.write(clearTextRequest);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as { port: number };
  return {
    port,
    received: () => received,
    [Symbol.dispose]: () => void server.close(),
  };
}

describe("a server that asks for the password in clear text", () => {
  // An impostor who answers in place of the real server would read it.
  test.skipIf(ownAddress === undefined)("does not get it without a verified certificate", async () => {
    using impostor = await startImpostor(ownAddress ?? "");
    const url = `postgres://gardener:hidden-password@${ownAddress}:${impostor.port}/plants?sslmode=disable`;
    const opened = new Server(url, options).open();
    await expect(opened).rejects.toThrow(DatabaseMisuse);
    await expect(opened).rejects.toThrow("asks for the password in clear text");
    await expect(opened).rejects.not.toThrow("hidden-password");
    // What pg had already written would be sent by now.
    await Bun.sleep(50);
    expect(impostor.received()).toContain("gardener");
    expect(impostor.received()).not.toContain("hidden-password");
  });

  test("gets it on loopback and on a socket", async () => {
    await using server = await startPostgres({
      access: ["local all gardener password", "host all gardener 127.0.0.1/32 password"],
    });
    await server.run("CREATE ROLE gardener LOGIN PASSWORD 'right'");
    const socket = encodeURIComponent(server.folder);
    for (const host of ["127.0.0.1", socket]) {
      const url = `postgres://gardener:right@${host}:${server.port}/postgres`;
      (await new Server(url, options).open()).destroy();
    }
  });

  test("is local by the address that was reached", () => {
    const peers = ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "::2", "1127.0.0.1", ""];
    expect(peers.filter(isLocal)).toEqual(peers.slice(0, 4));
  });
});
