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
  const limitReached: string[] = [];
  await using wire = new TestWire(
    // Anything else is never answered.
    (connection, { path }) =>
      void (path === "/answer" && connection.send(emptyResponse, emptyResponse.length)),
    { connectionsMax: 4, bodyTimeoutMs: 60_000, onLimitReached: (which) => limitReached.push(which) },
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
  const wait = "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n";

  await connect("working", wait);
  const used = await connect("used", "GET /answer HTTP/1.1\r\nHost: h\r\n\r\n");
  await connect("silent");
  await connect("half a head", "GET / HTTP/1.1\r\n");
  // Answered by its head alone, and its body never comes: that is idle, too.
  await send(used, "GET /answer HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n");
  expect(closed()).toEqual([]);
  for (const [name, longestIdle] of [
    ["fifth", "silent"],
    ["sixth", "half a head"],
    ["seventh", "used"],
  ] as const) {
    await connect(name);
    await eventually(() => closed().includes(longestIdle));
  }
  expect([closed().length, limitReached]).toEqual([3, Array(3).fill("longest-idle")]);

  // If all have a request in progress, the next connection is the one that is closed.
  for (const name of ["fifth", "sixth", "seventh"]) await send(clients.get(name) as WireClient, wait);
  await connect("eighth");
  await eventually(() => closed().includes("eighth"));
  expect(limitReached.at(-1)).toBe("newest");
});

test("past the limit a connection whose client does not read its response counts as idle", async () => {
  const long = `HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 24}\r\n\r\n${"x".repeat(2 ** 24)}`;
  const limitReached: string[] = [];
  using sent = spyOn(Connection.prototype, "send");
  await using wire = new TestWire(
    (connection, { path }) => {
      const text = path === "/long" ? long : emptyResponse;
      connection.send(text, text.length);
    },
    { connectionsMax: 3, onLimitReached: (which) => limitReached.push(which) },
  );
  const connect = async (path: string) => {
    const client = await wire.connect();
    if (path === "/long") client.socket.pause();
    const before = sent.mock.calls.length;
    client.send(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`);
    await eventually(() => sent.mock.calls.length > before);
    wire.pass(1);
    return client;
  };
  const [first, second, third] = [await connect("/long"), await connect("/long"), await connect("/long")];
  const newcomer = await connect("/");
  await eventually(() => newcomer.received === emptyResponse);
  expect(limitReached).toEqual(["longest-idle"]);
  for (const { socket } of [first, second, third]) socket.resume();
  await eventually(() => !first.isOpen && [second, third].every(({ received }) => received === long));
  expect(first.received.length).toBeLessThan(long.length);
});
