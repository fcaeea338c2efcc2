/** Why something is not HTTP, or more of it than we read, in words for the one who sent it. */
export class NotHttp {
  readonly reason: string;
  readonly fault: "not-http" | "head-too-large";

  constructor(reason: string, fault: NotHttp["fault"] = "not-http") {
    this.reason = reason;
    this.fault = fault;
  }
}
