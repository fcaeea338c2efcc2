import type { Socket } from "bun";

const continueResponse = "HTTP/1.1 100 Continue\r\n\r\n";

/** Whether it was `all` accepted. If not, the client has to read first; after a `reset` it has gone away. */
export type WriteResult = "all" | "partly" | "nothing" | "reset";

/** Bytes for the client. What the socket does not accept yet is held here. */
export class Outgoing {
  readonly #socket: Pick<Socket, "write">;
  #unsent: Buffer | undefined;

  constructor(socket: Pick<Socket, "write">) {
    this.#socket = socket;
  }

  get unsentBytes(): number {
    return this.#unsent?.length ?? 0;
  }

  /** `bytes` is the length of the data in bytes. */
  write(data: string | Buffer, bytes: number): WriteResult {
    if (this.#unsent !== undefined) {
      this.#unsent = Buffer.concat([this.#unsent, Buffer.from(data as string)]);
      return "nothing";
    }
    const written = this.#socket.write(data);
    if (written === bytes) return "all";
    // Negative if the client has reset the connection; no event may follow.
    if (written < 0) return "reset";
    this.#unsent = Buffer.from(data as string).subarray(written);
    return written === 0 ? "nothing" : "partly";
  }

  /** False if part of it was written, which would corrupt the next response; writing none of it is harmless. */
  writeContinue(): boolean {
    const written = this.#socket.write(continueResponse);
    return written <= 0 || written === continueResponse.length;
  }

  /** Sends more of what is unsent. */
  flush(): WriteResult {
    if (this.#unsent === undefined) return "all";
    const written = this.#socket.write(this.#unsent);
    if (written < 0) return "reset";
    if (written < this.#unsent.length) {
      this.#unsent = this.#unsent.subarray(written);
      return written === 0 ? "nothing" : "partly";
    }
    this.#unsent = undefined;
    return "all";
  }
}
