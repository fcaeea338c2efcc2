import { expect, spyOn, test } from "bun:test";
import { eventually } from "../../../test/support/eventually.ts";
import { emptyResponse, TestWire, testTls, type WireClient } from "../../../test/support/wire.ts";
import type { ClosedAtLimit } from "../../telemetry/metrics.ts";
import { minuteMs } from "../../text/duration.ts";
import { Connection } from "./connection.ts";
import type { Head } from "./head.ts";

const attacker = "127.0.0.2";
const longResponse = `HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 24}\r\n\r\n${"x".repeat(2 ** 24)}`;
const halfABody = "POST /admit HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12";

/** A gate by path, and requests of every kind. */
function handle(connection: Connection, head: Head): void {
  if (head.path.startsWith("/admit")) connection.becomeAdmitted();
  if (head.path.startsWith("/deny")) connection.becomeStranger();
  // Such a request is never answered.
  if (head.path.endsWith("/wait")) return;
  const text = head.path.endsWith("/long") ? longResponse : emptyResponse;
  const send = () => connection.send(text, text.length);
  if (head.contentLength === undefined || head.path.endsWith("/unread")) send();
  else connection.readBody({ bodyReceived: send, bodyNotReceived: () => {} });
}

/** A server with a limit of eight connections, two of which strangers may hold; its clients by name. */
class Limited implements AsyncDisposable {
  readonly reasons: ClosedAtLimit[] = [];
  /** How much time passes after each new connection. */
  secondsBetween = 0.5;
  readonly wire = new TestWire(handle, {
    connectionsMax: 8,
    bodyTimeoutMs: minuteMs,
    connectionLimitReached: (reason) => void this.reasons.push(reason),
  });
  readonly #clients = new Map<string, WireClient>();
  readonly #received = spyOn(Connection.prototype, "receive");

  /** Connects, sends what is given, and lets some time pass. */
  async connect(name: string, request = "", from = "127.0.0.1"): Promise<WireClient> {
    const client = await this.wire.connect({ from });
    this.#clients.set(name, client);
    if (request !== "") await this.send(name, request);
    this.wire.pass(this.secondsBetween);
    return client;
  }

  /** Connects as many, named 1, 2 and so on. */
  async connectAll(count: number, name: string, request = "", from?: string): Promise<void> {
    for (let number = 1; number <= count; number++) await this.connect(`${name} ${number}`, request, from);
  }

