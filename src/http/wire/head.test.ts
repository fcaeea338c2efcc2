import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ChunkedBody } from "./body.ts";
import { type Head, Heads, parseHead } from "./head.ts";
import { WireFault } from "./wire-fault.ts";

const parse = (...lines: string[]) => parseHead(lines.join("\r\n"));
const good = (...lines: string[]): Head => {
  const head = parse(...lines);
  if (head instanceof WireFault) throw new Error(head.message);
  return head;
};

describe("a request's head", () => {
  test("is read into method, path and headers", () => {
    const head = good("POST /plants?x=1 HTTP/1.1", "Host: h", "X-A:  b c\t", "x-a: d", "Content-Length: 12");
    expect(head).toMatchObject({
      method: "POST",
      path: "/plants",
      contentLength: 12,
      isChunked: false,
      keepsAlive: true,
    });
    expect(head.header("x-a")).toBe("b c, d");
  });

  test("may have an absolute target, with or without a path", () => {
    expect(good("GET http://other:80/livez HTTP/1.1", "Host: h").path).toBe("/livez");
    expect(good("GET HTTP://other HTTP/1.1", "Host: h").path).toBe("/");
    const withQuery = good("GET http://127.0.0.1:3000?x=1 HTTP/1.1", "Host: h");
    expect(withQuery).toMatchObject({ path: "/", query: "x=1" });
  });

  test("says whether the connection persists", () => {
    expect(good("GET / HTTP/1.1", "Host: h", "Connection: x, Close").keepsAlive).toBe(false);
    expect(good("GET / HTTP/1.1", "Host: h", "Connection: close-not").keepsAlive).toBe(true);
    expect(good("GET / HTTP/1.0").keepsAlive).toBe(false);
  });

  test("has a host, with or without a port", () => {
    const good = ["", "a%20b.example", "h:", "127.0.0.1:80", "[::1]", "[::ffff:1.2.3.4]:3000"];
    const bad = ["a b@c", "x:80:80", "[", "x:abc", "%zz", "[::1", "::1", "[:::]", "a/b"];
    const isAccepted = (host: string) => !(parse("GET / HTTP/1.1", `Host: ${host}`) instanceof WireFault);
    expect([...good, ...bad].filter(isAccepted)).toEqual(good);
  });

  test("may have a hundred headers", () => {
    const withHeaders = (count: number) => ["GET / HTTP/1.1", "Host: h", ...Array(count - 1).fill("A: b")];
    expect(good(...withHeaders(100)).header("a")).toStartWith("b, b");
    expect(parse(...withHeaders(101))).toMatchObject({ kind: "head-too-large" });
  });

  test("may expect 100-continue, in any notation of a list, and nothing else", () => {
    const good = ["100-continue", "100-CONTINUE", "", "\t "];
    const bad = ["x", "100-continued", "100-continue;q=1", '"100-continue"', "100-continue 100-continue"];
    const member = fc.constantFrom(...good, ...bad);
    const separator = fc.constantFrom(",", " ,\t", "\r\nExpect:", "\r\nExpect: ");
    /** As RFC 9110 has it: what it expects, of a list whose empty members mean nothing. */
    const expected = (value: string) => {
      const members = value.split(/,|\r\nExpect:/).map((text) => text.trim().toLowerCase());
      const others = members.filter((text) => text !== "" && text !== "100-continue");
      if (others.length > 0) return "expectation-failed";
      return members.includes("100-continue");
    };
    const list = fc.array(fc.tuple(member, separator), { maxLength: 3 });
    fc.assert(
      fc.property(list, member, (parts, last) => {
        const value = parts.flat().join("") + last;
        const head = parse("GET / HTTP/1.1", "Host: h", `Expect: ${value}`);
        if (head instanceof WireFault) expect(head).toMatchObject({ head: { method: "GET" } });
        expect(head instanceof WireFault ? head.kind : head.expectsContinue).toBe(expected(value));
      }),
      { numRuns: 1000 },
    );
  });

  test("may have any Expect in HTTP/1.0, where it means nothing", () => {
    expect(good("POST / HTTP/1.0", "Expect: x").expectsContinue).toBe(false);
    expect(good("POST / HTTP/1.0", "Expect: 100-continue").expectsContinue).toBe(false);
  });

  test("that is not HTTP/1.1 is refused for that, whatever it expects", () => {
    expect(parse("GET / HTTP/1.1", "Expect: x")).toMatchObject({ kind: "not-http" });
  });

  test("is refused if it could be read in two ways", () => {
    const heads: [string, ...string[]][] = [
      ["no version", "GET /"],
      ["a target whose host is none", "GET http://x:abc/ HTTP/1.1", "Host: h"],
      ["HTTP/2", "GET / HTTP/2.0", "Host: h"],
      ["two spaces", "GET  / HTTP/1.1", "Host: h"],
      ["a control character in the target", "GET /\u0001 HTTP/1.1", "Host: h"],
      ["no host", "GET / HTTP/1.1"],
      ["two hosts", "GET / HTTP/1.1", "Host: a", "Host: b"],
      ["a space before the colon", "GET / HTTP/1.1", "Host : h"],
      ["a folded header", "GET / HTTP/1.1", "Host: h", " folded"],
      ["a header without a name", "GET / HTTP/1.1", "Host: h", ": x"],
      ["an empty line among the headers", "GET / HTTP/1.1", "Host: h", ""],
      ["a bare line feed", "GET / HTTP/1.1", "Host: h\nX: y"],
      ["a bare carriage return", "GET / HTTP/1.1", "Host: h\rXY: z"],
      ["a NUL", "GET / HTTP/1.1", "Host: h", "X: \u0000"],
      ["two lengths", "POST / HTTP/1.1", "Host: h", "Content-Length: 1", "Content-Length: 1"],
      ["a list of lengths", "POST / HTTP/1.1", "Host: h", "Content-Length: 1, 1"],
      ["a signed length", "POST / HTTP/1.1", "Host: h", "Content-Length: +1"],
      ["a length in hex", "POST / HTTP/1.1", "Host: h", "Content-Length: 0x1"],
      ["an empty length", "POST / HTTP/1.1", "Host: h", "Content-Length:"],
      ["a length beyond all reason", "POST / HTTP/1.1", "Host: h", "Content-Length: 9999999999999999"],
      ["length and chunks", "POST / HTTP/1.1", "Host: h", "Content-Length: 1", "Transfer-Encoding: chunked"],
      ["another coding", "POST / HTTP/1.1", "Host: h", "Transfer-Encoding: gzip, chunked"],
      [
        "chunked twice",
        "POST / HTTP/1.1",
        "Host: h",
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: chunked",
      ],
      ["a disguised coding", "POST / HTTP/1.1", "Host: h", "Transfer-Encoding: \u000bchunked"],
      ["chunks in HTTP/1.0", "POST / HTTP/1.0", "Transfer-Encoding: chunked"],
      ["a hundred and one headers", "GET / HTTP/1.1", "Host: h", ...Array(100).fill("A: b")],
    ];
    const isAccepted = ([, ...lines]: string[]) => !(parse(...lines) instanceof WireFault);
    expect(heads.filter(isAccepted).map(([what]) => what)).toEqual([]);
  });
});

