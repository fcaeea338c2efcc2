import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { Authority } from "./certificates.ts";
import {
  accessToken,
  connectTo,
  eventually,
  rawPost,
  sendRaw,
  startTestService,
  storedPlants,
  type Target,
  type TestService,
  temporaryFolder,
  untilContinue,
} from "./harness.ts";

const head = `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${accessToken}\r\nContent-Type: application/json\r\n`;
const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]));
const errors = (text: string) => [...text.matchAll(/"error":(\d+)/g)].map((match) => Number(match[1]));
let nextId = 1000;

const untilAnswered = (received: () => string) => eventually(() => statuses(received()).at(-1) === 200);

async function open(target: Target): Promise<Socket> {
  const connected = Promise.withResolvers<void>();
  const socket = connectTo(target, false, connected.resolve);
  await connected.promise;
  return socket;
}

// Both listeners run on the same HTTP stack, and both serve POST /plants.
describe.each(["public", "operator", "encrypted"] as const)("on the %s listener,", (listener) => {
  const page = listener === "operator" ? "/" : "/docs";
  const folder = temporaryFolder();
  let running: TestService;
  let port: Target = 0;
  beforeAll(async () => {
    // Long enough for the bodies that other tests send in parts on a busy machine.
    const limits = { "body-timeout": "2s", "max-body-bytes": "2000" };
    if (listener === "encrypted") {
      const authority = new Authority(folder.path, "authority");
      const { cert, key } = authority.issue("server");
      running = await startTestService({ ...limits, "tls-cert": cert, "tls-key": key });
      port = { port: running.port, ca: readFileSync(authority.path, "utf8") };
    } else {
      running = await startTestService(limits);
      port = listener === "public" ? running.port : Number(new URL(running.operatorUrl).port);
    }
  });
  afterAll(async () => {
    await running[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
  const livez = () => sendRaw(port, ["GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"]);

  describe("requests arrive", () => {
    test("split at every byte", async () => {
      const whole = rawPost(`{"id":${nextId++},"name":"cut"}`);
      const cuts = Array.from({ length: whole.length - 1 }, (_, index) => index + 1);
      const answers = await Promise.all(
        cuts.map((at) => sendRaw(port, [whole.slice(0, at), 20, whole.slice(at)])),
      );
      for (const { text } of answers) expect(statuses(text)).toEqual([200]);
    });

    test("one byte at a time", async () => {
      const { text } = await sendRaw(
        port,
        [...rawPost('{"id":1,"name":"slow"}')].flatMap((letter) => [letter, 0]),
      );
      expect(statuses(text)).toEqual([200]);
    });

    test("pipelined on one connection, and are answered in order", async () => {
      const ids = Array.from({ length: 50 }, () => nextId++);
      const { text } = await sendRaw(port, [
        ids.map((id) => rawPost(`{"id":${id},"name":"n${id}"}`)).join(""),
        // Each of them waits for the fsync of the one before.
        (received) => eventually(() => received().includes(`"name":"n${ids.at(-1)}"`)),
      ]);
      expect([...text.matchAll(/"name":"n(\d+)"/g)].map((match) => Number(match[1]))).toEqual(ids);
    });

    test("pipelined, with a refused one in between", async () => {
      const { text } = await sendRaw(port, [
        rawPost(`{"id":${nextId++},"name":"a"}`) + rawPost("{") + rawPost(`{"id":${nextId++},"name":"b"}`),
      ]);
      expect(statuses(text)).toEqual([200, 400, 200]);
    });

    test("pipelined by the thousand, without growing the stack or the memory", async () => {
      const { text } = await sendRaw(port, ["GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(20_000)]);
      expect(statuses(text)).toHaveLength(20_000);
    });

    test("by the hundred, from a client that then closes its half", async () => {
      const text = await new Promise<string>((resolve, reject) => {
        let received = "";
        const socket = connectTo(port, true, () =>
          socket.end("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(500)),
        );
        socket.on("data", (bytes) => {
          received += bytes;
        });
        socket.on("end", () => resolve(received));
        socket.on("error", reject);
      });
      expect(statuses(text)).toHaveLength(500);
    });

    test("with an empty line before them", async () => {
      expect(statuses((await sendRaw(port, [`\r\n${rawPost("{}")}`])).text)).toEqual([400]);
    });

    test("in chunks, with extensions and trailers", async () => {
      const body = `1\r\n{\r\n18;x=y\r\n"id":${nextId++},"name":"chunk"\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n`;
      const { text } = await sendRaw(port, [
        `${head}Transfer-Encoding: chunked\r\n\r\n`,
        20,
        body,
        rawPost("{}"),
      ]);
      expect(statuses(text)).toEqual([200, 400]);
    });

    test("in HTTP/1.0, and the connection closes", async () => {
      const body = `{"id":${nextId++},"name":"old"}`;
      const text = `POST /plants HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer ${accessToken}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      const answer = await sendRaw(port, [text]);
      expect([statuses(answer.text), answer.closed]).toEqual([[200], true]);
    });

    test("with Expect: 100-continue, which is sent only to those who may continue", async () => {
      const body = `{"id":${nextId++},"name":"wait"}`;
      const lines = `Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`;
      const { text } = await sendRaw(port, [head + lines, untilContinue, body, untilAnswered]);
      expect(statuses(text)).toEqual([100, 200]);
      const denied = await sendRaw(port, [`POST /plants HTTP/1.1\r\nHost: localhost\r\n${lines}`]);
      expect(statuses(denied.text)).toEqual([401]);
    });

    test("from a client that closes its half and waits, even for pipelined ones", async () => {
      const ids = [nextId++, nextId++, nextId++];
      const text = await new Promise<string>((resolve, reject) => {
        let received = "";
        const socket = connectTo(port, true, () =>
          socket.end(ids.map((id) => rawPost(`{"id":${id},"name":"half"}`)).join("")),
        );
        socket.on("data", (bytes) => {
          received += bytes;
        });
        socket.on("end", () => resolve(received));
        socket.on("error", reject);
      });
      expect(statuses(text)).toEqual([200, 200, 200]);
    });
  });

  test("a host may be an address, and have a port", async () => {
    const names = listener === "public" ? ["", "a%20b.example", "h:"] : [];
    for (const host of [...names, "127.0.0.1:80", "[::1]", "[::ffff:1.2.3.4]:3000"]) {
      const { text } = await sendRaw(port, [`GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`]);
      expect([host, statuses(text)]).toEqual([host, [200]]);
    }
  });

  describe("a connection persists", () => {
    test("after a refusal based on the head, whose body is skipped", async () => {
      const refused = "POST /plants HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n";
      const { text } = await sendRaw(port, [
        refused,
        20,
        "GET /",
        20,
        rawPost(`{"id":${nextId++},"name":"a"}`),
      ]);
      expect(statuses(text)).toEqual([401, 200]);
    });

    test("until the client says close", async () => {
      const answer = await sendRaw(port, [
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
      ]);
      expect([statuses(answer.text), answer.closed]).toEqual([[200], true]);
      expect(answer.text).toContain("Connection: close\r\n");
    });
  });

  describe("a connection is closed, with an Error body,", () => {
    const notHttp: [string, string][] = [
      ["a TLS greeting", "\u0016\u0003\u0001\u0002\u0000"],
      ["no host", "GET /livez HTTP/1.1\r\n\r\n"],
      [
        "length and chunks together",
        `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      ],
      ["a length twice", `${head}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
      ["a bad chunk", `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
      ["a folded header", "GET /livez HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n\r\n"],
      [
        "a trailer that hides a request",
        `${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\n\nGET /x HTTP/1.1\nHost: localhost\r\n\r\n`,
      ],
      ["a host that is none", "GET /livez HTTP/1.1\r\nHost: a b@c\r\n\r\n"],
      [
        "a chunked body that is mostly framing",
        `${head}Transfer-Encoding: chunked\r\n\r\n${`1;${"x".repeat(1000)}\r\na\r\n`.repeat(50)}`,
      ],
      ["bare line feeds", "GET /livez HTTP/1.1\nHost: localhost\n\n\r\n\r\n"],
      ["bare line feeds alone", "GET /livez HTTP/1.1\nHost: localhost\n\n"],
      ["bare carriage returns", "GET /livez HTTP/1.1\rHost: h\r\r"],
      ...["x:80:80", "[", "x:abc", "%zz", "[::1", "::1", "[:::]", "a/b"].map((host): [string, string] => [
        `the host ${host}`,
        `GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      ]),
      ["a target whose host is none", "GET http://x:abc/livez HTTP/1.1\r\nHost: localhost\r\n\r\n"],
      ...["5 ", "5;", "5;[", " 5", "5 ;x", "5; x", "5;x=", '5;x="', "0x5", "000000005"].map(
        (size): [string, string] => [
          `the chunk size ${size}`,
          `${head}Transfer-Encoding: chunked\r\n\r\n${size}\r\n{"a":\r\n0\r\n\r\n`,
        ],
      ),
      ["a length as a trailer", `${head}Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n`],
    ];
    for (const [what, text] of notHttp) {
      test(`for ${what}`, async () => {
        const answer = await sendRaw(port, [Buffer.from(text, "latin1")]);
        expect([errors(answer.text), answer.closed]).toEqual([[40030], true]);
        expect(answer.text).toContain("Content-Type: application/json");
        expect(answer.text).toContain("X-Request-Id: ");
      });
    }

    test("for a head that is too large", async () => {
      const answer = await sendRaw(port, [
        `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(17_000)}\r\n\r\n`,
      ]);
      expect([errors(answer.text), answer.closed]).toEqual([[43101], true]);
    });

    test("for the 101st header", async () => {
      const answer = await sendRaw(port, [
        `GET /livez HTTP/1.1\r\nHost: localhost\r\n${"A: b\r\n".repeat(100)}\r\n`,
      ]);
      expect([statuses(answer.text), errors(answer.text), answer.closed]).toEqual([[431], [43101], true]);
      expect(answer.text).toContain("There are more than 100 headers.");
    });

    test("for a length over the limit, before the body comes", async () => {
      const answer = await sendRaw(port, [`${head}Content-Length: 2001\r\n\r\n`]);
      expect([errors(answer.text), answer.closed]).toEqual([[41301], true]);
    });

    test("for a length over the limit, and the response can be read although the body was sent", async () => {
      const answer = await sendRaw(port, [`${head}Content-Length: 3000000\r\n\r\n${"x".repeat(3_000_000)}`]);
      expect(errors(answer.text)).toEqual([41301]);
    });

    test("for chunks over the limit", async () => {
      const answer = await sendRaw(port, [
        `${head}Transfer-Encoding: chunked\r\n\r\n400\r\n${"x".repeat(1024)}\r\n400\r\n`,
      ]);
      expect([errors(answer.text), answer.closed]).toEqual([[41301], true]);
    });

    test("for a body that does not arrive in time, however it trickles", async () => {
      const startMs = performance.now();
      const answer = await sendRaw(port, [
        `${head}Content-Length: 30\r\n\r\n`,
        450,
        "x",
        450,
        "x",
        450,
        "x",
        450,
        "x",
        450,
      ]);
      expect([errors(answer.text), answer.closed]).toEqual([[40801], true]);
      // A deadline that each byte extends would be at 3.8 s.
      expect(performance.now() - startMs).toBeLessThan(3500);
    });
  });

  test("an internal error is answered with 50001 and logged, whenever it occurs", async () => {
    const parse = JSON.parse;
    // Only escapes are read by JSON.parse, so this breaks the reading of this body alone.
    JSON.parse = () => {
      throw new TypeError("broken on purpose");
    };
    const [trace_id, span_id] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
    const request = rawPost('{"id":1,"name":"\\n"}', `traceparent: 00-${trace_id}-${span_id}-01\r\n`);
    const whole = await sendRaw(port, [request]);
    const cut = await sendRaw(port, [request.slice(0, -3), 30, request.slice(-3)]);
    JSON.parse = parse;
    for (const answer of [whole, cut]) {
      expect([errors(answer.text), answer.closed]).toEqual([[50001], true]);
      expect(answer.text).not.toContain("broken");
    }
    const lines = running.logged.map((line) => JSON.parse(line)).filter((line) => line.trace_id === trace_id);
    const [internal, failed] = [
      { message: "internal error", span_id, "exception.message": "broken on purpose" },
      { message: "failed", span_id, "error.type": "50001" },
    ];
    expect(lines).toMatchObject([internal, failed, internal, failed]);
  });

  describe("a client that goes away", () => {
    test("in the middle of a body stores nothing and leaves nothing behind", async () => {
      for (let round = 0; round < 20; round++) {
        const socket = await open(port);
        await new Promise((resolve) =>
          socket.write(`${head}Content-Length: 30\r\n\r\n{"id":99999,"na`, resolve),
        );
        socket.destroy();
      }
      expect(storedPlants(running.database).some(({ id }) => id === 99999n)).toBe(false);
      expect(statuses((await sendRaw(port, [rawPost(`{"id":${nextId++},"name":"a"}`)])).text)).toEqual([200]);
    });

    test("before the response still has its plant stored, and a retry finds it", async () => {
      const id = nextId++;
      await new Promise<void>((resolve) => {
        const socket = connectTo(port, false, () =>
          socket.write(rawPost(`{"id":${id},"name":"gone"}`), () => socket.destroy()),
        );
        socket.on("close", () => resolve());
      });
      await eventually(() => storedPlants(running.database).some((plant) => plant.id === BigInt(id)));
      const { text } = await sendRaw(port, [rawPost(`{"id":${id},"name":"gone"}`)]);
      expect(text).toContain("Idempotent-Replayed: true");
    });

    test("slowly gets its entire last response, although the connection closes after it", async () => {
      const received: Buffer[] = [];
      await new Promise<void>((resolve, reject) => {
        const socket = connectTo(port, false, () => {
          socket.write(`GET ${page} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
          socket.pause();
          setTimeout(() => socket.resume(), 1500);
        });
        socket.on("error", reject);
        socket.on("data", (bytes: Buffer) => received.push(bytes));
        socket.on("end", () => resolve());
      });
      expect(Buffer.concat(received).toString()).toEndWith("</html>\n");
    });

    test("does not delay others with its pipelined requests", async () => {
      const pipelined = 1000;
      const ask = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
      const [flood, other] = await Promise.all([open(port), open(port)]);
      let answers = "";
      flood.on("data", (bytes: Buffer) => {
        answers += bytes;
      });
      const before = new Promise<number>((resolve) => {
        other.once("data", () => resolve(statuses(answers).length));
      });
      flood.write(ask.repeat(pipelined));
      // On the service's own thread: it reads neither before both are written, and then the flood first.
      other.write(ask);
      // A turn of the event loop handles 64 of one connection; without that limit some 300 answers and more come first.
      expect(await before).toBeLessThan(200);
      await eventually(() => statuses(answers).length === pipelined);
      flood.destroy();
      other.destroy();
    });

    test("without reading its responses is not served forever", async () => {
      const socket = await open(port);
      socket.pause();
      const before = process.memoryUsage.rss();
      const requests = `GET ${page} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(2000);
      for (let round = 0; round < 10; round++) socket.write(requests);
      await Bun.sleep(300);
      expect(process.memoryUsage.rss() - before).toBeLessThan(150_000_000);
      expect(statuses((await livez()).text)).toEqual([200]);
      socket.destroy();
    });
  });
});
