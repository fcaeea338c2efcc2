/** Why a request cannot be read. */
export type WireFaultKind =
  | "not-http"
  | "head-too-large"
  | "expectation-failed"
  | "body-too-large"
  | "body-too-slow";

/** What is wrong with what arrived. The message is a sentence for its sender. */
export class WireFault {
  readonly kind: WireFaultKind;
  readonly message: string;

  constructor(kind: WireFaultKind, message: string) {
    this.kind = kind;
    this.message = message;
  }
}

export function notHttpFault(reason: string): WireFault {
  return new WireFault("not-http", `The request is not valid HTTP/1.1: ${reason}.`);
}
