const prefixCharacters = 16;
// What follows the prefix: enough for 36^11 requests, and too short for a secret.
const mintedCount = /^[0-9a-z]{1,11}$/;
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

  /** Whether `of` made the id. A client that sends it back has chosen nothing in it. */
  hasMinted(id: string): boolean {
    return id.startsWith(this.#prefix) && mintedCount.test(id.slice(this.#prefix.length));
  }
}
