/** Why something is not HTTP, or exceeds a limit, in words for the sender. */
export class NotHttp {
  readonly reason: string;
  readonly fault: "not-http" | "head-too-large";

  constructor(reason: string, fault: NotHttp["fault"] = "not-http") {
    this.reason = reason;
    this.fault = fault;
  }
}
