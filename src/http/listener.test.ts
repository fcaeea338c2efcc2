import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { eventually } from "../../test/support/eventually.ts";
import { fake } from "../../test/support/fake.ts";
import { token, secret as tokenSecret } from "../../test/support/gate.ts";
import { sendRaw, untilContinue } from "../../test/support/raw-http.ts";
import { startListener } from "../../test/support/test-listener.ts";
import { Gate } from "../access/gate.ts";
import type { JwtRefusal, JwtVerifier } from "../access/jwt-verifier.ts";
import type { Caller } from "../access/scopes.ts";
import { digestOf } from "../access/token-secret.ts";
import { StoreUnavailable } from "../plants/plant-store.ts";
import { refusalsOf } from "../telemetry/metrics.ts";
import type { Exchange } from "./exchange.ts";
import { json, refuse, stream } from "./reply.ts";
import { route } from "./route.ts";

const secret = "a-preset-token-of-my-own";
const otherSecret = "a-token-of-another-scope";
const jwt = "eyJ.eyJ.signature";

/** A listener whose JWTs are unverified until the test decides. */
function start() {
  let welcomed = 0;
  const routes = [
    route("GET", "/", "operator", () => {
      welcomed++;
      return json("welcome");
    }),
    route("POST", "/", "operator", (exchange) => {
      exchange.readBody({ bodyReceived: () => exchange.send(json("stored")) });
      return undefined;
    }),
  ];
  const preset = { name: "preset", scopes: ["operator"] as const, expiresAtMs: undefined };
  const jwtCaller: Caller = {
    name: "jwt",
    scopes: ["operator"],
    expiresAtMs: Number.POSITIVE_INFINITY,
    hasJwt: true,
  };
  const decided = Promise.withResolvers<Caller | JwtRefusal>();
  const asked: (() => boolean)[] = [];
  const jwts = { isAccepted: false, isPlausible: true };
  const verifier = fake<JwtVerifier>({
    recall: () => (jwts.isAccepted ? jwtCaller : undefined),
    isPlausible: () => jwts.isPlausible,
    verify(_, isAwaited) {
      asked.push(isAwaited);
      return decided.promise;
    },
  });
  const presets = [
    { ...preset, digest: digestOf(secret) },
    { ...preset, scopes: ["metrics"] as const, digest: digestOf(otherSecret) },
  ];
  const gate = new Gate(presets, verifier);
  gate.update([]);
  return {
    ...startListener(routes, gate),
    gate,
    jwts,
    asked,
    decide: decided.resolve,
    /** How many requests have reached the handler of GET. */
    welcomed: () => welcomed,
  };
}

const get = (token: string) => `GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${token}\r\n\r\n`;

test("a caller that is denied reaches no handler", async () => {
  await using started = start();
  const { port, welcomed } = started;
  const answers = await sendRaw(port, [get("unknown") + get(otherSecret)]);
  expect(answers.text.match(/"error":\d+/g)).toEqual(['"error":40102', '"error":40301']);
  expect(welcomed()).toBe(0);
});

test("any number of requests wait for a verification, and those with another token do not", async () => {
  await using started = start();
  const { port, asked, decide } = started;
  const forged = Array.from({ length: 6 }, () => sendRaw(port, [get(jwt).repeat(40)]));
  await eventually(() => asked.length === 6);
  expect((await sendRaw(port, [get(secret)])).text).toStartWith("HTTP/1.1 200 ");
  decide("issuer-unavailable");
  for (const { text } of await Promise.all(forged)) expect(text.match(/"error":50304/g)).toHaveLength(40);
});

test("a request is no longer awaited once its client has gone, which is no wrong token", async () => {
  await using started = start();
  const { port, asked, decide, metrics } = started;
  const socket = connect(port, "127.0.0.1", () => socket.write(get(jwt)));
  await eventually(() => asked[0]?.() === true);
  socket.resetAndDestroy();
  await eventually(() => asked[0]?.() === false);
  // What the verifier returns if nobody waits.
  decide("bad-credentials");
  expect((await sendRaw(port, [get(secret)])).text).toStartWith("HTTP/1.1 200 ");
  expect(refusalsOf(metrics, "public", 40102).value).toBe(0);
});

describe("a body whose JWT was accepted with the head", () => {
  const head = get(jwt)
    .replace("GET", "POST")
    .replace(/\r\n$/, "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");

  type Started = ReturnType<typeof start>;
  const forget = ({ jwts, gate }: Started, isPlausible: boolean) => {
    Object.assign(jwts, { isAccepted: false, isPlausible });
    gate.forgetJwts();
  };
  test.each<[string, (started: Started) => void, string]>([
    ["is received", () => {}, "stored"],
    [
      "is received once the JWT has been verified with keys that changed",
      (started) => {
        forget(started, true);
        started.jwts.isAccepted = true;
      },
      "stored",
    ],
    [
      "is to be sent again if that cannot be verified",
      (started) => {
        forget(started, true);
        started.decide("issuer-unavailable");
      },
      '"error":50304',
    ],
    ["is refused if the JWT can no longer be valid", (started) => forget(started, false), '"error":40102'],
  ])("%s", async (_, meanwhile, expected) => {
    await using started = start();
    started.jwts.isAccepted = true;
    const wait = async (received: () => string) => {
      await untilContinue(received);
      meanwhile(started);
    };
    expect((await sendRaw(started.port, [head, wait, "{}"])).text).toContain(expected);
  });
});

