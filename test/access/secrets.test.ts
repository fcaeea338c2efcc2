// No token is in what the service writes: logs, responses, pages, the list of processes.
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { mintSecret } from "../../src/access/token-secret.ts";
import type { MintedTokenJson } from "../../src/operator/responses.ts";
import { plantStore, type Serving, serve } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { mintToken, operatorFetch, operatorPost } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { sendRaw } from "../support/raw-http.ts";
import { operatorRoutes } from "../support/routes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { bearer } from "../support/tokens.ts";

/** Texts, each by the name of what wrote it. */
type Written = Record<string, string>;

const access = `access-${mintSecret()}`;
const operator = `operator-${mintSecret()}`;
const environment = { PLANT_STORE_ACCESS_TOKEN: access, PLANT_STORE_OPERATOR_TOKEN: operator };
const readableRoutes = operatorRoutes.filter(({ method, path }) => method === "GET" && !path.includes("{"));

// The log of every other test is searched too: by test/support/, for every token in use there.
test("no token is in what the service or a command writes", async () => {
  const { written, secrets } = await recordEverything();
  expect(new Set(secrets).size).toBe(7);
  const textsMin = { responses: 58, refusals: 4, routes: 9, processes: 1, commands: 7, service: 2, files: 2 };
  const searched = Object.entries(written).map(([kind, texts]) => [kind, Object.keys(texts).length] as const);
  expect(searched.filter(([kind, count]) => count < textsMin[kind as keyof typeof textsMin])).toEqual([]);
  expect(searched.length).toBe(7);
  expect(written.processes["ps"]).toContain("src/main.ts serve");
  expect(written.service["stderr"]?.split("\n").length).toBeGreaterThan(30);

  const isLeak = (text: string) => secrets.some((secret) => text.includes(secret));
  const leaks = Object.entries(written).flatMap(([kind, texts]) =>
    Object.entries(texts).flatMap(([what, text]) => (isLeak(text) ? [`${kind}: ${what}`] : [])),
  );
  expect(leaks).toEqual([]);
}, 60_000);

/** Runs a service and commands with all kinds of tokens. */
async function recordEverything() {
  using folder = temporaryFolder();
  const path = (name: string) => join(folder.path, name);
  const database = ["--database", path("plants.db")];
  const flags = [...database, "--log-level", "debug", "--log-requests", "all"];
  await using service = await serve(flags, { environment });

  const first = await mintToken(service, { name: "first", scopes: ["plants:create", "operator"] }, operator);
  const rotation = `/api/tokens/${first.token.id}/rotate`;
  const second = await operatorPost<MintedTokenJson>(
    service,
    rotation,
    { overlap: "0s" },
    { token: operator },
  );
  const brief = await mintToken(
    service,
    { name: "brief", scopes: ["plants:create"], expiresIn: "1s" },
    operator,
  );
  const byCommand = await plantStore(["token", "create", "--name", "by-command", ...database]);
  const unknown = mintSecret();
  const secrets = [
    access,
    operator,
    first.secret,
    second.secret,
    brief.secret,
    byCommand.out.trim(),
    unknown,
  ];

  const responses = await useTokens(service, secrets);
  const refusals = await sendMalformed(service);
  // It expires only after it was used.
  await eventually(async () => (await post(service.url, "{}", bearer(brief.secret))).status === 401);
  const routes = await readRoutes(service);
  const processes: Written = { ps: spawnSync("ps", ["-eo", "args"], { encoding: "utf8" }).stdout };
  const commands = await runCommands(database, path("backup.db"));
  service.child.kill("SIGTERM");
  const { out, err } = await service.ended;
  const files: Written = {};
  for (const name of readdirSync(folder.path)) files[name] = readFileSync(path(name), "latin1");
  const serviceWrote: Written = { stdout: out, stderr: err };
  return {
    secrets,
    written: { responses, refusals, routes, processes, commands, service: serviceWrote, files },
  };
}

/** Sends each token, well and badly formed, to both listeners. */
async function useTokens(service: Serving, secrets: readonly string[]): Promise<Written> {
  const written: Written = {};
  const spellings = (secret: string) => [secret, `${secret} x`, `${secret}, Bearer ${secret}`, `ü${secret}`];
  for (const [index, secret] of secrets.flatMap(spellings).entries()) {
    const token = Buffer.from(secret).toString("latin1");
    const created = await post(service.url, `{"id":${index + 1},"name":"Fern"}`, bearer(token));
    written[`create ${index}`] = await everythingIn(created);
    written[`who ${index}`] = await everythingIn(await operatorFetch(service, "/api/me", { token }));
  }
  const basic = { Authorization: `Basic ${access}` };
  written["not bearer"] = await everythingIn(await post(service.url, "{}", basic));
  written["a bad body"] = await everythingIn(await post(service.url, '{"id":"x"}', bearer(access)));
  return written;
}

async function sendMalformed(service: Serving): Promise<Written> {
  const written: Written = {};
  const head = `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${access}\r\n`;
  const malformed = {
    "no colon": "Bad Header\r\n\r\n",
    "a folded line": " folded\r\n\r\n",
    "two lengths": "Content-Length: 1, 2\r\n\r\n",
    "a long header": `X: ${"x".repeat(20_000)}\r\n\r\n`,
  };
  for (const [what, rest] of Object.entries(malformed))
    written[what] = (await sendRaw(Number(new URL(service.url).port), [head + rest])).text;
  return written;
}

/** Everything that can be read from the operator listener. */
async function readRoutes(service: Serving): Promise<Written> {
  const written: Written = {};
  for (const { path } of readableRoutes) {
    written[path] = await everythingIn(await operatorFetch(service, path, { token: operator }));
  }
  return written;
}

async function runCommands(database: readonly string[], backup: string): Promise<Written> {
  const written: Written = {};
  const lines = [
    ["token", "list"],
    ["token", "list", "--json"],
    ["audit"],
    ["list"],
    ["export"],
    ["config"],
    ["backup", backup],
  ];
  for (const args of lines) {
    const { code, out, err } = await runInProcess([...args, ...database], { environment });
    expect(code).toBe(0);
    written[args.join(" ")] = out + err;
  }
  return written;
}

/** Its headers and its body. */
async function everythingIn(response: Response): Promise<string> {
  return JSON.stringify([...response.headers]) + (await response.text());
}
