// What was sent is not HTTP, so it is not about the plant in it.
const notHttp = 40030;

/**
 * The service answered with an error. With 408, 429 or 500 and above the plant was sent as often as it may be, and
 * sending it later may help; after any other the same plant will be refused again.
 */
export class ServiceRefused extends Error {
  override readonly name = "ServiceRefused";
  /** The number of the service's Error body; status × 100 where something else answered without one. */
  readonly error: number;
  readonly status: number;
  /** What to search the service's log for. */
  readonly requestId: string | undefined;
  readonly attempts: number;

  constructor(message: string, details: Pick<ServiceRefused, "error" | "status" | "requestId" | "attempts">) {
    super(message);
    this.error = details.error;
    this.status = details.status;
    this.requestId = details.requestId;
    this.attempts = details.attempts;
  }

  /** Whether this is about the one plant that was sent; otherwise every plant would be refused alike. */
  get concernsPlant(): boolean {
    // A 400 without the number of an Error body comes from something that is no plant store, and takes no plant at all.
    const ofPlantStore = this.error > 40000 && this.error < 40100 && this.error !== notHttp;
    return (this.status === 400 && ofPlantStore) || this.status === 413;
  }
}

/** No answer came, or none that a plant store gives. The plant may be stored or not; sending it again is safe. */
export class ServiceUnreachable extends Error {
  override readonly name = "ServiceUnreachable";
  readonly attempts: number;

  constructor(message: string, attempts: number, cause?: unknown) {
    super(message, { cause });
    this.attempts = attempts;
  }
}

/** The caller's own signal ended it. The plant may be stored or not; sending it again is safe. */
export class RequestAborted extends Error {
  // The name by which the web's own functions tell of an abort.
  override readonly name = "AbortError";

  constructor(signal: AbortSignal) {
    super("The request was aborted.", { cause: signal.reason });
  }
}
