/** The Date header's value, which all responses of one second share. */
export class ResponseDate {
  #text = "";
  #untilMs = Number.NEGATIVE_INFINITY;

  /** Takes the monotonic clock, which every response reads for its duration; the wall clock is read once per second. */
  at(monotonicMs: number): string {
    if (monotonicMs >= this.#untilMs) {
      const nowMs = Date.now();
      this.#untilMs = monotonicMs + 1000 - (nowMs % 1000);
      this.#text = new Date(nowMs).toUTCString();
    }
    return this.#text;
  }
}
