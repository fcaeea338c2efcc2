import { test } from "bun:test";
import { once } from "node:events";
import { connect } from "node:net";
import { eventually, operatorToken, post, startTestService } from "./harness.ts";

const exportsMax = 8;
const longName = "x".repeat(60_000);
const headers = { Authorization: `Bearer ${operatorToken}` };

test("an export that nobody reads ends when its token is revoked, and makes room for another", async () => {
  await using running = await startTestService();
  const ids = Array.from({ length: 150 }, (_, id) => id);
  await Promise.all(ids.map((id) => post(running.url, JSON.stringify({ id, name: longName }))));
  const send = (path: string, body = "{}") =>
    fetch(`${running.operatorUrl}/api/${path}`, { method: "POST", headers, body });
  const created = await send("tokens", '{"name":"reader","scopes":["operator"]}');
  const { token, secret } = (await created.json()) as { token: { id: string }; secret: string };
  const port = Number(new URL(running.operatorUrl).port);
  const request = `GET /api/export HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\n\r\n`;
  const askForExport = async () => {
    const socket = connect({ port, host: "127.0.0.1" });
    const closed = new Promise((resolve) => socket.on("error", () => {}).on("close", resolve));
    await once(socket, "connect");
    // It reads nothing.
    socket.pause();
    socket.write(request);
    return { socket, closed };
  };
  const clients = await Promise.all(Array.from({ length: exportsMax }, askForExport));
  const exported = async () => {
    const response = await fetch(`${running.operatorUrl}/api/export`, { headers });
    await response.arrayBuffer();
    return response.status;
  };
  await eventually(async () => (await exported()) === 503, "eight exports to run");
  await send(`tokens/${token.id}/revoke`);
  await eventually(async () => (await exported()) === 200, "an export to be possible again");
  for (const { socket } of clients) socket.resume();
  await Promise.all(clients.map(({ closed }) => closed));
});
