import { expect, test } from "bun:test";
import { readOtel } from "./otel-variables.ts";

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };

test("without an endpoint there are no traces, and no warnings", () => {
  expect(readOtel({})).toEqual({ traces: undefined, warnings: [] });
  expect(readOtel({ OTEL_TRACES_SAMPLER: "nonsense" })).toEqual({ traces: undefined, warnings: [] });
});

test("with an endpoint, all the rest has OpenTelemetry's defaults", () => {
  expect(readOtel(endpoint)).toEqual({
    traces: {
      endpoint: "http://collector:4318/v1/traces",
      headers: {},
      resource: { "service.name": "plant-store", "service.version": expect.stringMatching(/^\d/) },
      ratio: 1,
      parentBased: true,
    },
    warnings: [],
  });
});

for (const [variables, expected] of [
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "https://c/otlp/" }, { endpoint: "https://c/otlp/v1/traces" }],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://t:1/own" }, { endpoint: "http://t:1/own" }],
  [
    { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.01" },
    { ratio: 0.01, parentBased: false },
  ],
  [
    { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" },
    { ratio: 0, parentBased: true },
  ],
  [{ OTEL_TRACES_SAMPLER: "parentbased_always_off" }, { ratio: 0, parentBased: true }],
  [{ OTEL_TRACES_SAMPLER: "always_on" }, { ratio: 1, parentBased: false }],
  [{ OTEL_EXPORTER_OTLP_HEADERS: "Key=a%2Cb%3D, other = 2" }, { headers: { key: "a,b=", other: "2" } }],
  [
    { OTEL_EXPORTER_OTLP_HEADERS: "key=1,other=2", OTEL_EXPORTER_OTLP_TRACES_HEADERS: "key=3" },
    { headers: { key: "3", other: "2" } },
  ],
  [
    { OTEL_RESOURCE_ATTRIBUTES: "service.name=a,host.name=b%20c", OTEL_SERVICE_NAME: "d" },
    { resource: { "service.name": "d", "service.version": expect.any(String), "host.name": "b c" } },
  ],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", OTEL_SDK_DISABLED: "false" }, {}],
] as [Record<string, string>, object][])
  test(`accepts ${JSON.stringify(variables)}`, () => {
    const { traces, warnings } = readOtel({ ...endpoint, ...variables });
    expect(traces).toMatchObject(expected);
    expect(warnings).toEqual([]);
  });

for (const variables of [
  { OTEL_SDK_DISABLED: "TRUE" },
  { OTEL_TRACES_EXPORTER: "none" },
  { OTEL_TRACES_SAMPLER: "always_off" },
  { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" },
])
  test(`makes no span with ${JSON.stringify(variables)}`, () => {
    expect(readOtel({ ...endpoint, ...variables })).toEqual({ traces: undefined, warnings: [] });
  });

for (const [variables, warning] of [
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" }, /must be an http or https URL/],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://me:hidden@c" }, /without credentials/],
  [
    { OTEL_TRACES_SAMPLER: "jaeger_remote" },
    /OTEL_TRACES_SAMPLER has no effect: .* or .*; it is "jaeger_remote"/,
  ],
  [
    { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "1%" },
    /a number from 0 to 1; it is "1%"/,
  ],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, /must be http\/json; it is "grpc"/],
  [{ OTEL_SDK_DISABLED: "yes" }, /must be true or false; it is "yes"/],
  [{ OTEL_TRACES_EXPORTER: "zipkin" }, /must be otlp or none; it is "zipkin"/],
  [{ OTEL_EXPORTER_OTLP_HEADERS: "hidden" }, /OTEL_EXPORTER_OTLP_HEADERS has no effect/],
  [{ OTEL_EXPORTER_OTLP_HEADERS: "a=hidden%0d%0ab" }, /no header can have/],
  [{ OTEL_RESOURCE_ATTRIBUTES: "a=%zz" }, /OTEL_RESOURCE_ATTRIBUTES has no effect/],
  [
    { OTEL_BSP_SCHEDULE_DELAY: "1", OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" },
    /: OTEL_BSP_.*, OTEL_EXPORTER_OTLP_COMP/,
  ],
] as [Record<string, string>, RegExp][])
  test(`warns once about ${JSON.stringify(variables)}`, () => {
    const { warnings } = readOtel({ ...endpoint, ...variables });
    expect(warnings).toEqual([expect.stringMatching(warning)]);
    expect(warnings.join()).not.toContain("hidden");
  });
