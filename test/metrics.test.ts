import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import packageFile from "../package.json" with { type: "json" };
import { metricFamilies } from "../src/operator/metrics.ts";
import {
  eventually,
  operatorPost,
  operatorToken,
  post,
  rawPost,
  sendRaw,
  startTestService,
  temporaryFolder,
} from "./harness.ts";
import { lacks } from "./lacks.ts";

const duration = "plant_store_request_duration_seconds";
const running = await startTestService();
afterAll(() => running[Symbol.asyncDispose]());

/** The page for Prometheus, as it is. */
async function metricsText({ operatorUrl } = running): Promise<string> {
  const headers = { Authorization: `Bearer ${operatorToken}` };
  return (await fetch(`${operatorUrl}/metrics`, { headers })).text();
}

/** The value of each line, by its name and labels. */
async function readMetrics(service = running): Promise<Map<string, number>> {
  const lines = (await metricsText(service)).matchAll(/^([a-z]\S*?(?:\{.*\})?) (\S+)$/gm);
  return new Map([...lines].map(([, name = "", value]) => [name, Number(value)]));
}

const familyOf = (name: string) => name.replace(/_(?:bucket|sum|count)$/, "");

async function metric(name: string): Promise<number> {
  return (await readMetrics()).get(name) ?? Number.NaN;
}

test("metrics have the open connections, and go down when they close", async () => {
  const open = () => metric('plant_store_connections{listener="public"}');
  // Nobody has sent anything yet.
  expect(await open()).toBe(0);
  const sockets = Array.from({ length: 20 }, () => connect(running.port, "127.0.0.1"));
  await eventually(async () => (await open()) === 20);
  for (const socket of sockets) socket.destroy();
  await eventually(async () => (await open()) === 0);
  expect(await metric('plant_store_connections{listener="operator"}')).toBeGreaterThan(0);
});

test("metrics have the duration of every request by its outcome, every refusal, and every batch", async () => {
  const bodies = [
    ...Array.from({ length: 40 }, (_, id) => `{"id":${id},"name":"fern"}`),
    ...['{"id":1,"name":"fern"}', '{"id":1,"name":"moss"}', "{", "[]"],
  ];
  for (const body of bodies.slice(0, 20)) await post(running.url, body);
  await Promise.all(bodies.slice(20, 40).map((body) => post(running.url, body)));
  for (const body of bodies.slice(40)) await post(running.url, body);
  await post(running.url, "{}", { Authorization: "Bearer wrong" });
  await fetch(`${running.url}/livez`);
  await post(running.url, " ".repeat(70_000));
  // No request, so it has no duration.
  await sendRaw(running.port, ["nonsense\r\n\r\n"]);
  const metrics = await readMetrics();
  const count = (outcome: string) => metrics.get(`${duration}_count{outcome="${outcome}"}`);
  expect(["created", "replayed", "conflict", "invalid", "denied", "other", "failed"].map(count)).toEqual([
    40, 1, 1, 3, 1, 1, 0,
  ]);
  expect(metrics.get(`${duration}_bucket{outcome="created",le="+Inf"}`)).toBe(40);
  expect(metrics.get("plant_store_plants_created_total")).toBe(40);
  expect(metrics.get("plant_store_plants_replayed_total")).toBe(1);
  for (const error of [40020, 40102])
    expect(metrics.get(`plant_store_refusals_total{listener="public",error="${error}"}`)).toBe(1);
  const batches = metrics.get("plant_store_batches_total") ?? 0;
  expect(batches).toBeGreaterThan(20);
  expect(metrics.get("plant_store_batch_plants_count")).toBe(batches);
  expect(metrics.get("plant_store_batch_plants_sum")).toBe(42);
  expect(metrics.get("plant_store_commit_duration_seconds_count")).toBe(batches);
  const fsyncs = metrics.get('plant_store_fsync_duration_seconds_count{file="wal"}') ?? 0;
  expect(fsyncs).toBeGreaterThanOrEqual(batches);
  expect([metrics.get("plant_store_ready"), metrics.get("plant_store_pending_plants")]).toEqual([1, 0]);
});

