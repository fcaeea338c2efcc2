// What docs/compatibility.md promises, as a program from outside sees it: this version is run and its names are written down.
// record.ts makes the record of a version, test/fixtures/VERSION/surface.json.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commands } from "../../src/cli/run.ts";
import { type Finished, start, untilListening } from "../support/command.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import {
  accessToken,
  accessTokenEnvironment,
  bearer,
  bothTokensEnvironment,
  operatorToken,
} from "../support/tokens.ts";

/** Names in order, so that two records can be compared as text. */
export interface Surface {
  /** The flags of each command, from its help. */
  readonly flags: Record<string, string[]>;
  /** The variables that the helps name. Those of settings are called as their flags. */
  readonly variables: string[];
  /** The value of each setting that nothing sets, from `config`. */
  readonly defaults: Record<string, string>;
  /** The exit code of each command line. */
  readonly exitCodes: Record<string, number | null>;
  /** Each field of what a command line with --json prints, as a path: `plants[].id`. */
  readonly jsonFields: Record<string, string[]>;
  /** The error numbers in docs/errors.md. */
  readonly errors: string[];
  /** The status, headers and fields of the response to each request. */
  readonly responses: Record<string, ResponseShape>;
  /** The labels of each metric, by its name and type. */
  readonly metrics: Record<string, string[]>;
  /** The fields of every line that the service logged. */
  readonly logFields: string[];
}

interface ResponseShape {
  readonly status: number;
  readonly headers: string[];
  readonly fields: string[];
}

const root = join(import.meta.dir, "../..");

/** Runs the service as a process, and the commands in this one, in a folder of their own. */
export async function recordSurface(): Promise<Surface> {
  using folder = temporaryFolder();
  const recorder = new Recorder(folder.path);
  const flags = await recorder.recordFlags();
  const { responses, metrics, logFields } = await recorder.recordService();
  const { exitCodes, jsonFields } = recorder;
  return {
    flags,
    variables: sorted(recorder.variables),
    defaults: await recorder.recordDefaults(),
    exitCodes,
    jsonFields,
    errors: readErrors(),
    responses,
    metrics,
    logFields: sorted([...logFields, ...logFieldsInSource()]),
  };
}

