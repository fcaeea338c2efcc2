import { describe, expect, test } from "bun:test";
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

test("the commands of docs/monitor.md add the alerts and the job, and make all listen on this machine alone", () => {
  using folder = temporaryFolder();
  const path = (name: string) => join(folder.path, name);
  const read = (name: string) => readFileSync(path(name), "utf8");
  // What matters of the files that Debian installs.
  const installed = "rule_files:\n  # - first_rules.yml\n\nscrape_configs:\n  - job_name: 'node'\n";
  writeFileSync(path("prometheus.yml"), installed);
  for (const name of ["prometheus", "prometheus-alertmanager"])
    writeFileSync(path(name), '# Set the command-line arguments.\nARGS=""\n');
  const page = readFileSync(join(root, "docs/monitor.md"), "utf8");
  const [commands = ""] =
    /^sed -i [^\n]+prometheus\.yml\n[\s\S]+?prometheus-alertmanager\n/m.exec(page) ?? [];
  const here = commands.replaceAll(/ \/etc\/(?:prometheus|default)\//g, ` ${folder.path}/`);
  const run = spawnSync("sh", ["-e"], { input: here, encoding: "utf8" });
  expect(run).toMatchObject({ status: 0, stderr: "" });
  expect(Bun.YAML.parse(read("prometheus.yml"))).toMatchObject({
    rule_files: [path("plant-store-alerts.yaml")],
    scrape_configs: [{ job_name: "node" }, { job_name: "plant-store" }],
  });
  expect(read("prometheus")).toContain('ARGS="--web.listen-address=127.0.0.1:9090"\n');
  expect(read("prometheus-alertmanager")).toContain(
    '\nARGS="--web.listen-address=127.0.0.1:9093 --cluster.listen-address="\n',
  );
  if (!lacks("amtool", Bun.which("amtool") === null))
    expect(spawnSync("amtool", ["check-config", path("alertmanager.yml")]).status).toBe(0);
});
