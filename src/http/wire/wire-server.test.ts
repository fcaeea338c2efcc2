import { expect, test } from "bun:test";
import { eventually } from "../../../test/support/eventually.ts";
import { emptyResponse, TestWire, testTls } from "../../../test/support/wire.ts";

test.each([
  ["plain text", undefined],
  ["TLS", testTls],
])(
  "over %s, what a socket's callback throws is reported once, and ends its connection alone",
  async (_, tls) => {
    const failures: unknown[] = [];
    await using wire = new TestWire(
      (connection, head) => {
        if (head.path === "/broken") throw new TypeError("not expected");
        connection.send(emptyResponse, emptyResponse.length);
      },
      { tls, callbackFailed: (error) => failures.push(error) },
    );
    const broken = await wire.connect();
    const other = await wire.connect();
    broken.send("GET /broken HTTP/1.1\r\nHost: a\r\n\r\n");
    await eventually(() => !broken.isOpen);
    expect(failures).toEqual([new TypeError("not expected")]);
    other.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await eventually(() => other.received === emptyResponse);
  },
);
