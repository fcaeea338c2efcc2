// npm run test:prometheus
// Not among the tests of `npm test`: Prometheus waits five seconds before its first scrape.
import { expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { eventually, operatorToken, post, startTestService, temporaryFolder } from "./harness.ts";
import { alertRules, dashboardQueries } from "./monitoring-files.ts";

const isMissing = spawnSync("prometheus", ["--version"]).status !== 0;
const needed = isMissing ? " (skipped: prometheus is not installed)" : "";
const rules = join(import.meta.dir, "../deploy/alerts.yaml");
// Without a checkpoint, a backup or a refusal there is nothing to show.
const maybeEmpty = /fsync_duration.*"data"|last_backup|refusals_total.*> 0|start_time_seconds/;

/** A real Prometheus that scrapes the target twice per second. */
async function startPrometheus(target: string, token: string) {
  const folder = temporaryFolder();
  writeFileSync(join(folder.path, "token"), token);
  const config = {
    global: { scrape_interval: "500ms", scrape_timeout: "500ms", evaluation_interval: "500ms" },
    rule_files: [rules],
    scrape_configs: [
      {
        job_name: "plant-store",
        authorization: { credentials_file: join(folder.path, "token") },
        static_configs: [{ targets: [target] }],
      },
    ],
  };
  // JSON is YAML.
  writeFileSync(join(folder.path, "prometheus.yml"), JSON.stringify(config));
  const process = spawn("prometheus", [
    `--config.file=${join(folder.path, "prometheus.yml")}`,
    `--storage.tsdb.path=${join(folder.path, "data")}`,
    "--web.listen-address=127.0.0.1:0",
  ]);
  let output = "";
  process.stderr.on("data", (text) => {
    output += text;
  });
  const ended = new Promise((resolve) => process.on("close", resolve));
  const address = () => /msg="Listening on" address=(\S+)/.exec(output)?.[1];
  await eventually(() => address() !== undefined && output.includes("Server is ready"));
  return {
    async query(text: string): Promise<{ status: string; error?: string; data?: { result: unknown[] } }> {
      const url = `http://${address()}/api/v1/query?query=${encodeURIComponent(text)}`;
      return (await fetch(url)).json() as never;
    },
    async [Symbol.asyncDispose]() {
      process.kill("SIGKILL");
      await ended;
      folder[Symbol.dispose]();
    },
  };
}

test.skipIf(isMissing)(`a real Prometheus scrapes the metrics and runs every query${needed}`, async () => {
  await using running = await startTestService();
  for (let id = 1; id <= 20; id++) await post(running.url, `{"id":${id},"name":"fern"}`);
  const created = await fetch(`${running.operatorUrl}/api/tokens`, {
    method: "POST",
    headers: { Authorization: `Bearer ${operatorToken}` },
    body: JSON.stringify({ name: "prometheus", scopes: ["metrics"] }),
  });
  const { secret } = (await created.json()) as { secret: string };
  await using prometheus = await startPrometheus(new URL(running.operatorUrl).host, secret);
  const sampleOf = async (query: string) => {
    const [sample] = (await prometheus.query(query)).data?.result ?? [];
    return (sample as { value: [number, string] } | undefined)?.value[1];
  };
  await eventually(async () => (await sampleOf("count_over_time(plant_store_ready[1m]) >= 3")) !== undefined);
  expect(await sampleOf('up{job="plant-store"}')).toBe("1");
  expect(await sampleOf("plant_store_plants_created_total")).toBe("20");
  expect(await sampleOf('plant_store_request_duration_seconds_count{outcome="created"}')).toBe("20");

  for (const query of dashboardQueries()) {
    const text = query.replaceAll("$instance", ".+").replaceAll("$__rate_interval", "1m");
    const { status, error, data } = await prometheus.query(text);
    expect([query, status, error]).toEqual([query, "success", undefined]);
    if (!maybeEmpty.test(query)) expect([query, data?.result.length]).not.toEqual([query, 0]);
  }
  for (const { expr } of alertRules()) expect((await prometheus.query(expr)).status).toBe("success");
  expect(await sampleOf('count(ALERTS{alertstate="firing"})')).toBe(undefined as never);
});

/** A mail server that accepts everything, without TLS and authentication, as msmtpd does. */
async function startMailServer() {
  let received = "";
  const server = createServer((socket) => {
    let inMail = false;
    const reply = (text: string) => socket.write(`${text}\r\n`);
    let rest = "";
    reply("220 ready");
    socket.on("data", (chunk) => {
      const lines = (rest + chunk).split("\r\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        received += `${line}\n`;
        if (inMail && line !== ".") continue;
        if (line === "DATA") reply("354 go on");
        else reply(line.startsWith("QUIT") ? "221 bye" : "250 ok");
        inMail = line === "DATA";
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    received: () => received,
    [Symbol.dispose]: () => void server.close(),
  };
}

const alertmanager = "prometheus-alertmanager";
const noAlertmanager = spawnSync(alertmanager, ["--version"]).status !== 0;
const unavailable = noAlertmanager ? ` (skipped: ${alertmanager} is not installed)` : "";

test.skipIf(noAlertmanager)(`a real Alertmanager mails an alert, as documented${unavailable}`, async () => {
  using mail = await startMailServer();
  using folder = temporaryFolder();
  const page = readFileSync(join(import.meta.dir, "../docs/monitor.md"), "utf8");
  const [, config = ""] = /alertmanager\.yml <<'END'\n([\s\S]+?)END\n/.exec(page) ?? [];
  const file = join(folder.path, "alertmanager.yml");
  // It would wait for half a minute for further alerts of the group.
  const here = config
    .replace("127.0.0.1:25", `127.0.0.1:${mail.port}`)
    .replace("{ receiver", "{ group_wait: 0s, receiver");
  writeFileSync(file, here);
  const process = spawn(alertmanager, [
    `--config.file=${file}`,
    `--storage.path=${folder.path}`,
    "--web.listen-address=127.0.0.1:0",
    "--cluster.listen-address=",
  ]);
  let output = "";
  process.stderr.on("data", (text) => {
    output += text;
  });
  const ended = new Promise((resolve) => process.on("close", resolve));
  try {
    const address = () => /"?Listening on"? address=(\S+)/.exec(output)?.[1];
    await eventually(() => address() !== undefined, 60_000);
    const alert = {
      labels: { alertname: "PlantStoreDown", instance: "here" },
      annotations: { summary: "gone" },
    };
    const { status } = await fetch(`http://${address()}/api/v2/alerts`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify([alert]),
    });
    expect(status).toBe(200);
    await eventually(() => mail.received().includes("\n.\n"), 60_000);
    expect(mail.received()).toContain("RCPT TO:<you@example.org>");
    expect(mail.received()).toMatch(/^Subject: \[FIRING:1\] PlantStoreDown/m);
  } finally {
    process.kill("SIGKILL");
    await ended;
  }
});
