/** Finds the ends of HTTP/1.1 responses in the bytes of a connection, so that no test has to take silence for an end. */
export class ResponseReader {
  readonly #received: Buffer[] = [];
  #unread: Buffer = Buffer.alloc(0);
  /** Those of the requests that were sent, in order: a response to HEAD has no body. */
  methods: readonly string[] = [];
  /** How many final responses are complete. */
  complete = 0;
  /** Whether the last of them announces that the connection closes. */
  announcesClose = false;

  get text(): string {
    return Buffer.concat(this.#received).toString("utf8");
  }

  read(bytes: Buffer): void {
    this.#received.push(bytes);
    this.#unread = Buffer.concat([this.#unread, bytes]);
    while (this.#readOne());
  }

  #readOne(): boolean {
    const headBytes = this.#unread.indexOf("\r\n\r\n") + 4;
    if (headBytes < 4) return false;
    const head = this.#unread.toString("latin1", 0, headBytes);
    const status = Number(head.slice(9, 12));
    const hasBody =
      this.methods[this.complete] !== "HEAD" && status >= 200 && status !== 204 && status !== 304;
    const bodyBytes = hasBody ? this.#bodyBytes(head, headBytes) : 0;
    if (bodyBytes === undefined || headBytes + bodyBytes > this.#unread.length) return false;
    this.#unread = this.#unread.subarray(headBytes + bodyBytes);
    if (status < 200) return true;
    this.complete++;
    this.announcesClose = /\r\nConnection: close\r\n/i.test(head);
    return true;
  }

  /** Undefined as long as the end is unknown: without a length, it is that of the connection. */
  #bodyBytes(head: string, headBytes: number): number | undefined {
    const length = /\r\nContent-Length: (\d+)\r\n/i.exec(head)?.[1];
    if (length !== undefined) return Number(length);
    if (!/\r\nTransfer-Encoding: chunked\r\n/i.test(head)) return undefined;
    let at = headBytes;
    for (;;) {
      const lineEnd = this.#unread.indexOf("\r\n", at);
      if (lineEnd < 0) return undefined;
      const bytes = Number.parseInt(this.#unread.toString("latin1", at, lineEnd), 16);
      at = lineEnd + 2 + bytes + 2;
      if (bytes === 0) return at - headBytes;
    }
  }
}
