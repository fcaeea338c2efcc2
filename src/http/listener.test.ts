import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { eventually } from "../../test/support/eventually.ts";
import { fake } from "../../test/support/fake.ts";
import { sendRaw, untilContinue } from "../../test/support/raw-http.ts";
import { startListener } from "../../test/support/test-listener.ts";
import { Gate } from "../access/gate.ts";
import type { JwtRefusal, JwtVerifier } from "../access/jwt-verifier.ts";
import type { JwtCaller } from "../access/provider-keys.ts";
import { digestOf } from "../access/token-secret.ts";
import { StoreUnavailable } from "../plants/plant-store.ts";
import { refusalsOf } from "../telemetry/metrics.ts";
import { route } from "./route.ts";
import type { StreamedResponse } from "./streaming.ts";

const secret = "a-preset-token-of-my-own";
const otherSecret = "a-token-of-another-scope";
const jwt = "eyJ.eyJ.signature";

/** A listener whose JWTs are unverified until the test decides. */
function start() {
  let welcomed = 0;
  const routes = [
    route("GET", "/", "operator", (exchange) => {
      welcomed++;
      exchange.respondJson("welcome");
    }),
    route("POST", "/", "operator", (exchange) =>
      exchange.readBody({ bodyReceived: () => exchange.respondJson("stored") }),
    ),
  ];
  const preset = { name: "preset", scopes: ["operator"] as const, expiresAtMs: undefined };
  const jwtCaller: JwtCaller = {
    name: "jwt",
    scopes: ["operator"],
    expiresAtMs: Number.POSITIVE_INFINITY,
    hasJwt: true,
  };
  const decided = Promise.withResolvers<JwtCaller | JwtRefusal>();
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
    ["is to be sent again if the keys changed", (started) => forget(started, true), '"error":50304'],
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
  const file = route("GET", "/files/{secret}", "none", (exchange) => exchange.respondJson("file"));
  await using listener = startListener([file], new Gate([]), { basePath: "/garden" });
  const { text } = await sendRaw(listener.port, [
    "GET /garden/files/hidden-0123456789 HTTP/1.1\r\nHost: h\r\n\r\n",
  ]);
  expect(text).toStartWith("HTTP/1.1 200 ");
  expect(listener.lines.map((line) => line["url.path"])).toEqual(["/garden/files/{secret}"]);
});

describe("a streamed response that fails after its first piece", () => {
  /** What is sent of a `/stream` that fails so, after what happens meanwhile, and the lines of the log about it. */
  async function fail(error: Error, meanwhile = (_stream: StreamedResponse) => {}) {
    const failing = route("GET", "/stream", "none", async (exchange) => {
      const stream = exchange.stream("text/plain", {}, () => true);
      if (stream === undefined) return;
      await stream.write("the first piece");
      meanwhile(stream);
      throw error;
    });
    await using listener = startListener([failing], new Gate([]));
    const request = "GET /stream HTTP/1.1\r\nHost: h\r\nX-Request-Id: cut-off\r\n\r\n";
    const { text } = await sendRaw(listener.port, [request]);
    return { text, lines: listener.lines };
  }

  test("is cut off, and has a line in the log if the store is unavailable", async () => {
    const { text, lines } = await fail(new StoreUnavailable("gone"));
    expect(text).toStartWith("HTTP/1.1 200 ");
    expect(text).toEndWith("the first piece\r\n");
    expect(lines.filter(({ level }) => level === "error")).toMatchObject([
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
    const { lines } = await fail(new Error("unforeseen"));
    expect(lines.filter(({ level }) => level === "error")).toMatchObject([
      { message: "internal error", "plant_store.request_id": "cut-off", "exception.message": "unforeseen" },
      { message: "failed", "plant_store.request_id": "cut-off", "error.type": "50001" },
    ]);
  });

  test("has no such line if it had been cut off before", async () => {
    const { lines } = await fail(new StoreUnavailable("gone"), (stream) => stream.abort());
    expect(lines.map(({ message }) => message)).toEqual(["answered"]);
  });
});