describe("a chunked body", () => {
  const whole = '4\r\nPlan\r\n2;ext="x"\r\nts\r\n0\r\nTrailer: x\r\n\r\nGET';

  test("is assembled, however it is split", () => {
    for (let cut = 1; cut < whole.length; cut++) {
      const body = new ChunkedBody(100);
      const first = body.push(Buffer.from(whole.slice(0, cut)));
      const result = first ?? body.push(Buffer.from(whole.slice(cut)));
      if (result === undefined || result instanceof WireFault) throw new Error(`cut at ${cut}`);
      expect(result.body.toString()).toBe("Plants");
      expect("GET".startsWith(result.rest.toString())).toBe(true);
    }
  });

  test("is refused at the limit, before the chunk has arrived", () => {
    expect(new ChunkedBody(5).push(Buffer.from("6\r\n"))).toMatchObject({ kind: "body-too-large" });
    expect(new ChunkedBody(5).push(Buffer.from("3\r\nabc\r\n3\r\n"))).toMatchObject({
      kind: "body-too-large",
    });
  });

  test("is refused if it could be read in two ways, or would not end", () => {
    const sizes = ["5 ", "5;", "5;[", " 5", "5 ;x", "5; x", "5;x=", '5;x="', "000000005"];
    const bodies = [
      ...sizes.map((size) => `${size}\r\n`),
      "0\r\nContent-Length: 5\r\n",
      "0\r\nX: y\n\nGET /x HTTP/1.1\nHost: h\r\n",
      `1;${"x".repeat(1000)}\r\na\r\n`.repeat(50),
      "x\r\n",
      "5\n",
      "\r\n",
      "123456789\r\n",
      "2\r\nabc\r\n",
      "2\r\nab\n\n\r\n",
      "4;\u0001\r\n",
      "1".repeat(2000),
      `0\r\n${"Trailer: x\r\n".repeat(2000)}`,
    ];
    const isAccepted = (text: string) =>
      !(new ChunkedBody(1000).push(Buffer.from(text)) instanceof WireFault);
    expect(bodies.filter(isAccepted)).toEqual([]);
  });
});

describe("a head that comes again is not parsed again", () => {
  const textOf = (path: string) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`;
  const read = (heads: Heads, path: string, isStranger = false) =>
    heads.read(Buffer.from(textOf(path)), 0, textOf(path).length - 4, isStranger);
  const isKnown = (heads: Heads, path: string) => {
    const first = read(heads, path);
    return first === read(heads, path);
  };

  test("unless strangers alone have sent it", () => {
    const heads = new Heads();
    for (let time = 0; time < 100; time++) read(heads, "/", true);
    expect(isKnown(heads, "/")).toBe(false);
    expect(read(heads, "/")).toEqual(read(heads, "/"));
    for (let time = 0; time < 100; time++) read(heads, "/");
    expect(isKnown(heads, "/")).toBe(true);
  });

  test("after many that differed, too, and with others in turn", () => {
    const heads = new Heads();
    for (let one = 0; one < 10_000; one++) read(heads, `/${one}`);
    for (let time = 0; time < 1000; time++) for (const path of ["/a", "/b", "/c"]) read(heads, path);
    expect(["/a", "/b", "/c"].map((path) => isKnown(heads, path))).toEqual([true, true, true]);
  });
});
