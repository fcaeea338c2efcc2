import type { Socket } from "bun";

const continueResponse = "HTTP/1.1 100 Continue\r\n\r\n";

/** Whether it was `all` accepted. If not, the client has to read first; after a `reset` it has gone away. */
export type WriteResult = "all" | "partly" | "nothing" | "reset";

/** Bytes for the client. What the socket does not accept yet is held here. */
export class Outgoing {
  readonly #socket: Pick<Socket, "write">;
  readonly #unsent: Uint8Array[] = [];

  constructor(socket: Pick<Socket, "write">) {
    this.#socket = socket;
  }

  get isEmpty(): boolean {
    return this.#unsent.length === 0;
  }

  /** `bytes` is the length of the data in bytes. */
  write(data: string | Uint8Array, bytes: number): WriteResult {
    if (!this.isEmpty) {
      this.#unsent.push(bytesOf(data));
      return "nothing";
    }
    const written = this.#socket.write(data);
    if (written === bytes) return "all";
    // Negative if the client has reset the connection; no event may follow.
    if (written < 0) return "reset";
    this.#unsent.push(bytesOf(data).subarray(written));
    return written === 0 ? "nothing" : "partly";
  }

  /** False if part of it was written, which would corrupt the next response; writing none of it is harmless. */
  writeContinue(): boolean {
    const written = this.#socket.write(continueResponse);
    return written <= 0 || written === continueResponse.length;
  }

  /** Sends more of what is unsent. */
  flush(): WriteResult {
    let result: WriteResult = "nothing";
    for (let first = this.#unsent[0]; first !== undefined; first = this.#unsent[0]) {
      const written = this.#socket.write(first);
      if (written < 0) return "reset";
      if (written > 0) result = "partly";
      if (written < first.length) {
        this.#unsent[0] = first.subarray(written);
        return result;
      }
      this.#unsent.shift();
    }
    return "all";
  }
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? Buffer.from(data) : data;
}