/** What was written down so far. */
class Recorder {
  readonly exitCodes: Record<string, number | null> = {};
  readonly jsonFields: Record<string, string[]> = {};
  readonly variables = new Set<string>();
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async recordFlags(): Promise<Record<string, string[]>> {
    const helps: { command: string; help: string }[] = [];
    for (const command of Object.keys(commands)) {
      const { out: help } = await this.#run([...command.split(" "), "--help"]);
      helps.push({ command, help });
    }
    for (const { help } of helps) {
      for (const [variable] of help.matchAll(/\bPLANT_STORE_[A-Z_]+/g)) this.variables.add(variable);
    }
    return Object.fromEntries(
      helps.map(({ command, help }) => [
        command,
        sorted([...help.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag = ""]) => flag)),
      ]),
    );
  }

  async recordDefaults(): Promise<Record<string, string>> {
    const { out } = await this.#run(["config", "--json"]);
    const settings = JSON.parse(out) as { name: string; value: string; source: string }[];
    const unset = settings.filter(({ source }) => source === "default");
    return Object.fromEntries(unset.map(({ name, value }) => [name, value]).sort());
  }

  /** Sends requests to a service and runs each command beside it, and some after it. */
  async recordService(): Promise<Pick<Surface, "responses" | "metrics" | "logFields">> {
    const backups = join(this.#folder, "backups");
    mkdirSync(backups);
    const running = start(process.execPath, [join(root, "src/main.ts"), "serve"], {
      folder: this.#folder,
      environment: {
        ...bothTokensEnvironment,
        PLANT_STORE_LOG_FORMAT: "json",
        PLANT_STORE_LOG_REQUESTS: "all",
        PLANT_STORE_BACKUP_FOLDER: backups,
        PLANT_STORE_CORS_ORIGINS: "https://example.org",
      },
    });
    await using serving = await untilListening(running);
    const responses = await recordResponses(serving.url, serving.operatorUrl);
    await this.#runBesideService(serving.url);
    const metrics = await readMetrics(serving.operatorUrl);
    serving.child.kill("SIGTERM");
    const { err } = await serving.ended;
    await this.#runAlone(serving.url);
    const logged = err.split("\n").filter((line) => line.startsWith("{"));
    return { responses, metrics, logFields: sorted(logged.flatMap((line) => fieldsOf(JSON.parse(line)))) };
  }

  async #runBesideService(url: string): Promise<void> {
    const plants = join(this.#folder, "plants.ndjson");
    writeFileSync(plants, '{"id":11,"name":"Fern","tag":"indoor"}\n{"id":1,"name":"Another name"}\n');
    await this.#recordJson(["token", "create", "--name", "greenhouse", "--expires", "90d"]);
    await this.#recordJson(["token", "rotate", "greenhouse"]);
    await this.#recordJson(["token", "revoke", "greenhouse"]);
    await this.#recordJson(["token", "list"]);
    await this.#recordJson(["audit"]);
    await this.#recordJson(["list"]);
    await this.#recordJson(["show", "1"]);
    await this.#recordJson(["backup", "backup.db"]);
    await this.#recordJson(["import", "plants.ndjson", "--dry-run"]);
    await this.#recordJson(["import", "plants.ndjson"], ["--url", url]);
    await this.#record(["export"]);
    await this.#record(["ready"], ["--url", url]);
    await this.#record(["serve"]);
  }

  async #runAlone(url: string): Promise<void> {
    const backup = ["--database", "backup.db"];
    await this.#recordJson(["verify"]);
    await this.#recordJson(["verify", ...backup]);
    await this.#recordJson(["restore", "backup.db", "--database", "restored.db"]);
    await this.#recordJson(["copy", "--from", "restored.db", "--to", "copied.db"]);
    await this.#recordJson(["doctor"]);
    await this.#recordJson(["config"]);
    await this.#record(["version"]);
    await this.#record(["--version"]);
    await this.#record(["--help"]);
    // Nobody listens there any more.
    await this.#record(["ready"], ["--url", url]);
    await this.#record(["show", "404"]);
    await this.#record(["list", "--database", "missing.db"]);
    await this.#record(["verify", "--database", "missing.db"]);
    await this.#record(["verify", "--database", "plants.ndjson"]);
    await this.#record(["restore", "backup.db", "--database", "restored.db"]);
    await this.#record(["import", "missing.ndjson"], ["--url", url]);
    await this.#record(["token", "revoke", "nobody"]);
    await this.#record(["list", "--limit", "none"]);
    await this.#record(["list", "--no-such-flag"]);
    await this.#record(["no-such-command"]);
  }

  /** Writes down the exit code of a command line, and the fields of what it prints with --json. */
  async #recordJson(args: readonly string[], unrecorded: readonly string[] = []): Promise<void> {
    const { out, command } = await this.#record([...args, "--json"], unrecorded);
    const values = jsonValuesOf(out);
    this.jsonFields[command] = sorted(values.flatMap((value) => fieldsOf(value)));
  }

  /** Writes down the exit code of a command line; `unrecorded` differs in every run. */
  async #record(
    args: readonly string[],
    unrecorded: readonly string[] = [],
  ): Promise<Finished & { readonly command: string }> {
    const command = args.join(" ");
    const isAgain = command in this.exitCodes;
    const name = isAgain ? `${command}, again` : command;
    const finished = await this.#run([...args, ...unrecorded]);
    this.exitCodes[name] = finished.code;
    return { ...finished, command: name };
  }

  /** Fifty processes would take five seconds of CPU time. */
  async #run(args: readonly string[]): Promise<Finished> {
    const before = process.cwd();
    process.chdir(this.#folder);
    try {
      return await runInProcess(args, { environment: accessTokenEnvironment });
    } finally {
      process.chdir(before);
    }
  }
}

const create = (body: string, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { ...bearer(accessToken), "Content-Type": "application/json", ...headers },
  body,
});

