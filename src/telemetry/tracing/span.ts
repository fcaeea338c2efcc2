import type { Fields } from "../log.ts";
import { formatTraceparent, type TraceContext } from "../trace-context.ts";

/** OTLP's numbers for span kinds. */
export const spanKinds = { internal: 1, server: 2 } as const;

/** A span that has ended. */
export interface FinishedSpan {
  readonly context: TraceContext;
  readonly parentSpanId: string | undefined;
  /** Whether the parent is in another process. */
  readonly parentIsRemote: boolean;
  readonly kind: (typeof spanKinds)[keyof typeof spanKinds];
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Fields;
  readonly failed: boolean;
  readonly links: readonly TraceContext[];
  readonly droppedLinks: number;
}

type Start = Omit<FinishedSpan, "name" | "endMs" | "attributes" | "failed">;

export interface SpanEnd {
  readonly name: string;
  readonly attributes: Fields;
  readonly failed: boolean;
}

/** A span of a sampled request, or of a commit with such a request in it. */
export class Span {
  readonly #start: Start;
  readonly #now: () => number;
  readonly #onEnd: (span: FinishedSpan) => void;
  #ended = false;

  constructor(start: Start, now: () => number, onEnd: (span: FinishedSpan) => void) {
    this.#start = start;
    this.#now = now;
    this.#onEnd = onEnd;
  }

  get context(): TraceContext {
    return this.#start.context;
  }

  get traceparent(): string {
    return formatTraceparent(this.context);
  }

  get ended(): boolean {
    return this.#ended;
  }

  end(end: SpanEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd({ ...this.#start, ...end, endMs: this.#now() });
  }
}