test("the duration of a request includes the wait for its body", async () => {
  const sum = () => metric(`${duration}_sum{outcome="created"}`);
  const before = await sum();
  const request = rawPost('{"id":100,"name":"fern"}');
  await sendRaw(running.port, [request.slice(0, -5), 300, request.slice(-5)]);
  expect((await sum()) - before).toBeGreaterThan(0.25);
});

test("metrics have the checkpoints of the WAL, with the fsync of the data file", async () => {
  // More than the WAL may hold before it is checkpointed.
  const ids = Array.from({ length: 300 }, (_, index) => index + 1000);
  const name = "x".repeat(60_000);
  await Promise.all(ids.map((id) => post(running.url, JSON.stringify({ id, name }))));
  await eventually(async () => (await metric("plant_store_checkpoints_total")) > 0);
  expect(await metric('plant_store_fsync_duration_seconds_count{file="data"}')).toBeGreaterThan(0);
  expect(await metric("plant_store_checkpoint_failures_total")).toBe(0);
  expect(await metric("plant_store_wal_bytes")).toBeGreaterThan(name.length);
});

test("metrics have tokens by state, the process and the build", async () => {
  await operatorPost(running, "/api/tokens", { name: "stays", scopes: ["metrics"] });
  const { token } = await operatorPost(running, "/api/tokens", { name: "goes", scopes: ["metrics"] });
  await operatorPost(running, `/api/tokens/${token.id}/revoke`);
  const metrics = await readMetrics();
  const tokens = ["live", "expired", "revoked"].map((state) =>
    metrics.get(`plant_store_tokens{state="${state}"}`),
  );
  expect(tokens).toEqual([1, 0, 1]);
  const build = `version="${packageFile.version}",runtime="Bun/${Bun.version}",engine="sqlite"`;
  expect(metrics.get(`plant_store_build_info{${build}}`)).toBe(1);
  const nowSeconds = Date.now() / 1000;
  expect(metrics.get("process_start_time_seconds")).toBeWithin(nowSeconds - 3600, nowSeconds);
  expect(metrics.get("process_cpu_seconds_total")).toBeWithin(0.1, 3600);
  expect(metrics.get("process_resident_memory_bytes")).toBeGreaterThan(20_000_000);
  expect(metrics.get("process_open_fds")).toBeWithin(10, metrics.get("process_max_fds") ?? 0);
});

