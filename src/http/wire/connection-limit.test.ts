import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import type { Socket } from "bun";
import { connectionBudget, WireServer } from "./wire-server.ts";

test("a reserve of file descriptors is left, however few there are, and operators have a share of the rest", () => {
  expect(connectionBudget(1024)).toEqual({ publicMax: 721, operatorMax: 103 });
  expect(connectionBudget(64)).toEqual({ publicMax: 28, operatorMax: 4 });
  expect(connectionBudget(1)).toEqual({ publicMax: 1, operatorMax: 1 });
  expect(connectionBudget(1_048_576)).toEqual({ publicMax: 9_500, operatorMax: 500 });
  expect(connectionBudget(Number.POSITIVE_INFINITY)).toEqual({ publicMax: 9_500, operatorMax: 500 });
  expect(connectionBudget().publicMax).toBeGreaterThan(1);
});

test.skipIf(process.platform === "win32")("the limit is the process's own", () => {
  const module = new URL("./wire-server.ts", import.meta.url).pathname;
  const script = `import { connectionBudget } from ${JSON.stringify(module)}; console.log(connectionBudget().publicMax);`;
  const { stdout } = spawnSync("sh", ["-c", 'ulimit -n 600; exec "$0" -e "$1"', process.execPath, script], {
    encoding: "utf8",
  });
  expect(stdout.trim()).toBe("350");
});

test("past the limit the longest idle connection is closed, never one whose request is in progress", async () => {
  let clockMs = 0;
  const limitReached: string[] = [];
  const server = new WireServer(
    {
      host: "127.0.0.1",
      port: 0,
      connectionsMax: 4,
      onLimitReached: (which) => limitReached.push(which),
      bodyBytesMax: 1000,
      bodyTimeoutMs: 60_000,
      now: () => clockMs,
    },
    {
      handle(connection, { path }) {
        const text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        // Anything else is never answered.
        if (path === "/answer") connection.send(text, text.length);
      },
      refuse() {},
    },
  );
  const sockets: Socket[] = [];
  const closed: string[] = [];
  const connect = async (name: string, text = "") => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: server.port,
      socket: { data: () => resolve(), error() {}, close: () => void closed.push(name) },
    });
    sockets.push(socket);
    if (text !== "") socket.write(text);
    if (text.includes("/answer")) await promise;
    clockMs += 1000;
    while (server.nowMs !== clockMs) await Bun.sleep(5);
    await Bun.sleep(20);
    return socket;
  };

  await connect("working", "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  const used = await connect("used", "GET /answer HTTP/1.1\r\nHost: h\r\n\r\n");
  await connect("silent");
  await connect("half a head", "GET / HTTP/1.1\r\n");
  // Answered by its head alone, and its body never comes: that is idle, too.
  used.write("GET /answer HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n");
  await Bun.sleep(50);
  expect(closed).toEqual([]);
  await connect("fifth");
  expect(closed).toEqual(["silent"]);
  await connect("sixth");
  expect(closed).toEqual(["silent", "half a head"]);
  await connect("seventh");
  expect(closed).toEqual(["silent", "half a head", "used"]);
  expect(limitReached).toEqual(["longest-idle", "longest-idle", "longest-idle"]);

  // If all have a request in progress, the next connection is the one that is closed.
  for (const socket of sockets.slice(-3)) socket.write("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  await Bun.sleep(50);
  await connect("eighth");
  expect(closed.at(-1)).toBe("eighth");
  expect(limitReached.at(-1)).toBe("newest");
  for (const socket of sockets) socket.terminate();
  await server.drain(0);
});

test("past the limit a connection whose client does not read its response counts as idle", async () => {
  const long = `HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 24}\r\n\r\n${"x".repeat(2 ** 24)}`;
  const limitReached: string[] = [];
  let clockMs = 0;
  const server = new WireServer(
    {
      host: "127.0.0.1",
      port: 0,
      connectionsMax: 3,
      onLimitReached: (which) => limitReached.push(which),
      bodyBytesMax: 1000,
      bodyTimeoutMs: 60_000,
      now: () => clockMs,
    },
    {
      handle(connection, { path }) {
        const text = path === "/long" ? long : "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        connection.send(text, text.length);
        if (path === "/long") begun++;
      },
      refuse() {},
    },
  );
  let begun = 0;
  const connect = async (path: string) => {
    const ended = Promise.withResolvers<number>();
    const client = { received: 0, ended: ended.promise };
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: server.port,
      socket: {
        data(_, bytes) {
          client.received += bytes.length;
          if (client.received >= long.length) ended.resolve(client.received);
        },
        close: () => ended.resolve(client.received),
        error() {},
      },
    });
    if (path === "/long") socket.pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`);
    return Object.assign(client, { socket });
  };

  const [first, second, third] = [await connect("/long"), await connect("/long"), await connect("/long")];
  while (begun < 3) await Bun.sleep(5);
  clockMs += 1000;
  while (server.nowMs !== clockMs) await Bun.sleep(5);
  const newcomer = await connect("/");
  while (newcomer.received === 0 && limitReached[0] !== "newest") await Bun.sleep(5);
  expect(limitReached).toEqual(["longest-idle"]);
  for (const { socket } of [first, second, third]) socket.resume();
  expect(await first.ended).toBeLessThan(long.length);
  expect([await second.ended, await third.ended]).toEqual([long.length, long.length]);
  for (const { socket } of [newcomer, second, third]) socket.terminate();
  await server.drain(0);
});
