import { describe, expect, spyOn, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Socket } from "bun";
import { eventually } from "../../../test/support/eventually.ts";
import { fake } from "../../../test/support/fake.ts";
import { emptyResponse, TestWire, testTls, type WireClient } from "../../../test/support/wire.ts";
import { Connection, type RequestHandler } from "./connection.ts";
import { ConnectionLimit } from "./connection-limit.ts";
import { stateTable } from "./connection-state.ts";
import { type Head, Heads } from "./head.ts";
import { Turns } from "./turns.ts";

const get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
const lastGet = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
const long = `HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 24}\r\n\r\n${"x".repeat(2 ** 24)}`;

function respond(connection: Connection, { path }: Head): void {
  const text = path === "/long" ? long : emptyResponse;
  connection.send(text, text.length);
}

/** Responds to each request, once the test has noted it. */
const responding =
  (note: (connection: Connection, head: Head) => void): RequestHandler["handle"] =>
  (connection, head) => {
    note(connection, head);
    respond(connection, head);
  };

/** Sends a text from there on. What the kernel does not accept at once is sent when it does. */
async function sendAll(client: WireClient, text: string, from = 0): Promise<void> {
  for (let at = from; at < text.length; await nextTurn())
    at += Math.max(0, client.socket.write(text.slice(at, at + 2 ** 20)));
}

