import { afterEach, expect, test } from "bun:test";
import type { Socket } from "bun";
import { eventually } from "../../test/harness.ts";
import { Gate } from "../access/gate.ts";
import { JwtVerifier } from "../access/oidc/jwt-verifier.ts";
import { digestOf } from "../access/secret.ts";
import { Counters } from "../telemetry/counters.ts";
import { createEvents } from "../telemetry/events.ts";
import { createLog } from "../telemetry/log.ts";
import { type ListenerOptions, startListener } from "./listener.ts";
import type { Route } from "./route.ts";

const options: ListenerOptions = {
  name: "public",
  host: "127.0.0.1",
  port: 0,
  inUseRemedy: "",
  basePath: "",
  hint: "",
  bodyBytesMax: 1000,
  bodyTimeoutMs: 10_000,
  logRequests: "none",
  corsOrigins: [],
  trustedProxies: [],
  tls: undefined,
  connectionsMax: 8,
};
const secret = "a-preset-token-of-my-own";
const route: Route<undefined> = {
  method: "GET",
  path: "/",
  scope: "operator",
  handler: () => (exchange) => exchange.json("welcome"),
};

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate();
});

/** A listener whose issuer does not respond until `release` is called. */
function start() {
  const { promise: keys, resolve: release } = Promise.withResolvers<void>();
  const jwt = { issuer: "https://id.example.org", audience: "plants", clientId: undefined };
  const verifier = new JwtVerifier(jwt, () => keys);
  const preset = { name: "preset", scopes: ["operator"] as const, digest: digestOf(secret) };
  const gate = new Gate([{ ...preset, expiresAtMs: undefined }], verifier);
  const log = createLog({ level: "error", format: "json", colour: false, write() {} });
  const events = createEvents(log, new Counters(), Date.now);
  return { listener: startListener([route], undefined, { gate, events }, options), release };
}

function forgedJwt(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "ES256", typ: "JWT" })}.${part({ exp: 1e11 })}.${part({})}`;
}

interface Client {
  received: string;
  closed: boolean;
}

async function send(port: number, credentials: string, requests: number): Promise<Client> {
  const client: Client = { received: "", closed: false };
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data(_, bytes) {
        client.received += bytes.toString("latin1");
      },
      end: (ended) => void ended.end(),
      close() {
        client.closed = true;
      },
      error() {},
    },
  });
  socket.write(`GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${credentials}\r\n\r\n`.repeat(requests));
  sockets.push(socket);
  return client;
}

test("at most a quarter of the connections wait for a verification; further ones get 50301 and are closed", async () => {
  const { listener, release } = start();
  const forged: Client[] = [];
  for (let count = 0; count < 8; count++) forged.push(await send(listener.port, forgedJwt(), 40));
  await eventually(() => forged.filter(({ closed }) => closed).length === 6);
  for (const { received } of forged.filter(({ closed }) => closed)) {
    expect(received).toStartWith("HTTP/1.1 503 ");
    expect(received).toContain("Connection: close");
    expect(received.match(/50301/g)).toHaveLength(1);
  }
  const [waiting, ...more] = forged.filter(({ closed }) => !closed);
  expect([waiting?.received, more.length]).toEqual(["", 1]);

  const valid: Client[] = [];
  for (let count = 0; count < 6; count++) valid.push(await send(listener.port, secret, 1));
  await eventually(() => valid.every(({ received }) => received.startsWith("HTTP/1.1 200 ")));

  release();
  await eventually(() => waiting?.received.match(/50304/g)?.length === 40);
  const late = await send(listener.port, forgedJwt(), 1);
  await eventually(() => late.received.includes("50304"));
  await listener.drain(0);
});