// There is no backup yet, and no TLS.
const absent = [
  "plant_store_last_backup_timestamp_seconds",
  "plant_store_tls_certificate_expiry_timestamp_seconds",
];
test("every metric of the table is on the page, unless it has no value", async () => {
  const page = [...(await readMetrics()).keys()].map((name) => familyOf(name.replace(/\{.*/, "")));
  const known = Object.keys(metricFamilies).filter((name) => !absent.includes(name));
  expect([...new Set(page)]).toEqual(known);
});

test("while the database is unreachable, a scrape says so, and leaves out what it cannot read", async () => {
  await using unreachable = await startTestService({}, "postgres://plants@127.0.0.1:1/plants");
  const metrics = await readMetrics(unreachable);
  expect(metrics.get("plant_store_ready")).toBe(0);
  expect(metrics.get("process_open_fds")).toBeGreaterThan(0);
  expect(metrics.has('plant_store_tokens{state="live"}')).toBe(false);
  expect(metrics.has("plant_store_data_bytes")).toBe(false);
});

const root = join(import.meta.dir, "..");
const readRoot = (path: string) => readFileSync(join(root, path), "utf8");
const { panels, annotations } = JSON.parse(readRoot("deploy/grafana-dashboard.json"));
const alerts = Bun.YAML.parse(readRoot("deploy/alerts.yaml")) as {
  groups: {
    rules: { alert: string; expr: string; annotations: { description: string; runbook: string } }[];
  }[];
};
const rules = alerts.groups.flatMap(({ rules }) => rules);
const queries: string[] = [
  ...panels.flatMap(({ targets }: { targets: object[] }) => targets),
  ...annotations.list,
  ...rules,
].map(({ expr }) => expr);

describe("the dashboard and the alerts", () => {
  test("name only metrics that exist", async () => {
    const exposed = [...(await readMetrics()).keys()].map((name) => name.replace(/\{.*/, ""));
    exposed.push(...absent);
    expect(queries.length).toBeGreaterThan(40);
    const named = queries.flatMap((query) => query.match(/\b(?:plant_store|process)_\w+/g) ?? []);
    expect(named.filter((name) => !exposed.includes(name))).toEqual([]);
    // Not one of them is collected for nothing.
    const used = new Set(named.map(familyOf)).add("process_start_time_seconds");
    expect(Object.keys(metricFamilies).filter((name) => !used.has(name))).toEqual([]);
  });

  test("name only labels and values that exist", async () => {
    const page = await metricsText();
    const added = ["job", "instance"];
    const matchers = queries.flatMap((query) =>
      [...query.matchAll(/(\w+)(=~?)"([^"]*)"/g)].map(([, label = "", operator, value = ""]) => ({
        label,
        pattern: operator === "=" ? RegExp.escape(value) : value,
      })),
    );
    const own = matchers.filter(({ label }) => !added.includes(label));
    expect(own.length).toBeGreaterThan(10);
    for (const { label, pattern } of own) expect(page).toMatch(new RegExp(`[{,]${label}="(?:${pattern})"`));
  });

  test("have a page that says what to do: one section for each alert, and no other", () => {
    const page = readRoot("docs/alerts.md");
    const sections = page.split(/^## /m).slice(1);
    // An alert of two severities has two rules.
    const alerts = [...new Set(rules.map(({ alert }) => alert))];
    expect(sections.map((section) => section.split("\n")[0])).toEqual(alerts);
    for (const section of sections) expect(section.length).toBeGreaterThan(100);
  });
});

test.each(rules)("the alert $alert says what it means, and where to read more", ({ alert, annotations }) => {
  expect(annotations.description).toMatch(/^[A-Z].{40,}\.$/);
  expect(annotations.runbook).toBe(`docs/alerts.md#${alert.toLowerCase()}`);
});

describe.skipIf(lacks("promtool", Bun.which("promtool") === null))("promtool", () => {
  const promtool = (args: readonly string[], input = "") =>
    spawnSync("promtool", args, { cwd: root, input, encoding: "utf8" });

  test("finds nothing wrong with the metrics, nor with a query", async () => {
    const checked = promtool(["check", "metrics"], await metricsText());
    expect(checked).toMatchObject({ status: 0, stdout: "", stderr: "" });
    const recorded = queries.map((query, index) => ({
      record: `query_${index}`,
      expr: query.replaceAll("$instance", ".+").replaceAll("$__rate_interval", "1m"),
    }));
    using folder = temporaryFolder();
    const file = join(folder.path, "queries.yaml");
    writeFileSync(file, JSON.stringify({ groups: [{ name: "queries", rules: recorded }] }));
    expect(promtool(["check", "rules", file])).toMatchObject({ status: 0, stderr: "" });
  });

  test("accepts the alerts, and each is raised when it should be", () => {
    using folder = temporaryFolder();
    // promtool compares all annotations. These two are the same text each time, so the fixtures have the summaries alone.
    const summaries = readRoot("deploy/alerts.yaml").replace(/^ +(?:description|runbook): .*\n/gm, "");
    writeFileSync(join(folder.path, "alerts.yaml"), summaries);
    const files = ["alerts-test.yaml", "slow-alerts-test.yaml"].map((name) => {
      const path = join(folder.path, name);
      writeFileSync(
        path,
        readRoot(`test/fixtures/${name}`).replace("../../deploy/alerts.yaml", "alerts.yaml"),
      );
      return path;
    });
    const { status, stdout, stderr } = promtool(["test", "rules", ...files]);
    expect([stderr, stdout.match(/SUCCESS|FAILED/g), status]).toEqual(["", ["SUCCESS", "SUCCESS"], 0]);
    const tested = files.map((path) => readFileSync(path, "utf8")).join("");
    for (const { alert } of rules) expect(tested).toContain(`- alertname: ${alert}\n`);
  });
});