const publicRequests: readonly [name: string, path: string, request: RequestInit][] = [
  ["create", "/plants", create('{"id":1,"name":"Fern","tag":"indoor"}')],
  ["replay", "/plants", create('{"id":1,"name":"Fern","tag":"indoor"}')],
  ["conflict", "/plants", create('{"id":1,"name":"Moss"}')],
  ["create without a tag", "/plants", create('{"id":2,"name":"Moss"}')],
  ["create with a request id", "/plants", create('{"id":3,"name":"Ivy"}', { "X-Request-Id": "abc" })],
  ["create from a page", "/plants", create('{"id":4,"name":"Ivy"}', { Origin: "https://example.org" })],
  ["create of no plant", "/plants", create('{"id":"1"}')],
  ["create of no JSON", "/plants", create("plant")],
  ["create of too much", "/plants", create(`{"id":5,"name":"${"a".repeat(70_000)}"}`)],
  ["create in another format", "/plants", create("id=1", { "Content-Type": "text/plain" })],
  ["create without a token", "/plants", { method: "POST", body: "{}" }],
  ["create with a wrong token", "/plants", create("{}", bearer("wrong"))],
  ["preflight", "/plants", { method: "OPTIONS", headers: { Origin: "https://example.org" } }],
  ["another method", "/plants", {}],
  ["another path", "/plant", {}],
  ["live", "/livez", {}],
  ["ready", "/readyz", {}],
  ["contract", "/openapi.json", {}],
];

const operatorHeaders = bearer(operatorToken);
const operatorRequests: readonly [name: string, path: string, request: RequestInit][] = [
  ["live, operator", "/livez", {}],
  ["ready, operator", "/readyz", {}],
  ["follow", "/api/plants?after=0", { headers: operatorHeaders }],
  ["metrics", "/metrics", { headers: operatorHeaders }],
  ["metrics without a token", "/metrics", {}],
];

async function recordResponses(url: string, operatorUrl: string): Promise<Record<string, ResponseShape>> {
  const shapes: Record<string, ResponseShape> = {};
  // One after another: the replay comes after the create.
  for (const [name, path, request] of publicRequests) shapes[name] = shapeOf(await send(url + path, request));
  for (const [name, path, request] of operatorRequests)
    shapes[name] = shapeOf(await send(operatorUrl + path, request));
  return shapes;
}

interface Received {
  readonly response: Response;
  readonly text: string;
}

async function send(url: string, request: RequestInit): Promise<Received> {
  const response = await fetch(url, request);
  return { response, text: await response.text() };
}

function shapeOf({ response, text }: Received): ResponseShape {
  const isJson = response.headers.get("Content-Type")?.startsWith("application/json") === true;
  return {
    status: response.status,
    headers: sorted(response.headers.keys()),
    fields: isJson ? sorted(fieldsOf(JSON.parse(text))) : [],
  };
}

/** Reads the names, types and labels in Prometheus' text format. */
async function readMetrics(operatorUrl: string): Promise<Record<string, string[]>> {
  const { text } = await send(`${operatorUrl}/metrics`, { headers: operatorHeaders });
  const metrics = new Map<string, { readonly type: string; readonly labels: Set<string> }>();
  for (const [, name = "", type = ""] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm))
    metrics.set(name, { type, labels: new Set() });
  for (const [, sample = "", labels = ""] of text.matchAll(/^(\w+)\{(.*)\} /gm)) {
    const metric = metrics.get(sample) ?? metrics.get(sample.replace(/_(?:bucket|sum|count)$/, ""));
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) metric?.labels.add(label);
  }
  const named = [...metrics].map(([name, { type, labels }]) => [`${name} ${type}`, sorted(labels)] as const);
  return Object.fromEntries(named.sort());
}

function readErrors(): string[] {
  const page = readFileSync(join(root, "docs/errors.md"), "utf8");
  return sorted([...page.matchAll(/^\| (\d{5}) \|/gm)].map(([, number = ""]) => number));
}

/** The names in OpenTelemetry's style: no load brings the service to log them all. */
function logFieldsInSource(): string[] {
  const source = join(root, "src");
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  const name =
    /"((?:client|error|exception|http|network|plant_store|service|url)\.[a-z_.]+|trace_id|span_id)"/g;
  return files
    .filter((file) => !file.endsWith(".test.ts"))
    .flatMap((file) => [...readFileSync(join(source, file), "utf8").matchAll(name)])
    .map(([, field = ""]) => field);
}

/** What a command printed with --json: one value, or one on each line. */
function jsonValuesOf(out: string): unknown[] {
  try {
    return [JSON.parse(out)];
  } catch {
    const lines = out.split("\n").filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line) as unknown);
  }
}

/** Each field as a path: `plants[].id`. */
function fieldsOf(value: unknown, path = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((element) => fieldsOf(element, `${path}[]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = path === "" ? name : `${path}.${name}`;
    return [field, ...fieldsOf(inner, field)];
  });
}

function sorted(names: Iterable<string>): string[] {
  return [...new Set(names)].sort();
}
