import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { metricFamilies } from "../src/operator/metrics.ts";
import { startTestService, temporaryFolder } from "./harness.ts";
import { lacks } from "./lacks.ts";
import { metricsText } from "./metrics-page.ts";
import { alertRules, dashboardQueries } from "./monitoring-files.ts";

const root = join(import.meta.dir, "..");
/** The metrics that a query names, without a histogram's suffix. */
function metricsIn(query: string): string[] {
  return [...query.matchAll(/\b(?:plant_store|process)_\w+/g)].map(([name]) => {
    const family = name.replace(/_(?:bucket|sum|count)$/, "");
    const isHistogram = Object.entries(metricFamilies).some(
      ([known, { type }]) => known === family && type === "histogram",
    );
    return isHistogram && family !== name ? family : name;
  });
}

describe("the dashboard and the alerts", () => {
  test("name only metrics that exist", () => {
    const queries = [...dashboardQueries(), ...alertRules().map(({ expr }) => expr)];
    expect(queries.length).toBeGreaterThan(40);
    const named = new Set(queries.flatMap(metricsIn));
    expect([...named].filter((name) => !(name in metricFamilies))).toEqual([]);
    // Not one of them is collected for nothing.
    const elsewhere = ["process_start_time_seconds"];
    expect(Object.keys(metricFamilies).filter((name) => !named.has(name))).toEqual(elsewhere);
  });

  test("name only labels and values that exist", async () => {
    await using running = await startTestService();
    const page = await metricsText(running);
    const added = ["job", "instance"];
    const matchers = [...dashboardQueries(), ...alertRules().map(({ expr }) => expr)].flatMap((query) =>
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
    const page = readFileSync(join(root, "docs/alerts.md"), "utf8");
    const sections = page.split(/^## /m).slice(1);
    expect(sections.map((section) => section.split("\n")[0])).toEqual(alertRules().map(({ alert }) => alert));
    for (const section of sections) expect(section.length).toBeGreaterThan(100);
  });
});

// What Debian 12 installs, without most comments.
const debianConfig = `global:
  scrape_interval:     15s
rule_files:
  # - "first_rules.yml"
  # - "second_rules.yml"

scrape_configs:
  - job_name: 'prometheus'
    static_configs:
      - targets: ['localhost:9090']

  - job_name: node
    static_configs:
      - targets: ['localhost:9100']
`;

describe("the commands of docs/monitor.md, on the configuration of Debian", () => {
  let folder: ReturnType<typeof temporaryFolder>;
  const read = (file: string) => readFileSync(join(folder.path, file), "utf8");
  beforeAll(() => {
    folder = temporaryFolder();
    writeFileSync(join(folder.path, "prometheus.yml"), debianConfig);
    for (const name of ["prometheus", "prometheus-alertmanager"])
      writeFileSync(join(folder.path, name), '# Set the command-line arguments.\nARGS=""\n');
    const page = readFileSync(join(root, "docs/monitor.md"), "utf8");
    const commands =
      /^sed -i [^\n]+prometheus\.yml\n[\s\S]+?prometheus-alertmanager\n/m.exec(page)?.[0] ?? "";
    const here = commands.replaceAll(/ \/etc\/(?:prometheus|default)\//g, ` ${folder.path}/`);
    const run = spawnSync("sh", ["-e"], { input: here, encoding: "utf8" });
    expect(run).toMatchObject({ status: 0, stderr: "" });
  });
  afterAll(() => folder[Symbol.dispose]());

  test("add the alerts and the job, mail every alert, and make both listen on this machine alone", () => {
    expect(Bun.YAML.parse(read("prometheus.yml"))).toMatchObject({
      rule_files: [`${folder.path}/plant-store-alerts.yaml`],
      scrape_configs: [{ job_name: "prometheus" }, { job_name: "node" }, { job_name: "plant-store" }],
    });
    expect(Bun.YAML.parse(read("alertmanager.yml"))).toMatchObject({
      route: { receiver: "mail" },
      receivers: [{ name: "mail", email_configs: [{ to: "you@example.org", smarthost: "127.0.0.1:25" }] }],
    });
    expect(read("prometheus")).toContain('ARGS="--web.listen-address=127.0.0.1:9090"\n');
    expect(read("prometheus-alertmanager")).toMatch(
      /^ARGS="--web.listen-address=127.0.0.1:9093 --cluster.listen-address="$/m,
    );
  });

  test.skipIf(lacks("amtool", Bun.which("amtool") === null))("amtool accepts the result", () => {
    const { status } = spawnSync("amtool", ["check-config", join(folder.path, "alertmanager.yml")]);
    expect(status).toBe(0);
  });
});
