import { afterEach, expect, test } from "bun:test";
import type { Socket } from "bun";
import {
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  type JWTVerifyOptions,
  jwtVerify,
  SignJWT,
} from "jose";
import { eventually, sendRaw, untilContinue } from "../../test/harness.ts";
import { Gate } from "../access/gate.ts";
import { JwtVerifier } from "../access/jwt-verifier.ts";
import { digestOf } from "../access/tokens.ts";
import type { Intake } from "../plants/intake.ts";
import { Counters } from "../telemetry/counters.ts";
import { createEvents } from "../telemetry/events.ts";
import { createLog } from "../telemetry/log.ts";
import type { Readiness } from "./health.ts";
import { Listener } from "./listener.ts";
import { route } from "./route.ts";

const kind = { name: "public", inUseRemedy: "", basePath: "", hint: "" } as const;
const listenerSettings = {
  host: "127.0.0.1",
  port: 0,
  baseUrl: undefined,
  hosts: undefined,
  bodyBytesMax: 1000,
  bodyTimeoutMs: 10_000,
  logRequests: "none" as const,
  corsOrigins: [],
  trustedProxies: [],
  tls: undefined,
  connectionsMax: 8,
};
const settings = { issuer: "https://id.example.org", audience: "plants", clientId: undefined };
const secret = "a-preset-token-of-my-own";
const routes = [
  route("GET", "/", "operator", (exchange) => exchange.json("welcome")),
  route("POST", "/", "operator", (exchange) =>
    exchange.readBody({ received: () => exchange.json("stored") }),
  ),
];

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate();
});

/** A listener whose provider does not respond until `release` is called. */
function start() {
  const { promise: fetched, resolve: release } = Promise.withResolvers<void>();
  const asked: (() => boolean)[] = [];
  const verifier = new JwtVerifier(settings, { current: undefined, fetchUnknown: () => fetched });
  const verify = verifier.verify.bind(verifier);
  verifier.verify = (jwt, isAwaited) => {
    asked.push(isAwaited);
    return verify(jwt, isAwaited);
  };
  return { ...listen(verifier), asked, release };
}

function listen(verifier: JwtVerifier) {
  const preset = { name: "preset", scopes: ["operator"] as const, digest: digestOf(secret) };
  const gate = new Gate([{ ...preset, expiresAtMs: undefined }], verifier);
  const log = createLog({ level: "error", format: "json", colour: false, write() {} });
  const events = createEvents(log, new Counters(), Date.now);
  const parts = { gate, events, intake: {} as Intake, readiness: {} as Readiness };
  return { gate, listener: new Listener(routes, parts, kind, listenerSettings) };
}

function forgedJwt(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iss: settings.issuer, aud: settings.audience, exp: 1e11 };
  return `${part({ alg: "ES256", typ: "JWT" })}.${part(claims)}.${part({})}`;
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

test("any number of requests wait for a verification; none is refused for it, and other tokens do not wait", async () => {
  const { listener, release } = start();
  const forged: Client[] = [];
  for (let count = 0; count < 6; count++) forged.push(await send(listener.port, forgedJwt(), 40));
  for (let count = 0; count < 3; count++) {
    const valid = await send(listener.port, secret, 1);
    await eventually(() => valid.received.startsWith("HTTP/1.1 200 "));
  }
  expect(forged.map(({ received, closed }) => [received, closed])).toEqual(Array(6).fill(["", false]));

  release();
  for (const { received } of forged) expect(received).not.toContain("50301");
  await eventually(() => forged.every(({ received }) => received.match(/50304/g)?.length === 40));
  await listener.drain(0);
});

test("a request is no longer awaited once its client has gone", async () => {
  const { listener, asked, release } = start();
  const client = await send(listener.port, forgedJwt(), 1);
  await eventually(() => asked.length === 1);
  expect(asked[0]?.()).toBe(true);
  for (const socket of sockets.splice(0)) socket.terminate();
  await eventually(() => asked[0]?.() === false);
  release();
  expect(client.received).toBe("");
  await listener.drain(0);
});

test("a body that arrives while the keys change is to be sent again, and then its token decides", async () => {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const provider = {
    keys: [{ ...(await exportJWK(publicKey)), alg: "ES256" }],
    authorizationEndpoint: undefined,
    tokenEndpoint: undefined,
  };
  const find = createLocalJWKSet(provider);
  const keySet = () => ({
    provider,
    verify: (token: string, options: JWTVerifyOptions) => jwtVerify(token, find, options),
    accepted: new Map(),
  });
  const keys = { current: keySet(), fetchUnknown: async () => {} };
  const { gate, listener } = listen(new JwtVerifier(settings, keys));
  const jwt = await new SignJWT({ scope: "operator" })
    .setProtectedHeader({ alg: "ES256", typ: "at+jwt" })
    .setIssuer(settings.issuer)
    .setAudience(settings.audience)
    .setSubject("alice")
    .setExpirationTime("5m")
    .sign(privateKey);
  const head = `POST / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${jwt}\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`;
  const changeKeys = async (received: () => string) => {
    await untilContinue(received);
    keys.current = keySet();
    gate.forgetJwts();
  };
  expect((await sendRaw(listener.port, [head, changeKeys, "{}"])).text).toContain("50304");
  expect((await sendRaw(listener.port, [head, untilContinue, "{}"])).text).toContain("stored");
  await listener.drain(0);
});
