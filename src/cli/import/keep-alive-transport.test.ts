import { expect, test } from "bun:test";
import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import { KeepAliveTransport } from "./keep-alive-transport.ts";

const okResponse = 'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"name":"a"}';

/** A TCP server that counts connections and passes each request to the handler. */
async function startServer(handle: (socket: Socket, request: string, number: number) => void) {
  const sockets = new Set<Socket>();
  let connections = 0;
  let requests = 0;
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      for (const request of bytes.toString().split(/(?=POST )/)) handle(socket, request, ++requests);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/garden/plants`);
  return {
    url,
    connections: () => connections,
    requests: () => requests,
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const headers = { Authorization: "Bearer t" };
const request = (signal = new AbortController().signal) =>
  ({ method: "POST", headers, body: "é", signal, redirect: "manual" }) as const;

test("requests share connections", async () => {
  const seen: string[] = [];
  using server = await startServer((socket, text) => {
    seen.push(text);
    socket.write(okResponse);
  });
  using transport = new KeepAliveTransport(server.url, 2);
  for (let round = 0; round < 5; round++) {
    const responses = await Promise.all([1, 2].map(() => transport.fetch(server.url.href, request())));
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  }
  expect([server.connections(), server.requests()]).toEqual([2, 10]);
  expect(new Set(seen)).toEqual(
    new Set([
      `POST /garden/plants HTTP/1.1\r\nHost: ${server.url.host}\r\nAuthorization: Bearer t\r\nContent-Length: 2\r\n\r\né`,
    ]),
  );
});

test("past 64 connections, requests are pipelined", async () => {
  using server = await startServer((socket) => socket.write(okResponse));
  using transport = new KeepAliveTransport(server.url, 256);
  const all = Array.from({ length: 1000 }, () => transport.fetch(server.url.href, request()));
  expect((await Promise.all(all)).every(({ status }) => status === 200)).toBe(true);
  expect(server.connections()).toBe(64);
});

test("a server that does not support pipelining gets one request at a time from then on", async () => {
  const busy = new Set<Socket>();
  using picky = await startServer((socket) => {
    if (busy.has(socket)) return void socket.destroy();
    busy.add(socket);
    setTimeout(() => {
      busy.delete(socket);
      if (!socket.destroyed) socket.write(okResponse);
    }, 5);
  });
  using transport = new KeepAliveTransport(picky.url, 256);
  const round = () =>
    Promise.allSettled(Array.from({ length: 256 }, () => transport.fetch(picky.url.href, request())));
  const failed = (await round()).filter(({ status }) => status === "rejected");
  expect(failed.length).toBeGreaterThan(0);
  expect((await round()).filter(({ status }) => status === "rejected")).toEqual([]);
});

test("a server that supports pipelining still gets pipelined requests after it has closed every connection", async () => {
  const held: Socket[] = [];
  let mode: "respond" | "close" | "hold" = "respond";
  using server = await startServer((socket) => {
    if (mode === "close") socket.destroy();
    else held.push(socket);
    if (held.length < (mode === "hold" ? 256 : 1)) return;
    for (const waiting of held.splice(0)) waiting.write(okResponse);
  });
  using transport = new KeepAliveTransport(server.url, 256);
  const round = () =>
    Promise.allSettled(Array.from({ length: 256 }, () => transport.fetch(server.url.href, request())));
  await round();
  mode = "close";
  expect((await round()).every(({ status }) => status === "rejected")).toBe(true);
  // The server responds only when all 256 are in flight.
  mode = "hold";
  expect((await round()).every(({ status }) => status === "fulfilled")).toBe(true);
});

test("a request fails when its connection closes, when it is aborted, and when nothing listens", async () => {
  using server = await startServer((socket, _, number) => {
    if (number === 1) socket.end();
    else if (number === 3) socket.write(okResponse);
  });
  using transport = new KeepAliveTransport(server.url, 1);
  expect(transport.fetch(server.url.href, request())).rejects.toThrow("closed before the response");
  await Bun.sleep(20);
  const controller = new AbortController();
  const aborted = transport.fetch(server.url.href, request(controller.signal));
  await Bun.sleep(20);
  controller.abort();
  expect(aborted).rejects.toThrow("aborted");
  expect((await transport.fetch(server.url.href, request())).status).toBe(200);
  using nowhere = new KeepAliveTransport(new URL("http://127.0.0.1:1"), 1);
  expect(nowhere.fetch("http://127.0.0.1:1/plants", request())).rejects.toThrow();
});
