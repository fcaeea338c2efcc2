const prefixCharacters = 16;
const clientRequestId = /^[\x21-\x7e]{1,64}$/;

/** Ids for requests, unique across listeners and processes. A random one for each would cost ten times as much. */
export class RequestIds {
  readonly #prefix = `${crypto.randomUUID().replaceAll("-", "").slice(0, prefixCharacters)}-`;
  #count = 0;

  /** The id that the client sent, if it is usable; otherwise a new one. */
  of(sent: string | undefined): string {
    if (sent !== undefined && clientRequestId.test(sent)) return sent;
    this.#count++;
    return this.#prefix + this.#count.toString(36);
  }
}
