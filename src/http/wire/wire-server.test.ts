import { expect, spyOn, test } from "bun:test";
import { eventually } from "../../../test/harness.ts";
import { emptyResponse, TestWire, type WireClient } from "../../../test/wire.ts";
import { Connection } from "./connection.ts";
import { connectionBudget } from "./wire-server.ts";

test("a reserve of file descriptors is left, however few there are, and operators have a share of the rest", () => {
  expect(connectionBudget(1024)).toEqual({ publicMax: 721, operatorMax: 103 });
  expect(connectionBudget(64)).toEqual({ publicMax: 28, operatorMax: 4 });
  expect(connectionBudget(1)).toEqual({ publicMax: 1, operatorMax: 1 });
  expect(connectionBudget(Number.POSITIVE_INFINITY)).toEqual({ publicMax: 9_500, operatorMax: 500 });
});

test("past the limit the longest idle connection is closed, never one whose request is in progress", async () => {
  using received = spyOn(Connection.prototype, "receive");
  const long = `HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 24}\r\n\r\n${"x".repeat(2 ** 24)}`;
  const limitReached: string[] = [];
  await using wire = new TestWire(
    // Anything else is never answered.
    (connection, { path }) => {
      if (path === "/answer") connection.send(emptyResponse, emptyResponse.length);
      if (path === "/long") connection.send(long, long.length);
    },
    { connectionsMax: 5, bodyTimeoutMs: 60_000, onLimitReached: (which) => limitReached.push(which) },
  );
  const clients = new Map<string, WireClient>();
  const closed = () => [...clients].flatMap(([name, { isOpen }]) => (isOpen ? [] : [name]));
  const send = async (client: WireClient, text: string) => {
    const before = received.mock.calls.length;
    client.send(text);
    await eventually(() => received.mock.calls.length > before);
  };
  const connect = async (name: string, text = "") => {
    const client = await wire.connect();
    clients.set(name, client);
    if (text !== "") await send(client, text);
    wire.pass(1);
    return client;
  };
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`;

  await connect("working", get("/wait"));
  const used = await connect("used", get("/answer"));
  await connect("silent");
  await connect("half a head", "GET / HTTP/1.1\r\n");
  const reader = await connect("not reading");
  reader.socket.pause();
  await send(reader, get("/long"));
  wire.pass(1);
  // Answered by its head alone, and its body never comes: that is idle, too.
  await send(used, "GET /answer HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n");
  expect(limitReached).toEqual([]);
  for (const [name, longestIdle] of [
    ["sixth", "silent"],
    ["seventh", "half a head"],
    ["eighth", "not reading"],
    ["ninth", "used"],
  ] as const) {
    await connect(name);
    if (longestIdle === "not reading") reader.socket.resume();
    await eventually(() => closed().includes(longestIdle));
  }
  expect([closed().length, limitReached]).toEqual([4, Array(4).fill("longest-idle")]);

  // If all have a request in progress, the next connection is the one that is closed.
  for (const name of ["sixth", "seventh", "eighth", "ninth"])
    await send(clients.get(name) as WireClient, get("/wait"));
  await connect("tenth");
  await eventually(() => closed().includes("tenth"));
  expect(limitReached.at(-1)).toBe("newest");
});
