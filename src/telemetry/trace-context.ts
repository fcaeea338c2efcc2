/** The caller's span, as its `traceparent` names it (W3C Trace Context). The ids are lower-case hex. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  /** Two hex digits. */
  readonly flags: string;
}

const shape = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const zeros = /^0+$/;

/** Undefined if it is missing or invalid, which the specification treats alike. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const match = text === undefined ? null : shape.exec(text);
  if (match === null) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", rest] = match;
  // Later versions may append fields; ff is reserved, and 00 ends here.
  if (version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  return zeros.test(traceId) || zeros.test(spanId) ? undefined : { traceId, spanId, flags };
}
