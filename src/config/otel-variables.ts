import packageFile from "../../package.json" with { type: "json" };

type Environment = Readonly<Record<string, string | undefined>>;

/** Where spans go, and of which requests. Plain values, which can be sent to a worker. */
export interface TraceSettings {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What describes this service in the spans' resource. */
  readonly resource: Readonly<Record<string, string>>;
  /** The share of requests without a parent, or of all if the parent does not decide. */
  readonly ratio: number;
  readonly parentBased: boolean;
}

export interface OtelConfig {
  /** Undefined if no span is made. */
  readonly traces: TraceSettings | undefined;
  /** One sentence for each value that cannot be used. */
  readonly warnings: readonly string[];
}

/** OpenTelemetry's own variables, which it defines for every service alike. They are not flags. */
export const otelVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: "the collector; spans are sent to its path /v1/traces",
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "the URL for spans alone, used as it is",
  OTEL_EXPORTER_OTLP_HEADERS: "headers for the collector, such as api-key=KEY; a secret",
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: "the same, for spans alone",
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/json is the only one",
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "the same, for spans alone",
  OTEL_SERVICE_NAME: "the name of the service in traces; plant-store unless set",
  OTEL_RESOURCE_ATTRIBUTES: "further attributes of the service, such as deployment.environment.name=test",
  OTEL_TRACES_SAMPLER:
    "always_on, always_off, traceidratio, or one of these after parentbased_; parentbased_always_on unless set",
  OTEL_TRACES_SAMPLER_ARG: "the share for traceidratio, from 0 to 1; 1 unless set",
  OTEL_TRACES_EXPORTER: "otlp, or none for no traces",
  OTEL_SDK_DISABLED: "true for no traces",
} as const;

const samplers: Readonly<Record<string, number | "argument">> = {
  always_on: 1,
  always_off: 0,
  traceidratio: "argument",
};
const protocol = "http/json";
const parentBasedPrefix = "parentbased_";

export function readOtel(environment: Environment): OtelConfig {
  const warnings: string[] = [];
  const reader = new OtelReader(environment, (warning) => warnings.push(warning));
  return { traces: reader.traces(), warnings };
}

/** Never shown. */
export function isSecretVariable(name: string): boolean {
  return name.endsWith("_HEADERS");
}

/** An invalid value is reported and counts as unset, as OpenTelemetry requires: no start fails because of traces. */
class OtelReader {
  readonly #environment: Environment;
  readonly #warn: (warning: string) => void;

  constructor(environment: Environment, warn: (warning: string) => void) {
    this.#environment = environment;
    this.#warn = warn;
  }

  traces(): TraceSettings | undefined {
    const target =
      this.#get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") ?? this.#get("OTEL_EXPORTER_OTLP_ENDPOINT");
    if (target === undefined) return undefined;
    const disabled = this.#choice("OTEL_SDK_DISABLED", ["true", "false"]) === "true";
    if (disabled || this.#choice("OTEL_TRACES_EXPORTER", ["otlp", "none"]) === "none") return undefined;
    const endpoint = this.#endpoint();
    const sampling = this.#sampling();
    if (endpoint === undefined || (sampling.ratio === 0 && !sampling.parentBased)) return undefined;
    this.#warnOfOthers();
    const serviceName = this.#get("OTEL_SERVICE_NAME");
    return {
      endpoint,
      headers: this.#headers(),
      resource: {
        "service.name": "plant-store",
        "service.version": packageFile.version,
        ...this.#pairs("OTEL_RESOURCE_ATTRIBUTES"),
        ...(serviceName && { "service.name": serviceName }),
      },
      ...sampling,
    };
  }

  // An empty variable counts as unset.
  #get(name: keyof typeof otelVariables): string | undefined {
    return this.#environment[name]?.trim() || undefined;
  }

  #choice(name: keyof typeof otelVariables, known: readonly string[]): string | undefined {
    const text = this.#get(name)?.toLowerCase();
    if (text === undefined || known.includes(text)) return text;
    this.#warn(`${name} has no effect: it must be ${known.join(" or ")}; it is ${JSON.stringify(text)}.`);
    return undefined;
  }

  #endpoint(): string | undefined {
    const own = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
    const shared = "OTEL_EXPORTER_OTLP_ENDPOINT";
    const name = this.#get(own) === undefined ? shared : own;
    const url = URL.parse(this.#get(name) ?? "");
    if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
      this.#warn(`No spans are exported: ${name} must be an http or https URL without credentials.`);
      return undefined;
    }
    if (name === shared) url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/traces`;
    return url.href;
  }

  #headers(): Record<string, string> {
    const pairs = {
      ...this.#pairs("OTEL_EXPORTER_OTLP_HEADERS"),
      ...this.#pairs("OTEL_EXPORTER_OTLP_TRACES_HEADERS"),
    };
    try {
      return Object.fromEntries(new Headers(pairs));
    } catch {
      this.#warn(
        "OTEL_EXPORTER_OTLP_HEADERS has no effect: it holds a name or a value that no header can have.",
      );
      return {};
    }
  }

  /** `name=value` pairs, separated by commas and percent-encoded. */
  #pairs(name: keyof typeof otelVariables): Record<string, string> {
    const parts = (this.#get(name) ?? "").split(",").filter((part) => part.trim() !== "");
    try {
      return Object.fromEntries(parts.map(readPair));
    } catch {
      this.#warn(
        `${name} has no effect: it must be NAME=VALUE pairs, separated by commas and percent-encoded.`,
      );
      return {};
    }
  }

  #sampling(): Pick<TraceSettings, "ratio" | "parentBased"> {
    const all = Object.keys(samplers).flatMap((name) => [name, parentBasedPrefix + name]);
    const name = this.#choice("OTEL_TRACES_SAMPLER", all) ?? "parentbased_always_on";
    const ratio = samplers[name.replace(parentBasedPrefix, "")] ?? 1;
    return {
      ratio: ratio === "argument" ? this.#ratio() : ratio,
      parentBased: name.startsWith(parentBasedPrefix),
    };
  }

  #ratio(): number {
    const text = this.#get("OTEL_TRACES_SAMPLER_ARG") ?? "1";
    const ratio = Number(text);
    if (ratio >= 0 && ratio <= 1) return ratio;
    this.#warn(
      `OTEL_TRACES_SAMPLER_ARG has no effect: it must be a number from 0 to 1; it is ${JSON.stringify(text)}.`,
    );
    return 1;
  }

  #warnOfOthers(): void {
    for (const name of ["OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] as const)
      this.#choice(name, [protocol]);
    // Those of metrics and logs may be set for other services on the same machine.
    const ours = /^OTEL_(?:EXPORTER_OTLP_(?!METRICS|LOGS)|TRACES_|BSP_|SPAN_|PROPAGATORS$)/;
    const others = Object.keys(this.#environment).filter(
      (name) => ours.test(name) && !(name in otelVariables) && this.#environment[name],
    );
    if (others.length > 0) this.#warn(`These variables have no effect here: ${others.join(", ")}.`);
  }
}

function readPair(text: string): [name: string, value: string] {
  const [name = "", ...value] = text.split("=");
  if (name.trim() === "" || value.length === 0) throw new Error("not NAME=VALUE");
  return [decodeURIComponent(name.trim()), decodeURIComponent(value.join("=").trim())];
}
