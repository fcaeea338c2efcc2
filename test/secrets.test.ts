import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { mintSecret } from "../src/access/token-secret.ts";
import { plantStore, serve } from "./command.ts";
import { eventually, post, sendRaw, temporaryFolder } from "./harness.ts";
import { operatorRoutes } from "./routes.ts";
import { runInProcess } from "./terminal.ts";

// The log of every other test is searched too: by the harness, for every token in use there.
test("no token is in anything that the service or a command writes, but for the response that creates it", async () => {
  using folder = temporaryFolder();
  const path = (name: string) => join(folder.path, name);
  const database = ["--database", path("plants.db")];
  const access = `access-${mintSecret()}`;
  const operator = `operator-${mintSecret()}`;
  const environment = { PLANT_STORE_ACCESS_TOKEN: access, PLANT_STORE_OPERATOR_TOKEN: operator };
  const used = new Set([access, operator]);
  const written: Record<string, string> = {};
  const service = await serve([...database, "--log-level", "debug", "--log-requests", "all"], {
    environment,
  });
  const { operatorUrl } = service;
  const record = async (what: string, response: Response) => {
    written[`${what}: ${response.status}`] =
      `${JSON.stringify([...response.headers])}${await response.text()}`;
  };
  const bearer = (secret: string) => {
    used.add(secret);
    return { Authorization: `Bearer ${secret}` };
  };
  const mint = async (url: string, body: object) => {
    const headers = bearer(operator);
    const response = await fetch(operatorUrl + url, { method: "POST", headers, body: JSON.stringify(body) });
    return (await response.json()) as { token: { id: string }; secret: string };
  };

  // Good, used up, unknown and malformed ones, on both listeners.
  const first = await mint("/api/tokens", { name: "first", scopes: ["plants:create", "operator"] });
  const second = await mint(`/api/tokens/${first.token.id}/rotate`, { overlap: "0s" });
  const brief = await mint("/api/tokens", { name: "brief", scopes: ["plants:create"], expiresIn: "1s" });
  const { out } = await plantStore(["token", "create", "--name", "by-command", ...database]);
  const byCommand = out.trim();
  const candidates = [access, operator, first.secret, second.secret, brief.secret, byCommand, mintSecret()];
  const spellings = (secret: string) => [secret, `${secret} x`, `${secret}, Bearer ${secret}`, `ü${secret}`];
  let id = 1;
  for (const secret of candidates.flatMap(spellings)) {
    const headers = { Authorization: `Bearer ${Buffer.from(secret).toString("latin1")}` };
    await record(`create ${id}`, await post(service.url, `{"id":${id++},"name":"Fern"}`, headers));
    await record(`who ${id}`, await fetch(`${operatorUrl}/api/me`, { headers }));
  }
  for (const secret of candidates) used.add(secret);
  await record("not bearer", await post(service.url, "{}", { Authorization: `Basic ${access}` }));
  await record("a bad body", await post(service.url, '{"id":"x"}', bearer(access)));
  const port = Number(new URL(service.url).port);
  const head = `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${access}\r\n`;
  for (const rest of [
    "Bad Header\r\n\r\n",
    " folded\r\n\r\n",
    "Content-Length: 1, 2\r\n\r\n",
    `X: ${"x".repeat(20_000)}\r\n\r\n`,
  ])
    written[`framing ${rest.slice(0, 12)}`] = (await sendRaw(port, [head + rest])).text;
  await eventually(async () => (await post(service.url, "{}", bearer(brief.secret))).status === 401);

  // Everything that can be read, metrics included.
  const readable = operatorRoutes.filter(({ method, path }) => method === "GET" && !path.includes("{"));
  expect(readable.length).toBeGreaterThan(8);
  for (const route of readable) {
    const signal = AbortSignal.timeout(5000);
    const response = await fetch(operatorUrl + route.path, { headers: bearer(operator), signal });
    await record(`GET ${route.path}`, response);
  }

  // Everything that other programs and users see.
  written["process list"] = spawnSync("ps", ["-eo", "args"], { encoding: "utf8" }).stdout;
  expect(written["process list"]).toContain("src/main.ts serve");
  for (const args of [
    ["token", "list"],
    ["token", "list", "--json"],
    ["audit"],
    ["list"],
    ["export"],
    ["config"],
    ["backup", path("backup.db")],
  ]) {
    const finished = await runInProcess([...args, ...database], { environment });
    expect([args, finished.code]).toEqual([args, 0]);
    written[args.join(" ")] = finished.out + finished.err;
  }
  service.child.kill("SIGTERM");
  const { out: stdout, err: stderr } = await service.ended();
  Object.assign(written, { stdout, stderr });
  for (const name of readdirSync(folder.path)) written[name] = readFileSync(path(name), "latin1");

  expect(used.size).toBe(candidates.length);
  expect(stderr.split("\n").length).toBeGreaterThan(30);
  expect(Object.keys(written).length).toBeGreaterThan(60);
  const leaks = Object.entries(written).filter(([, text]) =>
    [...used].some((secret) => text.includes(secret)),
  );
  expect(leaks.map(([what]) => what)).toEqual([]);
}, 60_000);
