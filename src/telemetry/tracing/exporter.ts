import { otlpJson } from "./otlp-json.ts";
import type { FinishedSpan } from "./span.ts";

/** Where spans are sent. */
export interface SpanTarget {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, string>>;
}

export interface ExporterEvents {
  /** Called once, when spans cannot be exported; `spansExported` once, when they can be again. */
  readonly spansNotExported: (reason: string) => void;
  readonly spansExported: () => void;
  readonly spansDropped: (count: number) => void;
}

// OpenTelemetry's defaults.
const queuedSpansMax = 2048;
const batchSpansMax = 512;
const exportEveryMs = 5000;
const exportTimeoutMs = 10_000;
// A batch that always fails must not block those after it.
const triesMax = 3;
const closeMsMax = 2000;
const droppedReportEveryMs = 60_000;
const responseCharactersMax = 65_536;

/**
 * Sends spans in batches over OTLP/HTTP. Nothing waits for it: if the collector is slow or unavailable, the queue fills, and then
 * spans are dropped and counted.
 */
export class SpanExporter {
  readonly #target: SpanTarget;
  readonly #events: ExporterEvents;
  readonly #everyMs: number;
  readonly #closing = new AbortController();
  #queue: FinishedSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #timerIsUrgent = false;
  #exporting: Promise<boolean> | undefined;
  #failures = 0;
  #closed = false;
  #dropped = 0;
  #droppedReportedMs = Number.NEGATIVE_INFINITY;

  constructor(target: SpanTarget, events: ExporterEvents, everyMs = exportEveryMs) {
    this.#target = target;
    this.#everyMs = everyMs;
    this.#events = events;
  }

  add(span: FinishedSpan): void {
    if (this.#closed || this.#queue.length >= queuedSpansMax) {
      this.#dropped++;
      return;
    }
    this.#queue.push(span);
    this.#schedule();
  }

  /** Exports what is left, if the collector accepts it in time. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const late = setTimeout(() => this.#closing.abort(), closeMsMax);
    let reached = (await this.#exporting) ?? true;
    while (reached && this.#queue.length > 0) reached = await this.#export();
    clearTimeout(late);
    this.#dropped += this.#queue.length;
    this.#queue = [];
    this.#reportDropped();
  }

  #schedule(): void {
    if (this.#closed || this.#exporting !== undefined || this.#queue.length === 0) return;
    // After a failure even a full batch waits.
    const isFull = this.#queue.length >= batchSpansMax && this.#failures === 0;
    if (this.#timer !== undefined && (!isFull || this.#timerIsUrgent)) return;
    clearTimeout(this.#timer);
    this.#timerIsUrgent = isFull;
    this.#timer = setTimeout(() => void this.#exportAndSchedule(), isFull ? 0 : this.#everyMs);
    this.#timer.unref();
  }

  async #exportAndSchedule(): Promise<void> {
    this.#timer = undefined;
    this.#exporting = this.#export();
    await this.#exporting;
    this.#exporting = undefined;
    if (performance.now() - this.#droppedReportedMs >= droppedReportEveryMs) this.#reportDropped();
    this.#schedule();
  }

  async #export(): Promise<boolean> {
    const batch = this.#queue.slice(0, batchSpansMax);
    try {
      await this.#post(otlpJson(batch, this.#target.resource));
    } catch (error) {
      if (this.#failures++ === 0) this.#events.spansNotExported((error as Error).message);
      if (this.#failures % triesMax === 0) this.#drop(batch.length);
      return false;
    }
    this.#queue.splice(0, batch.length);
    if (this.#failures > 0) this.#events.spansExported();
    this.#failures = 0;
    return true;
  }

  async #post(body: string): Promise<void> {
    const response = await fetch(this.#target.endpoint, {
      method: "POST",
      headers: { ...this.#target.headers, "Content-Type": "application/json" },
      body,
      // The headers are for this host alone.
      redirect: "error",
      signal: AbortSignal.any([AbortSignal.timeout(exportTimeoutMs), this.#closing.signal]),
    });
    const text = await startOf(response);
    if (!response.ok) throw new Error(`the collector responded with ${response.status}`);
    this.#dropped += rejectedSpans(text);
  }

  #drop(count: number): void {
    this.#queue.splice(0, count);
    this.#dropped += count;
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return;
    this.#events.spansDropped(this.#dropped);
    this.#dropped = 0;
    this.#droppedReportedMs = performance.now();
  }
}

/** The body, up to a limit: otherwise another server at that address could exhaust the memory. */
async function startOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > responseCharactersMax) break;
  }
  return text;
}

// OTLP's partial success; most collectors say nothing.
function rejectedSpans(text: string): number {
  try {
    return Number(JSON.parse(text).partialSuccess?.rejectedSpans ?? 0) || 0;
  } catch {
    return 0;
  }
}
