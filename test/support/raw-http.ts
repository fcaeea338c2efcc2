// Requests as bytes on a socket, for what fetch would not send.
import { connect, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { eventually, waitFailure, waitMsMax } from "./eventually.ts";
import { accessToken } from "./tokens.ts";

/** Bytes to send, a pause in ms, or something to wait for, which sees what was received so far. */
export type RawPiece = string | Uint8Array | number | ((received: () => string) => Promise<unknown>);

/** A port in plain text, or over TLS with the authority that signed its certificate. */
export type Target = number | (ConnectionOptions & { readonly port: number; readonly ca: string });

/** Connects to this machine; `onConnect` is called when data can be sent. */
export function connectTo(target: Target, allowHalfOpen: boolean, onConnect: () => void): Socket {
  const options = { host: "127.0.0.1", allowHalfOpen };
  return typeof target === "number"
    ? connect({ ...options, port: target }, onConnect)
    : connectTls({ ...options, ...target }, onConnect);
}

/**
 * Sends the pieces unchanged, one after another, and closes its half of the connection. The service responds to what was sent,
 * then closes the other half.
 */
export function sendRaw(target: Target, pieces: readonly RawPiece[]): Promise<{ readonly text: string }> {
  return new Promise((resolve, reject) => {
    const received: Buffer[] = [];
    const text = () => Buffer.concat(received).toString("utf8");
    const finish = (failure?: Error) => {
      clearTimeout(limit);
      socket.destroy();
      if (failure === undefined) resolve({ text: text() });
      else reject(failure);
    };
    const limit = setTimeout(() => finish(waitFailure("the end of the connection", text())), waitMsMax);
    const socket = connectTo(target, true, async () => {
      for (const piece of pieces) {
        if (typeof piece === "number") await Bun.sleep(piece);
        else if (typeof piece === "function") await piece(text).catch(finish);
        else socket.write(piece);
      }
      socket.end();
    });
    socket.on("data", (bytes: Buffer) => received.push(bytes));
    socket.on("end", () => finish());
    socket.on("error", (error: NodeJS.ErrnoException) => {
      finish(error.code === "ECONNRESET" || error.code === "EPIPE" ? undefined : error);
    });
  });
}

/** Waits until the service has accepted a head with `Expect: 100-continue`. */
export function untilContinue(received: () => string): Promise<void> {
  return eventually(() => received().includes("100 Continue"));
}

/** A POST /plants as raw text, with a valid token. */
export function rawPost(body: string, extraHeaders = ""): string {
  return (
    `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${accessToken}\r\nContent-Type: application/json\r\n` +
    `${extraHeaders}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}
