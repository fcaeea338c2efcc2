import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { start, watch } from "../command.ts";
import { eventually, operatorPost, post, startTestService, temporaryFolder } from "../harness.ts";
import { lacks } from "../lacks.ts";
import { metricsText } from "../metrics-page.ts";
import { alertRules, dashboardQueries } from "../monitoring-files.ts";
import { freePort } from "../postgres.ts";
import { printIfTestFails } from "../service-logs.ts";

const deploy = join(import.meta.dir, "../../deploy");
const isMissing = (program: string) => lacks(program, spawnSync(program, ["--version"]).status !== 0);
// Without a checkpoint, a backup or a refusal there is nothing to show.
const maybeEmpty = /fsync_duration.*"data"|last_backup|refusals_total.*> 0|start_time_seconds/;

test.skipIf(isMissing("prometheus"))(
  "a real Prometheus scrapes the metrics and runs every query",
  async () => {
    await using running = await startTestService();
    for (let id = 1; id <= 20; id++) await post(running.url, `{"id":${id},"name":"fern"}`);
    const { secret } = await operatorPost(running, "/api/tokens", {
      name: "prometheus",
      scopes: ["metrics"],
    });
    using folder = temporaryFolder();
    const config = {
      global: { scrape_interval: "500ms", scrape_timeout: "500ms", evaluation_interval: "500ms" },
      rule_files: [join(deploy, "alerts.yaml")],
      scrape_configs: [
        {
          job_name: "plant-store",
          authorization: { credentials: secret },
          static_configs: [{ targets: [new URL(running.operatorUrl).host] }],
        },
      ],
    };
    const file = join(folder.path, "prometheus.yml");
    writeFileSync(file, JSON.stringify(config));
    const args = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder.path, "data")}`];
    const url = `http://127.0.0.1:${await freePort()}`;
    const child = start("prometheus", [...args, `--web.listen-address=${new URL(url).host}`], {});
    const said = watch(child);
    await using cleanUp = new AsyncDisposableStack();
    cleanUp.defer(async () => {
      child.kill("SIGKILL");
      await said.ended;
    });
    cleanUp.defer(printIfTestFails(said.err));
    await eventually(async () => (await fetch(`${url}/-/ready`)).ok, "Prometheus to be ready");
    const query = async (text: string) => {
      const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(text)}`);
      return (await response.json()) as {
        status: string;
        error?: string;
        data?: { result: { value: [number, string] }[] };
      };
    };
    const sampleOf = async (text: string) => (await query(text)).data?.result[0]?.value[1];
    await eventually(
      async () => (await sampleOf("count_over_time(plant_store_ready[1m]) >= 3")) !== undefined,
    );
    expect(await sampleOf('up{job="plant-store"}')).toBe("1");
    expect(await sampleOf("plant_store_plants_created_total")).toBe("20");
    expect(await sampleOf('plant_store_request_duration_seconds_count{outcome="created"}')).toBe("20");

    for (const written of dashboardQueries()) {
      const text = written.replaceAll("$instance", ".+").replaceAll("$__rate_interval", "1m");
      const { status, error, data } = await query(text);
      expect([written, status, error]).toEqual([written, "success", undefined]);
      if (!maybeEmpty.test(written)) expect([written, data?.result.length]).not.toEqual([written, 0]);
    }
    for (const { expr } of alertRules()) expect((await query(expr)).status).toBe("success");
    expect(await sampleOf('count(ALERTS{alertstate="firing"})')).toBeUndefined();
  },
);

const promtool = (args: readonly string[], input = "") =>
  spawnSync("promtool", args, { cwd: join(deploy, ".."), input, encoding: "utf8" });

describe.skipIf(isMissing("promtool"))("promtool", () => {
  test("finds nothing wrong with the metrics", async () => {
    await using running = await startTestService();
    await post(running.url, '{"id":1,"name":"fern"}');
    const { status, stdout, stderr } = promtool(["check", "metrics"], await metricsText(running));
    expect([status, stdout, stderr]).toEqual([0, "", ""]);
  });

  test("accepts the alerts, and each is raised when it should be", () => {
    const files = ["test/fixtures/alerts-test.yaml", "test/fixtures/slow-alerts-test.yaml"];
    const { status, stdout, stderr } = promtool(["test", "rules", ...files]);
    expect([stderr, stdout.match(/SUCCESS|FAILED/g), status]).toEqual(["", ["SUCCESS", "SUCCESS"], 0]);
    const tested = files.map((file) => readFileSync(join(deploy, "..", file), "utf8")).join("");
    for (const { alert } of alertRules()) expect(tested).toContain(`- alertname: ${alert}\n`);
  });
});