describe.each([
  ["TCP", {}],
  ["TLS", { tls: testTls }],
])("over %s,", (_, options) => {
  test("a connection without a request is closed after 75 seconds", async () => {
    await using wire = new TestWire(respond, options);
    const client = await wire.connect();
    client.send(get);
    await eventually(() => client.received === emptyResponse);
    wire.pass(74);
    client.send(get);
    await eventually(() => client.received === emptyResponse.repeat(2));
    wire.pass(75);
    await eventually(() => !client.isOpen);
    // This client does not close its half.
    await eventually(() => wire.open === 0);
  });

  test("a stranger that sends 300 kB of requests before it reads gets a response that says close", async () => {
    const isLast: boolean[] = [];
    await using wire = new TestWire(
      responding((connection) => void isLast.push(connection.isLastResponse)),
      options,
    );
    const client = await wire.connect();
    client.socket.pause();
    await sendAll(client, get.repeat(12_000));
    client.socket.resume();
    await eventually(() => !client.isOpen);
    expect(client.received).toBe(emptyResponse.repeat(isLast.length));
    expect(isLast.indexOf(true)).toBe(isLast.length - 1);
    // Over TLS, it arrives in records.
    expect(isLast.length).toBeLessThan(1300);
  });

  test("a connection that a drain closes is not left open by its client", async () => {
    await using wire = new TestWire(respond, options);
    const client = await wire.connect();
    client.send(get);
    await eventually(() => client.received === emptyResponse);
    expect(await wire.server.drain(0)).toBe(true);
    await eventually(() => wire.open === 0);
  });

  test.each([
    ["after 29 seconds gets all of it", 29, true],
    ["after 30 seconds was disconnected before", 30, false],
  ])("a client that reads its response %s", async (_, seconds, isComplete) => {
    await using wire = new TestWire(respond, options);
    const client = await wire.connect();
    client.socket.pause();
    using sent = spyOn(Connection.prototype, "send");
    client.send("GET /long HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    await eventually(() => sent.mock.calls.length === 1);
    wire.pass(seconds);
    client.socket.resume();
    await eventually(() => !client.isOpen);
    expect(client.received.length === long.length).toBe(isComplete);
  });
});

/** A connection of which more has arrived than a stranger may pipeline. */
const flood = get.repeat(700);

test("a stranger's response is its last where over 16 KiB of requests follow it, and the rest is discarded", () => {
  const ends = offline();
  ends.receive(flood);
  ends.receive(flood);
  expect(ends.sent).toBe(emptyResponse);
  ends.pass(1);
  expect(ends.calls).toEqual(["end"]);
});

test("the body of a stranger's request does not count as a further request", async () => {
  const ends = offline();
  ends.receive(`POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 20000\r\n\r\n${"x".repeat(20_000)}${get}`);
  await eventually(() => ends.sent === emptyResponse.repeat(2));
});

test("a stranger's head may have 16 KiB, in two packets", () => {
  const ends = offline();
  ends.receive(`GET / HTTP/1.1\r\nHost: h\r\nX: ${"x".repeat(16_350)}\r\n`);
  ends.receive("\r\n");
  expect(ends.sent).toBe(emptyResponse);
});

test("while credentials are checked, no more than 16 KiB are read of a body, and all of it once they are accepted", () => {
  const bodies: number[] = [];
  const ends = offline(() => {});
  ends.receive(`POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 20000\r\n\r\n${"x".repeat(17_000)}`);
  expect(ends.isPaused).toBe(true);
  ends.connection.becomeAdmitted();
  ends.connection.readBody({
    bodyReceived: (_, start, end) => bodies.push(end - start),
    bodyNotReceived() {},
  });
  ends.receive("x".repeat(3000));
  expect(bodies).toEqual([20_000]);
});

test("what is unsent of a page is not copied", () => {
  const page = Buffer.from("a page");
  const ends = offline((connection) => connection.send(emptyResponse, emptyResponse.length, page));
  ends.acceptsBytes = 1;
  ends.receive(get);
  ends.acceptsBytes = Number.POSITIVE_INFINITY;
  ends.connection.writable();
  expect(ends.sent).toBe(`${emptyResponse}a page`);
  expect(ends.lastWritten).toBe(page);
});

test("a connection whose head is not complete after 10 seconds is closed", () => {
  const { receive, pass, calls } = offline();
  receive("GET / HTTP/1.1\r\nHost: h\r\n");
  pass(9);
  receive("X: y\r\n");
  pass(0.9);
  expect(calls).toEqual([]);
  pass(0.1);
  expect(calls).toEqual(["terminate"]);
});

test.each([
  ["may be read for 30 seconds, before the shutdown can be sent", 30, "terminate"],
  ["was read within them ends its connection within a second", 20, "end"],
])("over TLS, the last response that %s", (_, seconds, end) => {
  const ends = offline();
  ends.hasRead = false;
  ends.receive(lastGet);
  for (let passed = 1; passed < seconds; passed++) ends.pass(1);
  expect(ends.calls).toEqual([]);
  ends.hasRead = end === "end";
  ends.pass(1);
  expect(ends.calls).toEqual([end]);
});

test("a client that reads any of its response has 30 more seconds for the rest", () => {
  const ends = offline();
  ends.acceptsBytes = 1;
  ends.receive(get);
  for (let read = 0; read < 5; read++) {
    ends.pass(29);
    ends.connection.writable();
  }
  ends.acceptsBytes = 0;
  ends.pass(29);
  ends.connection.writable();
  expect(ends.calls).toEqual([]);
  ends.pass(1);
  expect(ends.calls).toEqual(["terminate"]);
  expect(ends.sent).toBe(emptyResponse.slice(0, 6));
});

test("an empty line before a request leaves the connection idle, even in two packets", () => {
  const ends = offline();
  ends.receive("\r");
  ends.receive("\n");
  // Longer than a head may take.
  ends.pass(11);
  ends.receive(get);
  expect(ends.sent).toBe(emptyResponse);
});

test("a connection whose client may still send a body that nobody asked for closes after the response", () => {
  const ends = offline();
  // A client that was refused sends its next request here instead of the body, unless the connection closes.
  ends.receive("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  ends.receive(get);
  ends.pass(1);
  expect(ends.sent).toBe(emptyResponse);
  expect(ends.calls).toEqual(["end"]);
});

/** A connection on a socket that the test plays: what it sends is in `sent`, and how it closes in `calls`. */
function offline(handle: RequestHandler["handle"] = respond) {
  const clock = { nowMs: 0 };
  const calls: string[] = [];
  // Over TLS, a shutdown is sent only once the client has read everything before it.
  const ends = {
    calls,
    sent: "",
    lastWritten: undefined as unknown,
    isPaused: false,
    hasRead: true,
    acceptsBytes: Number.POSITIVE_INFINITY,
  };
  let isShutDown = false;
  const connectionLimit = new ConnectionLimit(10, clock, { connectionLimitReached() {} });
  const socket = fake<Socket<Connection>>({
    remoteAddress: "127.0.0.1",
    pause: () => void Object.assign(ends, { isPaused: true }),
    resume: () => void Object.assign(ends, { isPaused: false }),
    shutdown() {
      isShutDown = true;
    },
    write(data: string | Buffer) {
      if (isShutDown && ends.hasRead) return -1;
      const accepted = data.slice(0, ends.acceptsBytes);
      ends.sent += accepted;
      if (accepted.length > 0) ends.lastWritten = data;
      return accepted.length;
    },
    end: () => calls.push("end"),
    terminate() {
      calls.push("terminate");
      connection.closed();
    },
  });
  const connection = new Connection(socket, {
    handler: { handle, handleFault() {} },
    limits: { bodyBytesMax: 20_000, bodyTimeoutMs: 5000 },
    states: stateTable(5000),
    heads: new Heads(),
    connectionLimit,
    turns: new Turns(),
    clock,
  });
  connectionLimit.opened(connection);
  const receive = (text: string) => {
    expect(ends.isPaused).toBe(false);
    connection.receive(Buffer.from(text));
  };
  const pass = (seconds: number) => {
    clock.nowMs += seconds * 1000;
    connection.sweep();
  };
  return Object.assign(ends, { connection, receive, pass });
}

describe("pipelined requests", () => {
  test("by the thousand are handled without recursion, also after their client has closed its half", async () => {
    await using wire = new TestWire(responding((connection) => connection.becomeAdmitted()));
    const client = await wire.connect();
    await sendAll(client, get.repeat(20_000));
    client.socket.shutdown();
    await eventually(() => !client.isOpen);
    expect(client.received.length).toBe(20_000 * emptyResponse.length);
  });

  test("by the thousand on many connections make nobody else wait for more than 2,000 of them", async () => {
    const order: string[] = [];
    const sentAfter = 300;
    await using wire = new TestWire(
      responding((_, { path }) => {
        order.push(path);
        if (order.length === sentAfter) other.send("GET /other HTTP/1.1\r\nHost: h\r\n\r\n");
      }),
    );
    const pipelining = await Promise.all(Array.from({ length: 60 }, () => wire.connect()));
    const other = await wire.connect();
    for (const client of pipelining) client.send(get.repeat(200));
    await eventually(() => order.length === 60 * 200 + 1);
    expect(order.indexOf("/other") - sentAfter).toBeLessThan(2000);
  });

  test("of two connections are handled in turns, one of each", async () => {
    const order: string[] = [];
    await using wire = new TestWire(responding((_, { path }) => void order.push(path)));
    const first = await wire.connect();
    const second = await wire.connect();
    first.send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n".repeat(50));
    second.send("GET /2 HTTP/1.1\r\nHost: h\r\n\r\n".repeat(50));
    await eventually(() => order.length === 100);
    const bothFrom = order.indexOf("/2");
    expect(order.slice(bothFrom, bothFrom + 6)).toEqual(["/2", "/1", "/2", "/1", "/2", "/1"]);
  });
});

describe("once a turn of the event loop has had enough,", () => {
  const respondAfterBody = (connection: Connection, head: Head): void => {
    if (head.contentLength === undefined) return respond(connection, head);
    connection.readBody({ bodyReceived: () => respond(connection, head), bodyNotReceived() {} });
  };

  test.each([
    ["a request", get],
    ["a request with a body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12345"],
    ["pipelined requests", get.repeat(3)],
  ])("%s waits for the next and gets its response", async (_, requests) => {
    using _allowed = spyOn(Turns.prototype, "countArrival").mockReturnValueOnce(false);
    const ends = offline(respondAfterBody);
    ends.receive(requests);
    expect(ends.isPaused).toBe(true);
    expect(ends.sent).toBe("");
    const responses = emptyResponse.repeat(requests.split("HTTP/1.1").length - 1);
    await eventually(() => ends.sent === responses);
    // It is read again.
    ends.receive(get);
    await eventually(() => ends.sent === responses + emptyResponse);
  });

  test("a body that is arriving is read on in the next", async () => {
    const ends = offline(respondAfterBody);
    ends.receive("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n1");
    using _allowed = spyOn(Turns.prototype, "countArrival").mockReturnValueOnce(false);
    ends.receive("2");
    await eventually(() => !ends.isPaused);
    ends.receive("3");
    await eventually(() => ends.sent === emptyResponse);
  });
});

test("a client that pipelines while its response is streamed is read only up to the limit", async () => {
  const requests = 256;
  // Each with many empty lines before it, which a client may send.
  const pipelined = `${"\r\n".repeat(32_000)}${get}`.repeat(requests);
  const streaming: Connection[] = [];
  await using wire = new TestWire((connection, head) => {
    connection.becomeAdmitted();
    if (head.path !== "/stream") return respond(connection, head);
    streaming.push(connection);
    connection.stream("HTTP/1.1 200 OK\r\n\r\n", { writable() {}, closed() {} });
  });
  const client = await wire.connect();
  client.send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  await eventually(() => client.received !== "");
  using received = spyOn(Connection.prototype, "receive");

  let sent = 0;
  // More than the kernel accepts at once, so that each piece waits for the client to read.
  const piece = Buffer.alloc(2 ** 23);
  for (let pieces = 0; pieces < 20; pieces++) {
    client.received = "";
    streaming[0]?.write(piece);
    sent += Math.max(0, client.socket.write(pipelined.slice(sent, sent + 2 ** 20)));
    await eventually(() => client.received.length === piece.length);
  }
  const readBytes = received.mock.calls.reduce((sum, [bytes]) => sum + bytes.length, 0);
  expect(readBytes).toBeLessThan(2 ** 20);

  // All are answered later.
  client.received = "";
  streaming[0]?.endStream();
  await sendAll(client, pipelined, sent);
  await eventually(() => client.received === emptyResponse.repeat(requests));
});

test("a TLS handshake that does not start is aborted after 10 seconds", async () => {
  await using wire = new TestWire(respond, { tls: testTls });
  const client = await wire.connect({ tls: false });
  wire.pass(9.9);
  expect(client.isOpen).toBe(true);
  wire.pass(0.1);
  await eventually(() => !client.isOpen);
  await eventually(() => wire.open === 0);
});

describe("a body", () => {
  const sized = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc";
  const chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";

  /** Reads the body of the current request, and notes what becomes of it. */
  const readBodyOf = (connection: Connection, outcomes: string[]) =>
    connection.readBody({
      bodyReceived: (bytes, start, end) => outcomes.push(bytes.toString("utf8", start, end)),
      bodyNotReceived(fault) {
        outcomes.push(fault?.kind ?? "gone");
        if (fault !== undefined) connection.send(emptyResponse, emptyResponse.length);
      },
    });

  test.each<[string, (ends: ReturnType<typeof offline>) => void, string]>([
    ["that stalls", ({ pass }) => pass(5), "body-too-slow"],
    [
      "that trickles, with one deadline for all of it",
      ({ pass, receive }) => {
        pass(4.9);
        receive("1\r\nd\r\n");
        pass(0.1);
      },
      "body-too-slow",
    ],
    ["that grows too large", ({ receive }) => receive("ffff\r\n"), "body-too-large"],
    ["with an invalid chunk", ({ receive }) => receive("x\r\n"), "not-http"],
    ["whose connection the service closes", ({ connection }) => connection.close(), "gone"],
  ])("%s has one outcome, which is its failure", (_, interrupt, outcome) => {
    const outcomes: string[] = [];
    const ends = offline((connection) => readBodyOf(connection, outcomes));
    ends.receive(chunked);
    interrupt(ends);
    ends.connection.close();
    expect(outcomes).toEqual([outcome]);
  });

  test.each<[string, string, (client: WireClient, wire: TestWire) => unknown]>([
    ["whose client closes the connection", sized, ({ socket }) => socket.end()],
    ["whose client closes its half", sized, ({ socket }) => socket.shutdown()],
    ["whose client resets the connection", chunked, ({ socket }) => socket.terminate()],
    ["in progress when the drain times out", sized, (_, wire) => wire.server.drain(0)],
  ])("%s is gone, and has no other outcome", async (_, request, interrupt) => {
    const handling = Promise.withResolvers<Connection>();
    await using wire = new TestWire(handling.resolve);
    const client = await wire.connect();
    client.send(request);
    const outcomes: string[] = [];
    readBodyOf(await handling.promise, outcomes);
    interrupt(client, wire);
    await eventually(() => outcomes.length > 0);
    await wire.server.drain(0);
    expect(outcomes).toEqual(["gone"]);
  });

  test("that is asked for after its client has gone away fails", () => {
    const outcomes: string[] = [];
    const { connection, receive } = offline(() => {});
    receive(sized);
    connection.close();
    readBodyOf(connection, outcomes);
    expect(outcomes).toEqual(["gone"]);
  });
});

describe("a drain", () => {
  test("waits no more than a second for a request that may be on its way", async () => {
    await using wire = new TestWire(respond);
    const idle = await wire.connect();
    const half = await wire.connect();
    half.send("GET /li");
    let drained: boolean | undefined;
    const draining = wire.server.drain(10_000).then((finished) => {
      drained = finished;
    });
    wire.clockMs = 999;
    idle.send(get);
    await eventually(() => !idle.isOpen);
    expect(idle.received).toEqual(emptyResponse);
    expect(drained).toBeUndefined();
    wire.clockMs = 1000;
    await draining;
    expect(drained).toBe(true);
    await eventually(() => !half.isOpen);
  });

  test.each([
    ["waits for idle connections no longer than its timeout", "", true],
    ["closes what is left after its timeout", get, false],
  ])("%s", async (_, request, hasFinished) => {
    const handled: Connection[] = [];
    await using wire = new TestWire((connection) => handled.push(connection));
    const client = await wire.connect();
    client.send(request);
    await eventually(() => handled.length > 0 || request === "");
    const draining = wire.server.drain(100);
    wire.clockMs = 100;
    expect(await draining).toBe(hasFinished);
    await eventually(() => !client.isOpen && wire.open === 0);
  });

  test("answers all pipelined requests, of which the last response says close", async () => {
    const closing: boolean[] = [];
    await using wire = new TestWire(responding(({ isLastResponse }) => void closing.push(isLastResponse)));
    const client = await wire.connect();
    const draining = wire.server.drain(10_000);
    client.send(get.repeat(20));
    expect(await draining).toBe(true);
    await eventually(() => client.received === emptyResponse.repeat(20));
    expect(closing).toEqual([...Array(19).fill(false), true]);
  });
});

describe("a connection that its client resets is released at once", () => {
  // Client and server share a thread here: the reset arrives after the request was read and before its response is written.
  test("between request and response", async () => {
    let client: WireClient | undefined;
    let handled = 0;
    let closedForAnother = 0;
    await using wire = new TestWire(
      (connection, head) => {
        handled++;
        client?.socket.terminate();
        respond(connection, head);
      },
      { connectionsMax: 4, connectionLimitReached: () => void closedForAnother++ },
    );
    for (let count = 1; count <= 12; count++) {
      client = await wire.connect();
      client.send(get.repeat(5));
      await eventually(() => handled >= count || closedForAnother > 0);
    }
    // The rest of the pipelined requests has nobody to be answered to.
    expect(handled).toBe(12);
    expect(closedForAnother).toBe(0);
    // A dead connection would count as busy.
    expect(await wire.server.drain(1)).toBe(true);
  });

  test("while it reads a long response", async () => {
    let client: WireClient | undefined;
    const { writable } = Connection.prototype;
    using spy = spyOn(Connection.prototype, "writable").mockImplementation(function (this: Connection) {
      client?.socket.terminate();
      writable.call(this);
    });
    await using wire = new TestWire(respond);
    client = await wire.connect();
    client.socket.pause();
    client.send("GET /long HTTP/1.1\r\nHost: h\r\n\r\n");
    client.socket.resume();
    await eventually(() => spy.mock.calls.length > 0 && wire.open === 0);
  });
});
