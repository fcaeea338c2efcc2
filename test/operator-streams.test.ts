import { describe, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { eventually, operatorToken, post, startTestService } from "./harness.ts";

const exportsMax = 8;
const longName = "x".repeat(60_000);

/** A client that asks for an export and reads nothing of it. */
async function unreadExport(
  operatorUrl: string,
  secret: string,
): Promise<{ socket: Socket; closed: boolean }> {
  const client = {
    socket: connect({ port: Number(new URL(operatorUrl).port), host: "127.0.0.1" }),
    closed: false,
  };
  client.socket.on("error", () => {});
  client.socket.on("close", () => {
    client.closed = true;
  });
  await new Promise((resolve) => client.socket.once("connect", resolve));
  client.socket.pause();
  client.socket.write(
    `GET /api/export HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\n\r\n`,
  );
  return client;
}

describe("an export that nobody reads", () => {
  test("ends when its token is revoked, and makes room for another", async () => {
    await using running = await startTestService();
    for (let id = 0; id < 150; id += 50) {
      const ids = Array.from({ length: 50 }, (_, index) => id + index);
      await Promise.all(ids.map((each) => post(running.url, JSON.stringify({ id: each, name: longName }))));
    }
    const headers = { Authorization: `Bearer ${operatorToken}` };
    const created = await fetch(`${running.operatorUrl}/api/tokens`, {
      method: "POST",
      headers,
      body: JSON.stringify({ name: "reader", scopes: ["operator"] }),
    });
    const { token, secret } = (await created.json()) as { token: { id: string }; secret: string };
    const clients = await Promise.all(
      Array.from({ length: exportsMax }, () => unreadExport(running.operatorUrl, secret)),
    );
    const exported = async () => {
      const response = await fetch(`${running.operatorUrl}/api/export`, { headers });
      await response.arrayBuffer();
      return response.status;
    };
    await eventually(async () => (await exported()) === 503);
    await fetch(`${running.operatorUrl}/api/tokens/${token.id}/revoke`, { method: "POST", headers });
    await eventually(async () => (await exported()) === 200, 2000);
    for (const { socket } of clients) socket.resume();
    await eventually(() => clients.every(({ closed }) => closed), 5000);
  }, 30_000);
});
