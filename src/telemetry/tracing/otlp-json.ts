import type { Fields } from "../log.ts";
import type { TraceContext } from "../trace-context.ts";
import type { FinishedSpan } from "./span.ts";

const failedStatus = { code: 2 };
const scope = { name: "plant-store" };
// OTLP's flag bits besides W3C's: whether it is known that the parent is remote or not, and whether it is.
const hasIsRemoteFlag = 0x100;
const isRemoteFlag = 0x200;

/** An ExportTraceServiceRequest in OTLP's JSON: ids in hex, enums as numbers, 64-bit numbers as strings. */
export function otlpJson(spans: readonly FinishedSpan[], resource: Readonly<Record<string, string>>): string {
  const attributes = keyValues(resource as Fields);
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope, spans: spans.map(spanJson) }] }],
  });
}

function spanJson(span: FinishedSpan): object {
  const { context, parentSpanId, name, kind, links, droppedLinks } = span;
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    parentSpanId,
    flags: flagsOf(context, span.parentIsRemote),
    name,
    kind,
    startTimeUnixNano: unixNano(span.startMs),
    endTimeUnixNano: unixNano(span.endMs),
    attributes: keyValues(span.attributes),
    links: links.length === 0 ? undefined : links.map(linkJson),
    droppedLinksCount: droppedLinks === 0 ? undefined : droppedLinks,
    status: span.failed ? failedStatus : undefined,
  };
}

function linkJson(context: TraceContext): object {
  return { traceId: context.traceId, spanId: context.spanId, flags: flagsOf(context, false) };
}

function flagsOf({ flags }: TraceContext, isRemote: boolean): number {
  return Number.parseInt(flags, 16) | hasIsRemoteFlag | (isRemote ? isRemoteFlag : 0);
}

// Microseconds fit into a double exactly until the year 2255; nanoseconds do not.
function unixNano(ms: number): string {
  return `${Math.round(ms * 1000)}000`;
}

function keyValues(fields: Fields): object[] {
  const all: object[] = [];
  for (const [key, value] of Object.entries(fields))
    if (value !== undefined) all.push({ key, value: anyValue(value) });
  return all;
}

function anyValue(value: string | number | boolean): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (Number.isInteger(value)) return { intValue: String(value) };
  return { doubleValue: value };
}
