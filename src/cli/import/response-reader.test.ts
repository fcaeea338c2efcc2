import { describe, expect, test } from "bun:test";
import { ResponseError, ResponseReader } from "./response-reader.ts";

/** The responses in the text, which arrives in pieces of this length. */
async function read(text: string, pieceBytes: number): Promise<[number, string, string | null, boolean][]> {
  const reader = new ResponseReader();
  const responses = [];
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    reader.push(bytes.subarray(at, at + pieceBytes));
    for (let response = reader.next(); response !== undefined; response = reader.next())
      responses.push(response);
  }
  return Promise.all(
    responses.map(async (response) => [
      response.status,
      await response.text(),
      response.headers.get("X-Mark"),
      response.keepAlive,
    ]),
  );
}

describe("responses are parsed in any split of their bytes", () => {
  const plain = "HTTP/1.1 200 OK\r\nx-mark:  é \r\nContent-Length: 3\r\n\r\né!";
  const chunked =
    "HTTP/1.1 503 Service Unavailable\r\nTransfer-Encoding: chunked\r\nX-Mark: a\r\nX-MARK: b\r\n\r\n" +
    "2;note=x\r\nab\r\n1\r\nc\r\n0\r\nTrailer: t\r\n\r\n";
  const early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: Close\r\n\r\n";
  for (const pieceBytes of [1, 2, 7, 1000]) {
    test(`in pieces of ${pieceBytes}`, async () => {
      expect(await read(plain + chunked + plain + early, pieceBytes)).toEqual([
        [200, "é!", "Ã©", true],
        [503, "abc", "a, b", true],
        [200, "é!", "Ã©", true],
        [204, "", null, false],
      ]);
    });
  }

  test("a response without a length ends with the connection", async () => {
    const reader = new ResponseReader();
    reader.push(Buffer.from("HTTP/1.0 400 Bad Request\r\n\r\nhello"));
    expect(reader.next()).toBeUndefined();
    const response = reader.end();
    expect([response.status, await response.text(), response.keepAlive]).toEqual([400, "hello", false]);
    reader.push(Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"));
    expect(reader.next()).toBeUndefined();
    expect(() => reader.end()).toThrow(ResponseError);
  });
});

describe("an invalid response is refused", () => {
  const bad = {
    "another protocol": "SSH-2.0-x\r\n\r\n",
    "a header without a name": "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
    "a folded header": "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
    "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a length and chunks":
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "an unknown coding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    "a chunk without a size": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    "a chunk longer than its size": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabcd",
    "a body that is too long": "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
    "a head that is too long": `HTTP/1.1 200 OK\r\nA: ${"b".repeat(70_000)}`,
  };
  for (const [what, text] of Object.entries(bad)) {
    test(what, () => expect(read(text, 1000)).rejects.toThrow(ResponseError));
  }
});
