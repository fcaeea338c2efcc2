import { expect, test } from "bun:test";
import { connect } from "node:net";
import { accessToken, eventually, operatorToken, post, startTestService } from "./harness.ts";

const wrong = { Authorization: `Bearer ${"guess".repeat(6)}` };

test("guesses are delayed, logged with their address and counted; valid tokens from there are not delayed", async () => {
  await using running = await startTestService();
  const startMs = performance.now();
  for (let guess = 0; guess < 17; guess++) expect((await post(running.url, "{}", wrong)).status).toBe(401);
  // 10 immediately, then 10, 20, 40 … 640 ms.
  expect(performance.now() - startMs).toBeGreaterThan(1250);

  let guessed = false;
  const guess = post(running.url, "{}", wrong).then(() => {
    guessed = true;
  });
  const valid = await Promise.all(Array.from({ length: 5 }, () => post(running.url, '{"id":1,"name":"a"}')));
  const missing = await post(running.url, "{}", { Authorization: "" });
  expect([guessed, missing.status, ...valid.map(({ status }) => status)]).toEqual([
    false,
    401,
    200,
    200,
    200,
    200,
    200,
  ]);
  await guess;

  const log = running.logged.join("");
  expect(log).toMatch(
    /"many failed credentials from one address","client.address":"127.0.0.1","plant_store.failures":10}/,
  );
  expect(log).not.toContain("guessguess");
  const metrics = await fetch(`${running.operatorUrl}/metrics`, {
    headers: { Authorization: `Bearer ${operatorToken}` },
  });
  expect(await metrics.text()).toContain('refusals_total{listener="public",error="40102"} 18');
});

test("a delayed guess delays what its client pipelined after it, and nothing is answered out of order", async () => {
  await using running = await startTestService();
  for (let guess = 0; guess < 14; guess++) await post(running.url, "{}", wrong);
  const request = (token: string, id: string) =>
    `GET /api/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nX-Request-Id: ${id}\r\n\r\n`;
  const port = Number(new URL(running.operatorUrl).port);
  let received = "";
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("data", (bytes) => {
    received += bytes;
  });
  socket.write(
    request("x".repeat(30), "first") + request(operatorToken, "second") + request(accessToken, "third"),
  );
  await eventually(() => received.includes("third"));
  socket.destroy();
  expect([...received.matchAll(/HTTP\/1.1 (\d+)|X-Request-Id: (\w+)/g)].map(([, a, b]) => a ?? b)).toEqual([
    "401",
    "first",
    "200",
    "second",
    "403",
    "third",
  ]);
});
