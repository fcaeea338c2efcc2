import { expect, test } from "bun:test";
import {
  eventually,
  operatorToken,
  type RawPiece,
  sendRaw,
  startTestService,
  type TestService,
  untilContinue,
} from "./harness.ts";

interface Token {
  readonly id: string;
  readonly secret: string;
}

interface Interruption {
  /** What the client sends; then it waits for the error, if there is one, and goes away. */
  readonly pieces: (token: Token, running: TestService) => readonly RawPiece[];
  readonly error?: number;
}

const runningMax = 4;
const sliceBytesMax = 8 * 1024 * 1024;
const row = '{"id":1,"name":"Fern"}\n';

const interruptions: Readonly<Record<string, Interruption>> = {
  "whose client goes away": { pieces: (token) => [...begun(token), row] },
  "that stall": { pieces: (token) => begun(token), error: 40801 },
  "whose length is over the limit": {
    pieces: (token) => [head(token, `Content-Length: ${sliceBytesMax + 1}`)],
    error: 41301,
  },
  "whose chunks exceed the limit": {
    pieces: (token) => [...begun(token, "Transfer-Encoding: chunked"), "7fffffff\r\n"],
    error: 41301,
  },
  "with an invalid chunk": {
    pieces: (token) => [...begun(token, "Transfer-Encoding: chunked"), "not a size\r\n"],
    error: 40030,
  },
  "whose token is revoked meanwhile": {
    pieces: (token, running) => [
      ...begun(token, `Content-Length: ${row.length}`),
      () => operatorPost(running, `/api/tokens/${token.id}/revoke`, {}),
      row,
    ],
    error: 40102,
  },
};

for (const [which, { pieces, error }] of Object.entries(interruptions)) {
  test(`uploads ${which} leave room for an import`, async () => {
    await using running = await startTestService(which === "that stall" ? { "body-timeout": "300ms" } : {});
    const port = Number(new URL(running.operatorUrl).port);
    const interrupt = async () => {
      const sent = pieces(await createToken(running), running);
      const { text } = await sendRaw(port, error === undefined ? sent : [...sent, untilError], 0);
      expect(errorsIn(text)).toEqual(error === undefined ? [] : [error]);
    };
    await Promise.all(Array.from({ length: runningMax }, interrupt));
    const token = await createToken(running);
    const whole = `${head(token, `Connection: close\r\nContent-Length: ${row.length}`)}${row}`;
    // The service may learn only later that a client has gone away.
    await eventually(async () => (await sendRaw(port, [whole])).text.startsWith("HTTP/1.1 200 "));
  });
}

async function createToken(running: TestService): Promise<Token> {
  const [name, scopes] = [crypto.randomUUID(), ["plants:create", "operator:read"]];
  const created = await operatorPost(running, "/api/tokens", { name, scopes });
  const { token, secret } = (await created.json()) as { token: { id: string }; secret: string };
  return { id: token.id, secret };
}

function operatorPost({ operatorUrl }: TestService, path: string, body: object): Promise<Response> {
  const headers = { Authorization: `Bearer ${operatorToken}` };
  return fetch(operatorUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** An upload that the service has started to wait for. */
function begun(token: Token, framing = "Content-Length: 100"): RawPiece[] {
  return [head(token, `Expect: 100-continue\r\n${framing}`), untilContinue];
}

function head({ secret }: Token, framing: string): string {
  return `POST /api/imports?name=a.ndjson&last=true HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\n${framing}\r\n\r\n`;
}

function untilError(received: () => string): Promise<void> {
  return eventually(() => errorsIn(received()).length > 0);
}

function errorsIn(text: string): number[] {
  return Array.from(text.matchAll(/\{"error":(\d+)/g), ([, error]) => Number(error));
}
