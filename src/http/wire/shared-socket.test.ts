import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { platform } from "node:os";
import { type TlsMaterial, WireServer } from "./wire-server.ts";

const certificates = new URL("../../../test/certificates/", import.meta.url);
const material: TlsMaterial = {
  cert: readFileSync(new URL("localhost.pem", certificates), "utf8"),
  key: readFileSync(new URL("localhost.key", certificates), "utf8"),
  clientCa: undefined,
};

/** A server that answers with its name. */
function serverNamed(name: string, tls: TlsMaterial | undefined, sharedSocket?: number) {
  const sockets: (number | undefined)[] = [];
  const response = `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${name.length}\r\n\r\n${name}`;
  const server = new WireServer(
    {
      host: "127.0.0.1",
      port: 0,
      sharePort: false,
      sharedSocket,
      tls,
      connectionsMax: 100,
      bodyBytesMax: 1000,
      bodyTimeoutMs: 60_000,
      onSocket: (socket) => sockets.push(socket),
    },
    {
      handle(connection) {
        connection.closeAfterResponse();
        connection.send(response, response.length);
      },
      fault() {},
      crash() {},
    },
  );
  return { server, sockets };
}

for (const tls of [undefined, material])
  test.skipIf(platform() !== "linux")(
    `a server on the ${tls ? "TLS" : "plain"} socket of another accepts from it, and leaves it open at its end`,
    async () => {
      const { server: owner, sockets } = serverNamed("owner", tls);
      const answering = async () => {
        const url = `${tls ? "https" : "http"}://127.0.0.1:${owner.port}/`;
        const response = await fetch(url, { keepalive: false, tls: { rejectUnauthorized: false } });
        return response.text();
      };
      // The second certificate is on another socket, and the first one is closed after this turn.
      if (tls !== undefined) owner.useTls(tls);
      await new Promise((resolve) => setImmediate(resolve));
      const { server: guest } = serverNamed("guest", tls, sockets.at(-1));
      const names = new Set<string>();
      while (!names.has("guest")) names.add(await answering());
      await guest.drain(0);
      expect(await Promise.all(Array.from({ length: 10 }, answering))).toEqual(Array(10).fill("owner"));
      await owner.drain(0);
      const isOpen = sockets.map((socket) => socket !== undefined);
      expect(isOpen).toEqual(tls === undefined ? [true, false] : [true, true, false]);
    },
  );
