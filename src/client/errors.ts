// The service could not parse the request as HTTP, so the error is not about the plant.
const notHttp = 40030;

/**
 * The service responded with an error. After 408, 429 or a 5xx the retries are used up, and sending the plant later may
 * succeed; after any other status the same plant will be refused again.
 */
export class ServiceRefused extends Error {
  override readonly name = "ServiceRefused";
  /** The number in the Error body; status × 100 if the response has none. */
  readonly error: number;
  readonly status: number;
  /** Identifies the request in the service's log. */
  readonly requestId: string | undefined;

  constructor(message: string, error: number, status: number, requestId: string | undefined) {
    super(message);
    this.error = error;
    this.status = status;
    this.requestId = requestId;
  }

  /** Whether this one plant is refused; otherwise every plant would be. */
  get concernsPlant(): boolean {
    // A 400 without an Error body does not come from a plant store.
    const isPlantError = this.error > 40000 && this.error < 40100 && this.error !== notHttp;
    return (this.status === 400 && isPlantError) || this.status === 413;
  }
}

/** There was no response, or none from a plant store. The plant may be stored; sending it again is safe. */
export class ServiceUnreachable extends Error {
  override readonly name = "ServiceUnreachable";
}

/** The caller aborted the request. The plant may be stored; sending it again is safe. */
export class RequestAborted extends Error {
  // The name that web APIs use.
  override readonly name = "AbortError";

  constructor(signal: AbortSignal | undefined) {
    super("The request was aborted.", { cause: signal?.reason });
  }
}

/** Whether the same request may succeed later; without a response the status is undefined. */
export function isRetryableStatus(status: number | undefined): boolean {
  return status === undefined || status === 408 || status === 429 || status >= 500;
}
