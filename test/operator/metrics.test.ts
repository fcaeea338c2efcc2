// The page for Prometheus, and the dashboard and alerts that read it.
import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import packageFile from "../../package.json" with { type: "json" };
import { metricFamilies } from "../../src/telemetry/metrics.ts";
import { eventually } from "../support/eventually.ts";
import { lacksProgram } from "../support/lacks.ts";
import { mintToken, operatorFetch, operatorPost } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { rawPost, sendRaw, untilContinue } from "../support/raw-http.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

// No test sends a plant to this one: those that only read the page share it.
const idle = await startTestService();
afterAll(() => idle[Symbol.asyncDispose]());

const duration = "plant_store_request_duration_seconds";

/** The page for Prometheus, as it is. */
async function metricsText(service: TestService): Promise<string> {
  return (await operatorFetch(service, "/metrics")).text();
}

/** The value of each line, by its name and labels. */
async function readMetrics(service: TestService): Promise<Map<string, number>> {
  const lines = (await metricsText(service)).matchAll(/^([a-z]\S*?(?:\{.*\})?) (\S+)$/gm);
  return new Map([...lines].map(([, name = "", value]) => [name, Number(value)]));
}

async function metric(service: TestService, name: string): Promise<number> {
  return (await readMetrics(service)).get(name) ?? Number.NaN;
}

const familyOf = (name: string) => name.replace(/_(?:bucket|sum|count)$/, "");

test("metrics have the open connections of each listener, of which the scrape has one", async () => {
  await using service = await startTestService();
  expect(await metric(service, 'plant_store_connections{listener="operator"}')).toBe(1);
  const open = () => metric(service, 'plant_store_connections{listener="public"}');
  expect(await open()).toBe(0);
  const sockets = Array.from({ length: 20 }, () => connect(service.port, "127.0.0.1"));
  await eventually(async () => (await open()) === 20);
  for (const socket of sockets) socket.destroy();
  await eventually(async () => (await open()) === 0);
});

test("metrics count requests, refusals, plants, batches and tokens", async () => {
  await using service = await startTestService();
  await mintToken(service, { name: "stays", scopes: ["metrics"] });
  const { token } = await mintToken(service, { name: "goes", scopes: ["metrics"] });
  await operatorPost(service, `/api/tokens/${token.id}/revoke`);
  const create = (id: number) => post(service.url, `{"id":${id},"name":"fern"}`);
  for (let id = 0; id < 20; id++) await create(id);
  await Promise.all(Array.from({ length: 20 }, (_, index) => create(20 + index)));
  // A replay, and a conflict.
  await create(1);
  await post(service.url, '{"id":1,"name":"moss"}');
  // Three invalid bodies: one is no JSON, one is no object, and one is too large.
  await post(service.url, "{");
  await post(service.url, "[]");
  await post(service.url, " ".repeat(70_000));
  await post(service.url, "{}", bearer("wrong"));
  await fetch(`${service.url}/livez`);
  // This is no request, so it has no duration.
  await sendRaw(service.port, ["nonsense\r\n\r\n"]);
  const metrics = await readMetrics(service);

  const outcomes = ["created", "replayed", "conflict", "invalid", "denied", "other", "failed"];
  const counts = outcomes.map((name) => [name, metrics.get(`${duration}_count{outcome="${name}"}`)]);
  expect(Object.fromEntries(counts)).toEqual({
    created: 40,
    replayed: 1,
    conflict: 1,
    invalid: 3,
    denied: 1,
    other: 1,
    failed: 0,
  });
  const batches = metrics.get("plant_store_batches_total") ?? 0;
  expect(batches).toBeGreaterThan(20);
  const fsyncs = metrics.get('plant_store_fsync_duration_seconds_count{file="wal"}');
  expect(fsyncs).toBeGreaterThanOrEqual(batches);
  expect(Object.fromEntries(metrics)).toMatchObject({
    [`${duration}_bucket{outcome="created",le="+Inf"}`]: 40,
    'plant_store_refusals_total{listener="public",error="40020"}': 1,
    'plant_store_refusals_total{listener="public",error="40102"}': 1,
    plant_store_plants_created_total: 40,
    plant_store_plants_replayed_total: 1,
    plant_store_pending_plants: 0,
    plant_store_batch_plants_count: batches,
    // The replay and the conflict were in a batch too.
    plant_store_batch_plants_sum: 42,
    plant_store_commit_duration_seconds_count: batches,
    'plant_store_tokens{state="live"}': 1,
    'plant_store_tokens{state="expired"}': 0,
    'plant_store_tokens{state="revoked"}': 1,
  });
});

