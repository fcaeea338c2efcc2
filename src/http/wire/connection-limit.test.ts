import { expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { eventually } from "../../../test/support/eventually.ts";
import { emptyResponse, TestWire, testTls, type WireClient } from "../../../test/support/wire.ts";
import type { ClosedAtLimit } from "../../telemetry/metrics.ts";
import { minuteMs } from "../../text/duration.ts";
import { Connection } from "./connection.ts";
import { ConnectionLimit, type LimitEntry, type LimitedConnection } from "./connection-limit.ts";
import { type CoarseClock, ConnectionState, type StateName, stateTable } from "./connection-state.ts";
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

test("bodies of one address yield at once where they are more than a quarter of the limit, and no others", async () => {
  await using limited = new Limited();
  await limited.connectAll(3, "idle", get("/admit"));
  limited.wire.pass(10);
  limited.secondsBetween = 0;
  await limited.connectAll(5, "slow", halfABody, attacker);
  await limited.connectAll(4, "newcomer", get("/admit"));
  const closed = await limited.closed(4);
  expect(closed.map((name) => name.split(" ")[0])).toEqual(["idle", "slow", "slow", "slow"]);
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

test("a new connection is closed if all others have a complete request of an admitted caller", async () => {
  await using limited = new Limited();
  await limited.connectAll(8, "client", get("/admit/wait"));
  limited.wire.pass(10);
  await limited.connect("newcomer");
  expect(await limited.closed(1)).toEqual(["newcomer"]);
  expect(limited.reasons).toEqual(["idle"]);
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

/** A connection as the limit has it, which notes that it was looked at. */
class Candidate implements LimitedConnection {
  readonly network: string;
  readonly limitEntry: LimitEntry;
  readonly own: ConnectionState;
  readonly looked: Set<Candidate>;
  readonly close: () => void;

  constructor(
    limit: ConnectionLimit,
    network: string,
    clock: CoarseClock,
    looked: Set<Candidate>,
    close: (one: Candidate) => void,
  ) {
    this.network = network;
    this.limitEntry = limit.newEntry(network);
    this.own = new ConnectionState(stateTable(minuteMs), clock, this.limitEntry.network);
    this.looked = looked;
    this.close = () => close(this);
  }

  get state(): ConnectionState {
    this.looked.add(this);
    return this.own;
  }
}

// With these, a network has few strangers if it has one.
const most = { connections: 70, strangers: 17, few: 1 };

/** Those that may be closed for the newcomer, of the ones that were looked at; by the list in docs/operating.md. */
function eligible(all: Candidate[], looked: Candidate[], newcomer: Candidate): Candidate[] {
  const isStranger = ({ limitEntry }: Candidate) => limitEntry.isStranger;
  const waits = (how: string, ms: number) =>
    longest(others.filter(({ own }) => own.meaning.waits === how && own.lastedMs >= ms));
  const others = looked.filter((one) => one !== newcomer);
  const strangersOf = (name: string) => all.filter((one) => one.network === name && isStranger(one)).length;
  const worstStranger = (candidates: Candidate[]) => {
    const counts = candidates.map(({ network }) => strangersOf(network));
    const highest = Math.max(0, ...counts);
    const unknown = candidates.filter(({ network }) =>
      all.every((one) => one.network !== network || isStranger(one)),
    );
    const largest = candidates.filter((_, at) => counts[at] === highest);
    const chosen = highest > most.few ? largest : unknown.length > 0 ? unknown : candidates;
    return chosen.sort((a, b) => a.limitEntry.strangerSince - b.limitEntry.strangerSince).slice(0, 1);
  };
  if (all.filter(isStranger).length > most.strangers)
    return worstStranger([newcomer, ...others.filter(isStranger)]);
  const arriving = all.filter(({ own }) => own.meaning.waits === "arriving");
  const crowd = others.filter(
    (one) =>
      arriving.includes(one) &&
      arriving.filter(({ network }) => network === one.network).length > most.strangers,
  );
  const slow = others.filter(
    (one) => crowd.includes(one) || (arriving.includes(one) && one.own.lastedMs >= 1000),
  );
  const inOrder = [
    longest(slow),
    waits("idle", 1000),
    worstStranger(others.filter(isStranger)),
    waits("idle", 0),
  ];
  return inOrder.find(({ length }) => length > 0) ?? [newcomer];
}

function longest(candidates: Candidate[]): Candidate[] {
  const ms = Math.max(...candidates.map(({ own }) => own.lastedMs));
  return candidates.filter(({ own }) => own.lastedMs === ms);
}

test("a stranger is found among however many connections that were in use a moment ago", () => {
  const limit = new ConnectionLimit(10_000, { nowMs: 0 }, { connectionLimitReached() {} });
  const closed: Candidate[] = [];
  const open = () => {
    const one = new Candidate(limit, "a", { nowMs: 0 }, new Set(), (victim) => closed.push(victim));
    limit.opened(one);
    return one;
  };
  const stranger = open();
  for (let number = 1; number < 10_000; number++) limit.admitted(open());
  open();
  expect(closed).toEqual([stranger]);
});

test("the connection that is closed is the worst of those looked at, whatever was opened, admitted, denied and closed", () => {
  const change = fc.constantFrom<StateName | "admit" | "deny" | "close">(
    ...(["idle", "head", "body", "handling", "writing", "admit", "deny", "close"] as const),
  );
  const event = fc.record({
    network: fc.nat(1000),
    change: fc.option(change, { freq: 1 }),
    which: fc.nat(1000),
    ms: fc.constantFrom(0, 0, 20, 300),
  });
  // Some runs have many networks or many strangers, and some hardly any.
  const run = fc.record({
    networks: fc.constantFrom(1, 4, 100, 1000),
    isAdmitted: fc.constantFrom(0, 0.8, 1),
    atFirst: fc.array(change, { minLength: 1, maxLength: 3 }),
    events: fc.array(event, { minLength: 150, maxLength: 400, size: "max" }),
  });
  let seed = 0;
  using random = spyOn(Math, "random");
  random.mockImplementation(() => {
    seed += 0.618;
    return seed % 1;
  });
  fc.assert(
    fc.property(run, ({ networks, isAdmitted, atFirst, events }) => {
      const clock = { nowMs: 0 };
      const limit = new ConnectionLimit(most.connections, clock, { connectionLimitReached() {} });
      const open: Candidate[] = [];
      const apply = (one: Candidate, change: StateName | "admit" | "deny" | "close"): void => {
        if (change === "admit") limit.admitted(one);
        else if (change === "deny") limit.becameStranger(one);
        else if (change !== "close") one.own.enter(change);
        else {
          open.splice(open.indexOf(one), 1);
          one.own.enter("closed");
          limit.closed(one);
        }
      };
      for (const { network, change, which, ms } of events) {
        clock.nowMs += ms;
        const name = String(network % networks);
        const looked = new Set<Candidate>();
        const newcomer = new Candidate(limit, name, clock, looked, (victim) => {
          expect(eligible(open, [...looked], newcomer)).toContain(victim);
          apply(victim, "close");
        });
        open.push(newcomer);
        limit.opened(newcomer);
        if (newcomer.own.name === "closed") continue;
        if (which / 1000 < isAdmitted) limit.admitted(newcomer);
        apply(newcomer, atFirst[which % atFirst.length] ?? "admit");
        const one = open[which % open.length];
        if (change !== null && one !== undefined) apply(one, change);
      }
      expect(open.length).toBeLessThanOrEqual(most.connections);
    }),
    { numRuns: 100 },
  );
});