  async send(name: string, request: string): Promise<void> {
    const client = this.#clients.get(name) as WireClient;
    const before = this.#received.mock.calls.length;
    client.send(request);
    await eventually(() => this.#received.mock.calls.length > before);
  }

  /** The names of those that are closed, once there are so many. */
  async closed(count: number): Promise<string[]> {
    const closed = () => [...this.#clients].flatMap(([name, { isOpen }]) => (isOpen ? [] : [name]));
    await eventually(() => closed().length >= count && this.reasons.length >= count);
    return closed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#received.mockRestore();
    await this.wire[Symbol.asyncDispose]();
  }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`;

test("up to the limit no connection is closed, and past it a new client finds a place among strangers", async () => {
  await using limited = new Limited();
  // Each sends a request, so that the server has accepted it.
  await limited.connectAll(8, "attacker", get("/wait"), attacker);
  expect(await limited.closed(0)).toEqual([]);
  const client = await limited.connect("client", get("/admit"));
  await eventually(() => client.received === emptyResponse);
  expect(await limited.closed(1)).toEqual(["attacker 1"]);
});

test("strangers past a quarter of the limit are closed, the oldest of the address that has most first", async () => {
  await using limited = new Limited();
  await limited.connectAll(5, "client", get("/admit"));
  await limited.connect("other stranger", "", "127.0.0.3");
  await limited.connectAll(4, "attacker", get("/wait"), attacker);
  expect(await limited.closed(2)).toEqual(["attacker 1", "attacker 2"]);
  expect(limited.reasons).toEqual(["stranger", "stranger"]);
});

test("the request that the gate decided last makes a connection a stranger's or not", async () => {
  await using limited = new Limited();
  await limited.connectAll(6, "client", get("/admit"));
  await limited.send("client 1", get("/deny"));
  await limited.send("client 2", get("/deny"));
  await limited.send("client 2", get("/admit"));
  // One that needs no gate changes nothing.
  await limited.send("client 3", get("/"));
  await limited.connectAll(3, "newcomer");
  expect(await limited.closed(1)).toEqual(["client 1"]);
});

test("a body that has been arriving for over a second yields, though its caller is admitted", async () => {
  await using limited = new Limited();
  await limited.connectAll(3, "idle", get("/admit"));
  await limited.connectAll(3, "slow", halfABody);
  await limited.connectAll(2, "idle later", get("/admit"));
  await limited.connectAll(2, "newcomer");
  expect(await limited.closed(2)).toEqual(["slow 1", "slow 2"]);
  expect(limited.reasons).toEqual(["slow", "slow"]);
});

test.each([
  ["half a head", "GET / HTTP/1.1\r\n"],
  ["a body that no one reads", "POST /admit/unread HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n"],
])("%s yields after a second, though its caller is admitted", async (_, request) => {
  await using limited = new Limited();
  await limited.connectAll(6, "idle", get("/admit"));
  await limited.send("idle 2", request);
  limited.wire.pass(1);
  await limited.connectAll(3, "newcomer", get("/admit"));
  expect(await limited.closed(1)).toEqual(["idle 2"]);
});

test("bodies of one address yield at once if they are more than a quarter of the limit", async () => {
  await using limited = new Limited();
  await limited.connectAll(5, "idle", get("/admit"));
  limited.wire.pass(10);
  limited.secondsBetween = 0;
  await limited.connectAll(3, "slow", halfABody, attacker);
  await limited.connect("newcomer", get("/admit"));
  expect(await limited.closed(1)).toEqual(["slow 1"]);
});

test("of idle connections whose callers are admitted, the one that has been idle longest is closed", async () => {
  await using limited = new Limited();
  await limited.connectAll(8, "client", get("/admit"));
  limited.wire.pass(1);
  await limited.send("client 1", get("/admit"));
  await limited.connect("newcomer");
  expect(await limited.closed(1)).toEqual(["client 2"]);
  expect(limited.reasons).toEqual(["idle"]);
});

test("not reading a response counts as idle", async () => {
  await using limited = new Limited();
  const reader = await limited.connect("not reading");
  reader.socket.pause();
  await limited.send("not reading", get("/admit/long"));
  await limited.connectAll(7, "client", get("/admit"));
  await limited.connect("newcomer");
  reader.socket.resume();
  expect(await limited.closed(1)).toEqual(["not reading"]);
});

test("a stranger yields to a new one before a connection that was in use a moment ago", async () => {
  await using limited = new Limited();
  await limited.connect("stranger", get("/wait"), attacker);
  await limited.connectAll(7, "client", get("/admit"));
  for (let number = 1; number <= 7; number++) await limited.send(`client ${number}`, get("/admit"));
  await limited.connect("newcomer");
  expect(await limited.closed(1)).toEqual(["stranger"]);
});

test("a connection that was in use a moment ago yields if there is no stranger", async () => {
  await using limited = new Limited();
  await limited.connectAll(8, "client", get("/admit"));
  for (let number = 1; number <= 8; number++) await limited.send(`client ${number}`, get("/admit"));
  await limited.connect("newcomer");
  expect(await limited.closed(1)).toEqual(["client 1"]);
});

test("a new connection is closed if all others have a complete request of an admitted caller", async () => {
  await using limited = new Limited();
  await limited.connectAll(8, "client", get("/admit/wait"));
  limited.wire.pass(10);
  await limited.connect("newcomer");
  expect(await limited.closed(1)).toEqual(["newcomer"]);
});

test("over TLS, clients that keep idle connections have no more than the limit", async () => {
  await using wire = new TestWire(handle, { tls: testTls, connectionsMax: 4 });
  for (let count = 0; count < 12; count++) {
    // Such a client does not close its half when the server does.
    const client = await wire.connect();
    client.send(get("/admit"));
    await eventually(() => client.received === emptyResponse);
    wire.pass(0.5);
  }
  await eventually(() => wire.open === 4);
});

test("a limit of one still lets a new client replace an idle one", async () => {
  await using wire = new TestWire(handle, { connectionsMax: 1 });
  const first = await wire.connect();
  first.send(get("/admit"));
  await eventually(() => first.received === emptyResponse);
  const second = await wire.connect();
  second.send(get("/admit"));
  await eventually(() => second.received === emptyResponse);
  expect(first.isOpen).toBe(false);
});