test("the duration of a request includes the wait for its body", async () => {
  await using service = await startTestService();
  const request = rawPost('{"id":100,"name":"fern"}', "Expect: 100-continue\r\n");
  // The wait begins when the service has read the head, however slow the machine is.
  await sendRaw(service.port, [request.slice(0, -5), untilContinue, 300, request.slice(-5)]);
  expect(await metric(service, `${duration}_sum{outcome="created"}`)).toBeGreaterThan(0.25);
});

test("metrics have the checkpoints of the WAL, with the fsync of the data file", async () => {
  await using service = await startTestService();
  // More than the WAL may hold before it is checkpointed.
  const ids = Array.from({ length: 300 }, (_, index) => index);
  const name = "x".repeat(60_000);
  await Promise.all(ids.map((id) => post(service.url, JSON.stringify({ id, name }))));
  await eventually(async () => (await metric(service, "plant_store_checkpoints_total")) > 0);
  const metrics = await readMetrics(service);
  expect(metrics.get('plant_store_fsync_duration_seconds_count{file="data"}')).toBeGreaterThan(0);
  expect(metrics.get("plant_store_checkpoint_failures_total")).toBe(0);
  expect(metrics.get("plant_store_wal_bytes")).toBeGreaterThan(name.length);
});

test("metrics have the build, what the process uses, and that it is ready", async () => {
  const metrics = await readMetrics(idle);
  const build = `version="${packageFile.version}",runtime="Bun/${Bun.version}",engine="sqlite"`;
  expect(metrics.get(`plant_store_build_info{${build}}`)).toBe(1);
  const nowSeconds = Date.now() / 1000;
  expect(metrics.get("process_start_time_seconds")).toBeWithin(nowSeconds - 3600, nowSeconds);
  expect(metrics.get("process_cpu_seconds_total")).toBeWithin(0.1, 3600);
  expect(metrics.get("process_resident_memory_bytes")).toBeGreaterThan(20_000_000);
  expect(metrics.get("process_open_fds")).toBeWithin(10, metrics.get("process_max_fds") ?? 0);
  expect(metrics.get("plant_store_ready")).toBe(1);
});

test("while the database is unreachable, a scrape leaves out what it cannot read", async () => {
  await using unreachable = await startTestService({ database: "postgres://plants@127.0.0.1:1/plants" });
  const metrics = await readMetrics(unreachable);
  expect(metrics.get("plant_store_ready")).toBe(0);
  expect(metrics.get("process_open_fds")).toBeGreaterThan(0);
  expect(metrics.has('plant_store_tokens{state="live"}')).toBe(false);
  expect(metrics.has("plant_store_data_bytes")).toBe(false);
});

