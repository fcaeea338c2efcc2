import { randomBytes } from "node:crypto";
import { parseTraceparent, type TraceContext } from "../trace-context.ts";
import { type ExporterEvents, SpanExporter, type SpanTarget } from "./exporter.ts";
import { type Sampling, sample } from "./sampler.ts";
import { Span, spanKinds } from "./span.ts";

export type TracerSettings = Sampling & SpanTarget;

/** The arrivals of one commit, with the traceparent of those whose request is sampled. */
type TracedBatch = readonly { readonly trace?: string | undefined }[];

// OpenTelemetry's default limit.
const linksMax = 128;
const sampledFlags = "01";
// The wall clock may be set while the service runs; within this, times stay in the order of the monotonic clock.
const clockOffMsMax = 20;

/** Undefined if nothing is traced. */
export function createTracer(
  settings: TracerSettings | undefined,
  events: ExporterEvents,
): Tracer | undefined {
  return settings && new Tracer(settings, new SpanExporter(settings, events));
}

/** Makes the spans of one thread. */
export class Tracer implements AsyncDisposable {
  readonly #sampling: Sampling;
  readonly #exporter: SpanExporter;
  #clockStartMs = performance.timeOrigin;
  readonly #now = () => this.#clockStartMs + performance.now();
  readonly #onEnd: SpanExporter["add"];

  constructor(sampling: Sampling, exporter: SpanExporter) {
    this.#sampling = sampling;
    this.#exporter = exporter;
    this.#onEnd = (span) => exporter.add(span);
  }

  /** Undefined if the request is not sampled. */
  startRequest(traceparent: string | undefined): Span | undefined {
    const parent = parseTraceparent(traceparent);
    const random = sample(this.#sampling, parent);
    if (random === undefined) return undefined;
    const traceId = parent?.traceId ?? newId(9) + random;
    return this.#start("server", traceId, parent, true, []);
  }

  /**
   * Returns what starts the span of a batch, and that returns what ends it. The span is a child of the first sampled request
   * of the batch and linked to all of them; there is none if no request is sampled.
   */
  commits(engine: "sqlite" | "postgres"): (batch: TracedBatch) => ((failure?: unknown) => void) | undefined {
    return (batch) => {
      const span = this.#startCommit(batch);
      return span && ((failure) => endCommit(span, batch.length, engine, failure));
    };
  }

  /** Exports what is left, within two seconds. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#exporter.close();
  }

  #startCommit(batch: TracedBatch): Span | undefined {
    const requests: TraceContext[] = [];
    for (const { trace } of batch) {
      const request = trace === undefined ? undefined : parseTraceparent(trace);
      if (request !== undefined) requests.push(request);
    }
    const [first] = requests;
    return first && this.#start("internal", first.traceId, first, false, requests);
  }

  #start(
    kind: keyof typeof spanKinds,
    traceId: string,
    parent: TraceContext | undefined,
    parentIsRemote: boolean,
    links: readonly TraceContext[],
  ): Span {
    const offMs = Date.now() - this.#now();
    if (Math.abs(offMs) > clockOffMsMax) this.#clockStartMs += offMs;
    const start = {
      context: { traceId, spanId: newId(8), flags: sampledFlags },
      parentSpanId: parent?.spanId,
      parentIsRemote: parentIsRemote && parent !== undefined,
      kind: spanKinds[kind],
      startMs: this.#now(),
      links: links.slice(0, linksMax),
      droppedLinks: Math.max(0, links.length - linksMax),
    };
    return new Span(start, this.#now, this.#onEnd);
  }
}

function endCommit(span: Span, size: number, engine: "sqlite" | "postgres", failure: unknown): void {
  span.end({
    name: "commit",
    attributes: {
      "db.system.name": engine === "postgres" ? "postgresql" : engine,
      "db.operation.batch.size": size,
      "error.type": failure instanceof Error ? failure.name : undefined,
    },
    failed: failure !== undefined,
  });
}

function newId(bytes: number): string {
  return randomBytes(bytes).toString("hex");
}