test("of a secret below a base path, the log has the route alone", async () => {
  const file = route("GET", "/files/{secret}", "none", () => json("file"));
  await using listener = startListener([file], new Gate([]), { basePath: "/garden" });
  const { text } = await sendRaw(listener.port, [
    "GET /garden/files/hidden-0123456789 HTTP/1.1\r\nHost: h\r\n\r\n",
  ]);
  expect(text).toStartWith("HTTP/1.1 200 ");
  expect(listener.lines.map((line) => line["url.path"])).toEqual(["/garden/files/{secret}"]);
});

describe("a streamed response that fails after its first piece", () => {
  const request = "GET /stream HTTP/1.1\r\nHost: h\r\nX-Request-Id: cut-off\r\n\r\n";

  /** A listener whose `/stream` fails so, after what happens meanwhile. */
  function startFailing(error: Error, meanwhile = async (_exchange: Exchange) => {}) {
    async function* pieces(exchange: Exchange) {
      yield "the first piece";
      await meanwhile(exchange);
      throw error;
    }
    const failing = route("GET", "/stream", "none", async (exchange) =>
      stream("text/plain", "plants.txt", pieces(exchange)),
    );
    return startListener([failing], new Gate([]));
  }

  test("is cut off, and has a line in the log if the store is unavailable", async () => {
    await using listener = startFailing(new StoreUnavailable("gone"));
    const { text } = await sendRaw(listener.port, [request]);
    expect(text).toStartWith("HTTP/1.1 200 ");
    expect(text).toEndWith("the first piece\r\n");
    expect(listener.lines.filter(({ level }) => level === "warn")).toMatchObject([
      {
        message: "failed",
        "plant_store.request_id": "cut-off",
        "url.path": "/stream",
        "http.response.status_code": 200,
        "error.type": "50302",
      },
    ]);
  });

  test("has the two lines of an internal error", async () => {
    await using listener = startFailing(new Error("unforeseen"));
    await sendRaw(listener.port, [request]);
    expect(listener.lines.filter(({ level }) => level === "warn" || level === "error")).toMatchObject([
      { message: "internal error", "plant_store.request_id": "cut-off", "exception.message": "unforeseen" },
      { message: "failed", "plant_store.request_id": "cut-off", "error.type": "50001" },
    ]);
  });

  test("has no such line if its client had gone before", async () => {
    const failed = Promise.withResolvers<void>();
    await using listener = startFailing(new StoreUnavailable("gone"), async (exchange) => {
      await eventually(() => !exchange.isOpen);
      failed.resolve();
    });
    const socket = connect(listener.port, "127.0.0.1", () => socket.write(request));
    socket.on("data", () => socket.resetAndDestroy());
    await failed.promise;
    expect((await sendRaw(listener.port, [get(secret)])).text).toStartWith("HTTP/1.1 404 ");
    expect(listener.lines.map(({ message }) => message)).toEqual(["answered", "refused"]);
  });
});

test("what was read while its token was revoked is not sent, but a write is confirmed", async () => {
  const asked: string[] = [];
  const read = Promise.withResolvers<void>();
  const handle = (exchange: Exchange) => {
    asked.push(exchange.method);
    return read.promise.then(() => json("plants"));
  };
  const routes = [route("GET", "/", "operator", handle), route("POST", "/", "operator", handle)];
  const gate = new Gate([]);
  gate.update([{ ...token, scopes: ["operator"], expiresAtMs: undefined }]);
  await using listener = startListener(routes, gate);
  const requests = ["GET", "POST"].map((method) =>
    sendRaw(listener.port, [get(tokenSecret).replace("GET", method)]),
  );
  await eventually(() => asked.length === 2);
  gate.update([]);
  read.resolve();
  const [reading, writing] = await Promise.all(requests);
  expect(reading?.text).toContain('"error":40102');
  expect(reading?.text).not.toContain("plants");
  expect(writing?.text).toEndWith('"plants"');
});

describe("a response that is sent later", () => {
  let asked = 0;
  const busy = route("GET", "/", "none", (exchange) => {
    asked++;
    exchange.sendLater(refuse({ kind: "too-busy" }), 1000);
    return undefined;
  });
  const request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

  test("is sent when its time has come, and at once when the listener drains", async () => {
    const startedMs = performance.now();
    const listener = startListener([busy], new Gate([]));
    const { text } = await sendRaw(listener.port, [request]);
    expect(performance.now() - startedMs).toBeGreaterThan(990);
    expect(text).toStartWith("HTTP/1.1 503 ");
    const before = asked;
    const drained = sendRaw(listener.port, [request]);
    await eventually(() => asked > before);
    await listener.drain(60_000);
    expect((await drained).text).toContain("\r\nConnection: close\r\n");
  });

  test("is not sent once its client has gone", async () => {
    await using listener = startListener([busy], new Gate([]));
    const { metrics, port } = listener;
    const before = asked;
    const socket = connect(port, "127.0.0.1", () => socket.write(request));
    await eventually(() => asked > before);
    socket.resetAndDestroy();
    await eventually(() => metrics.series("plant_store_connections", 'listener="public"').value === 0);
    expect((await sendRaw(port, [request])).text).toStartWith("HTTP/1.1 503 ");
    expect(refusalsOf(metrics, "public", 50301).value).toBe(1);
  });
});