const root = join(import.meta.dir, "../..");
const readRoot = (path: string) => readFileSync(join(root, path), "utf8");
const { panels, annotations } = JSON.parse(readRoot("deploy/grafana-dashboard.json"));
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly description: string; readonly runbook: string };
}
const alerts = Bun.YAML.parse(readRoot("deploy/alerts.yaml")) as { groups: { rules: Rule[] }[] };
// What promtool tests the alerts by.
const fixtures = ["alerts-test.yaml", "slow-alerts-test.yaml"];
const readFixture = (name: string) => readRoot(`test/fixtures/${name}`);
const rules = alerts.groups.flatMap(({ rules }) => rules);
const queries: string[] = [
  ...panels.flatMap(({ targets }: { targets: object[] }) => targets),
  ...annotations.list,
  ...rules,
].map(({ expr }) => expr);
test("the page has every metric, and the dashboard and the alerts name each of them and no other", async () => {
  // There is no backup yet, no TLS, and nobody who follows PostgreSQL.
  const absent = [
    "plant_store_last_backup_timestamp_seconds",
    "plant_store_followers_waiting_since_timestamp_seconds",
    "plant_store_tls_certificate_expiry_timestamp_seconds",
  ];
  const exposed = [...(await readMetrics(idle)).keys()].map((name) => name.replace(/\{.*/, ""));
  const known = Object.keys(metricFamilies);
  expect([...new Set(exposed.map(familyOf))]).toEqual(known.filter((name) => !absent.includes(name)));

  expect(queries.length).toBeGreaterThan(40);
  const named = queries.flatMap((query) => query.match(/\b(?:plant_store|process)_\w+/g) ?? []);
  expect(named.filter((name) => ![...exposed, ...absent].includes(name))).toEqual([]);
  // None is collected for nothing.
  const used = new Set(named.map(familyOf)).add("process_start_time_seconds");
  expect(known.filter((name) => !used.has(name))).toEqual([]);
});

test("the dashboard and the alerts choose by labels and values that exist", async () => {
  const matchers = queries
    .flatMap((query) => query.match(/\w+=~?"[^"]*"/g) ?? [])
    // Prometheus itself adds these two labels.
    .filter((matcher) => !/^(?:job|instance)=/.test(matcher));
  expect(matchers.length).toBeGreaterThan(10);
  const text = await metricsText(idle);
  const unknown = matchers.filter((matcher) => {
    const [, label = "", operator, value = ""] = /(\w+)(=~?)"([^"]*)"/.exec(matcher) ?? [];
    const pattern = operator === "=" ? RegExp.escape(value) : value;
    return !new RegExp(`[{,]${label}="(?:${pattern})"`).test(text);
  });
  expect(unknown).toEqual([]);
});

test("each alert says what it means, has a section on the page of alerts, and is tested", () => {
  // An alert of two severities has two rules.
  const names = [...new Set(rules.map(({ alert }) => alert))];
  const [, ...sections] = readRoot("docs/alerts.md").split(/^## /m);
  expect(sections.map((section) => section.slice(0, section.indexOf("\n")))).toEqual(names);
  expect(sections.filter((section) => section.length - section.indexOf("\n") < 100)).toEqual([]);
  for (const { alert, annotations } of rules) {
    expect(annotations.runbook).toBe(`docs/alerts.md#${alert.toLowerCase()}`);
    expect(annotations.description).toMatch(/^[A-Z].{40,}\.$/);
  }
  const tested = fixtures.flatMap((name) => readFixture(name).match(/(?<=- alertname: ).*$/gm) ?? []);
  expect([...new Set(tested)].sort()).toEqual(names.sort());
});

describe.skipIf(lacksProgram("promtool"))("promtool", () => {
  const promtool = (args: readonly string[], input = "") =>
    spawnSync("promtool", args, { cwd: root, input, encoding: "utf8" });

  test("finds nothing wrong with the metrics and the queries", async () => {
    const metrics = promtool(["check", "metrics"], await metricsText(idle));
    expect(metrics).toMatchObject({ status: 0, stdout: "", stderr: "" });
    const recorded = queries.map((query, index) => ({
      record: `query_${index}`,
      expr: query.replaceAll("$instance", ".+").replaceAll("$__rate_interval", "1m"),
    }));
    using folder = temporaryFolder();
    const file = join(folder.path, "queries.yaml");
    writeFileSync(file, JSON.stringify({ groups: [{ name: "queries", rules: recorded }] }));
    expect(promtool(["check", "rules", file])).toMatchObject({ status: 0, stderr: "" });
  });

  test("sees each alert raised when it should be", () => {
    using folder = temporaryFolder();
    // promtool compares all annotations. These two are the same text each time, so the fixtures have the summaries alone.
    const summaries = readRoot("deploy/alerts.yaml").replace(/^ +(?:description|runbook): .*\n/gm, "");
    writeFileSync(join(folder.path, "alerts.yaml"), summaries);
    const files = fixtures.map((name) => {
      const path = join(folder.path, name);
      writeFileSync(path, readFixture(name).replace("../../deploy/alerts.yaml", "alerts.yaml"));
      return path;
    });
    const { status, stdout, stderr } = promtool(["test", "rules", ...files]);
    expect(stderr).toBe("");
    expect(stdout.match(/SUCCESS|FAILED/g)).toEqual(["SUCCESS", "SUCCESS"]);
    expect(status).toBe(0);
  });
});
