// A receiver of OTLP/HTTP for traces. It accepts only what opentelemetry/proto/collector/trace/v1 defines, in OTLP's JSON: names in
// lowerCamelCase, ids in hex, enums as numbers, 64-bit numbers as decimal strings, and no member that is unknown or null.

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly flags: number;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: bigint;
  readonly endTimeUnixNano: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: number;
  /** The attributes of its resource. */
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface Receiver extends AsyncDisposable {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** The bodies as they arrived. */
  readonly bodies: string[];
  readonly requests: { readonly path: string; readonly headers: Headers }[];
  /** What was wrong with what arrived. */
  readonly problems: string[];
}

/** `respond` decides what each export gets; by default it is accepted. */
export function startReceiver(respond: (count: number) => Response | Promise<Response> = accept): Receiver {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const requests: { path: string; headers: Headers }[] = [];
  const problems: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const body = await request.text();
      requests.push({ path: new URL(request.url).pathname, headers: request.headers });
      const response = await respond(requests.length);
      if (!response.ok) return response;
      bodies.push(body);
      try {
        spans.push(...readRequest(JSON.parse(body)));
      } catch (error) {
        problems.push((error as Error).message);
      }
      return response;
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    spans,
    bodies,
    requests,
    problems,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

function accept(): Response {
  return Response.json({ partialSuccess: {} });
}

type Json = Record<string, unknown>;
type Check = (value: unknown) => unknown;

const text: Check = (value) => require(typeof value === "string", "a string", value);
const count: Check = (value) => require(Number.isInteger(value) && Number(value) >= 0, "a uint32", value);
const int64: Check = (value) =>
  require(/^-?\d{1,19}$/.test(text(value) as string), "an int64 as text", value);
const hex = (digits: number): Check => {
  const shape = new RegExp(`^(?!0+$)[0-9a-f]{${digits}}$`);
  return (value) => require(shape.test(text(value) as string), `an id of ${digits} hex digits`, value);
};
const list =
  (check: Check): Check =>
  (value) =>
    (require(Array.isArray(value), "a list", value) as unknown[]).map(check);

const link = message({ traceId: hex(32), spanId: hex(16) }, { flags: count, attributes: keyValues });
const span = message(
  {
    traceId: hex(32),
    spanId: hex(16),
    name: text,
    kind: (value) => require([1, 2, 3, 4, 5].includes(value as number), "a kind of span", value),
    startTimeUnixNano: int64,
    endTimeUnixNano: int64,
  },
  {
    parentSpanId: hex(16),
    flags: count,
    traceState: text,
    attributes: keyValues,
    links: list(link),
    droppedLinksCount: count,
    status: message(
      {},
      { code: (value) => require([0, 1, 2].includes(value as number), "a status", value), message: text },
    ),
  },
);
const scopeSpans = message(
  { spans: list(span) },
  { scope: message({ name: text }, { version: text }), schemaUrl: text },
);
const resourceSpans = message(
  { scopeSpans: list(scopeSpans) },
  { resource: message({}, { attributes: keyValues }), schemaUrl: text },
);
const exportRequest = message({ resourceSpans: list(resourceSpans) }, {});

function readRequest(body: unknown): ReceivedSpan[] {
  exportRequest(body);
  return (body as { resourceSpans: Json[] }).resourceSpans.flatMap(({ resource, scopeSpans: scopes }) =>
    (scopes as { spans: Json[] }[]).flatMap(({ spans }) =>
      spans.map((one) => readSpan(one, resource as Json)),
    ),
  );
}

function readSpan(one: Json, resource: Json): ReceivedSpan {
  const { startTimeUnixNano, endTimeUnixNano, attributes = [], links = [], status, ...rest } = one;
  return {
    ...(rest as Pick<ReceivedSpan, "traceId" | "spanId" | "parentSpanId" | "flags" | "name" | "kind">),
    startTimeUnixNano: BigInt(startTimeUnixNano as string),
    endTimeUnixNano: BigInt(endTimeUnixNano as string),
    attributes: keyValues(attributes),
    links: links as ReceivedSpan["links"],
    status: ((status as Json | undefined)?.["code"] as number | undefined) ?? 0,
    resource: keyValues(resource["attributes"] ?? []),
  };
}

function message(required: Record<string, Check>, optional: Record<string, Check>): Check {
  return (value) => {
    require(typeof value === "object" && value !== null && !Array.isArray(value), "an object", value);
    const members = Object.keys(value as Json);
    for (const name of Object.keys(required)) require(members.includes(name), `the member ${name}`, value);
    for (const name of members) {
      const check = required[name] ?? optional[name];
      if (check === undefined) throw new Error(`unknown member ${name}`);
      check((value as Json)[name]);
    }
    return value;
  };
}

function keyValues(value: unknown): Record<string, unknown> {
  const pairs = list(message({ key: text, value: anyValue }, {}))(value) as { key: string; value: unknown }[];
  const all = Object.fromEntries(pairs.map((pair) => [pair.key, anyValue(pair.value)]));
  require(Object.keys(all).length === pairs.length, "keys that are unique", value);
  return all;
}

function anyValue(value: unknown): unknown {
  const kinds: Record<string, Check> = {
    stringValue: text,
    intValue: int64,
    doubleValue: (number) => require(Number.isFinite(number), "a number", number),
    boolValue: (flag) => require(typeof flag === "boolean", "a boolean", flag),
  };
  message({}, kinds)(value);
  const [[kind, content], ...more] = Object.entries(value as Json) as [[string, unknown]];
  require(more.length === 0, "one value", value);
  return kind === "intValue" ? Number(content) : content;
}

function require<Value>(holds: boolean, expected: string, value: Value): Value {
  if (!holds) throw new Error(`expected ${expected}, not ${JSON.stringify(value)}`);
  return value;
}
