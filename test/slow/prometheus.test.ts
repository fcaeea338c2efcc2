import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { start, watch } from "../command.ts";
import { eventually, operatorPost, post, startTestService, temporaryFolder } from "../harness.ts";
import { lacks } from "../lacks.ts";
import { freePort } from "../postgres.ts";

const alerts = join(import.meta.dir, "../../deploy/alerts.yaml");

test.skipIf(lacks("prometheus", Bun.which("prometheus") === null))(
  "a real Prometheus scrapes the service with a token of the scope metrics, and raises no alert",
  async () => {
    await using running = await startTestService();
    for (let id = 1; id <= 20; id++) await post(running.url, `{"id":${id},"name":"fern"}`);
    const { secret } = await operatorPost(running, "/api/tokens", { name: "p", scopes: ["metrics"] });
    using folder = temporaryFolder();
    const file = join(folder.path, "prometheus.yml");
    const targets = [{ targets: [new URL(running.operatorUrl).host] }];
    const job = {
      job_name: "plant-store",
      authorization: { credentials: secret },
      static_configs: targets,
    };
    const config = {
      global: { scrape_interval: "500ms", scrape_timeout: "500ms", evaluation_interval: "500ms" },
      rule_files: [alerts],
      scrape_configs: [job],
    };
    writeFileSync(file, JSON.stringify(config));
    const address = `127.0.0.1:${await freePort()}`;
    const flags = [`--config.file=${file}`, `--storage.tsdb.path=${folder.path}/data`];
    const prometheus = start("prometheus", [...flags, `--web.listen-address=${address}`], {});
    const said = watch(prometheus);
    await using cleanUp = new AsyncDisposableStack();
    cleanUp.defer(async () => {
      prometheus.kill("SIGKILL");
      await said.ended;
    });
    const sampleOf = async (query: string): Promise<string | undefined> => {
      const response = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(query)}`);
      const { data } = (await response.json()) as { data?: { result: { value: [number, string] }[] } };
      return data?.result[0]?.value[1];
    };
    await eventually(
      async () => (await sampleOf("plant_store_plants_created_total").catch(() => undefined)) === "20",
      "Prometheus to have the plants that were created",
    );
    expect(await sampleOf('up{job="plant-store"}')).toBe("1");
    expect(await sampleOf('count(ALERTS{alertstate="firing"})')).toBeUndefined();
  },
);
