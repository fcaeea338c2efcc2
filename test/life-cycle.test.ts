import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import packageFile from "../package.json" with { type: "json" };
import { executable, type Finished, main, serve, startPlantStore } from "./command.ts";
import { accessToken, eventually, post, startTestService, storedPlants, temporaryFolder } from "./harness.ts";
import { runInProcess } from "./terminal.ts";

const preset = { PLANT_STORE_ACCESS_TOKEN: accessToken };
const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
let files = 0;
/** A data file that does not exist yet. */
const newFile = () => join(folder.path, `${++files}.db`);

/** Starts the service in this process, and stops it once it listens. */
function startAndStop(args: readonly string[], environment: Record<string, string> = {}): Promise<Finished> {
  return runInProcess(["serve", ...args], { environment, stopSignal: async () => "test" });
}

describe("the first run", () => {
  test("prints the addresses, the data file, the token's file, and a curl line that works when pasted", async () => {
    await using service = await serve(["--database", "data/plants.db"], { folder: folder.path });
    const printed = service.out();
    const file = join(folder.path, "data/plants.db.first-token");
    for (const text of [`${service.url}/plants`, `${service.url}/docs`, `${service.operatorUrl}/`, file])
      expect(printed).toContain(text);
    expect(service.err()).toContain(file);
    expect(service.err()).toContain(`"service.version":"${packageFile.version}"`);
    const secret = readFileSync(file, "utf8");
    expect(secret).toMatch(/^pst_\w{49}\n$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    for (const text of [printed, service.err()]) expect(text).not.toContain(secret.trim());
    const command = printed.slice(printed.indexOf("curl "));
    const ran = Bun.spawnSync(["sh", "-c", command.replace("curl ", "curl -s ")]);
    expect(ran.stdout.toString()).toBe('{"name":"Fern","tag":"indoor"}');
    const [stored] = storedPlants(join(folder.path, "data/plants.db"));
    expect(stored).toMatchObject({ id: 1n, created_by: "first" });
  });

  test("prints the token itself on a terminal, and writes no file", async () => {
    const database = newFile();
    const args = ["serve", "--listen", "127.0.0.1:0", "--operator-listen", "off", "--database", database];
    let said = "";
    const child = Bun.spawn([process.execPath, main, ...args], {
      terminal: {
        cols: 200,
        rows: 24,
        data(_, bytes) {
          said += new TextDecoder().decode(bytes);
        },
      },
      env: { PATH: process.env["PATH"] ?? "" },
    });
    await eventually(() => said.includes("listening"));
    child.kill("SIGTERM");
    await child.exited;
    expect(said).toMatch(/pst_\w{49}/);
    expect(said).toContain("Your first token can send plants. ");
    expect(said).not.toContain("console");
    expect(existsSync(`${database}.first-token`)).toBe(false);
  });

  test("creates no token if a symbolic link has the name of its file, and says so", async () => {
    const database = newFile();
    const file = `${database}.first-token`;
    symlinkSync(`${file}.target`, file);
    const { out } = await startAndStop(["--database", database]);
    expect(out).toContain(`the file ${file} cannot be created for one: it exists already`);
    expect(out).toContain("plant-store token create --name NAME");
    const tokens = (await runInProcess(["token", "list", "--json", "--database", database])).out;
    expect([existsSync(`${file}.target`), JSON.parse(tokens)]).toEqual([false, []]);
  });

  test("that cannot listen creates no token, since nobody would see it, and says why", async () => {
    const database = newFile();
    await using other = await startTestService();
    for (const flag of ["--listen", "--operator-listen"]) {
      const address = `127.0.0.1:${other.port}`;
      const { code, out, err } = await startAndStop([flag, address, "--database", database]);
      expect([code, out, existsSync(`${database}.first-token`)]).toEqual([1, "", false]);
      expect(existsSync(database)).toBe(false);
      expect(err).toContain(`${address} is in use by another process`);
      oneSentence(err);
    }
    expect((await startAndStop(["--database", database])).out).toContain(`${database}.first-token`);
  });

  test("alone creates a token, in its own folder if there is one, and none if one is preset", async () => {
    const args = ["--database", newFile(), "--token-folder", folder.path];
    const file = join(folder.path, "first-token");
    expect((await startAndStop(args, preset)).out).not.toContain("token");
    for (const isFirst of [true, false]) {
      expect((await startAndStop(args)).out.includes(file)).toBe(isFirst);
      expect(existsSync(file)).toBe(isFirst);
      rmSync(file, { force: true });
    }
  });
});

// npm-start.test.ts has those by a signal to npm, and by Ctrl-C.
describe("a graceful shutdown", () => {
  test.skipIf(executable !== undefined)("follows the death of the launcher", async () => {
    const args = ["serve", "--database", newFile()];
    const { child, err } = startPlantStore(args, { ownGroup: true, through: "launcher" });
    await eventually(() => err().includes("listening"));
    child.kill("SIGKILL");
    try {
      await eventually(() => err().includes("every acknowledged plant is on disk"));
      expect(err()).toContain('"plant_store.stop_reason":"the launcher has ended"');
    } catch (error) {
      process.kill(-(child.pid ?? 0), "SIGKILL");
      throw error;
    }
  });

  test("is unready and keeps serving for the drain delay, and ends immediately on a second signal", async () => {
    const args = ["--database", newFile(), "--drain-delay", "10m"];
    const service = await serve(args, { environment: preset });
    service.child.kill("SIGTERM");
    await eventually(() => service.err().includes("stopping"));
    const unready = await fetch(`${service.url}/readyz`);
    expect([unready.status, await unready.json()]).toMatchObject([503, { error: 50303 }]);
    expect((await post(service.url, '{"id":1,"name":"a"}')).status).toBe(200);
    // For a second it counts as the same one.
    const signals = setInterval(() => service.child.kill("SIGINT"), 100);
    expect((await service.ended()).code).toBe(130);
    clearInterval(signals);
  });
});

// Linux has a device that is always full.
test.if(process.platform === "linux")(
  "a log on a full disk does not change the exit code of a graceful shutdown",
  async () => {
    const args = `serve --listen 127.0.0.1:0 --operator-listen off --database ${newFile()}`;
    const command = `exec ${process.execPath} ${main} ${args} 2>/dev/full`;
    const child = Bun.spawn(["sh", "-c", command], { env: preset, stdout: "pipe" });
    const greeting = new TextDecoder().decode((await child.stdout.getReader().read()).value);
    const url = /(http:\/\/\S+)\/plants/.exec(greeting)?.[1] ?? "";
    expect((await post(url, '{"id":1,"name":"a"}')).status).toBe(200);
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
  },
);

function oneSentence(err: string): void {
  expect(err.trim().split("\n")).toHaveLength(1);
  expect(err).toStartWith("plant-store: ");
  expect(err).not.toMatch(/\bat .*:\d+:\d+|node_modules|\.ts\b/);
}

describe("a start that cannot succeed says why in one sentence", () => {
  test.each<[message: string, path: string, make: (path: string) => unknown]>([
    ["not one of plant-store's", newFile(), (path) => new Database(path).run("CREATE TABLE x (y)")],
    ["cannot be created", join(newFile(), "p.db"), (path) => writeFileSync(dirname(path), "")],
    // Even by root.
    ["/proc/plants.db cannot be opened", "/proc/plants.db", () => {}],
  ])("%s", async (message, path, make) => {
    make(path);
    const { code, err } = await startAndStop(["--database", path]);
    expect([code, err]).toEqual([1, expect.stringContaining(message)]);
    oneSentence(err);
  });
});

test("a stored token whose secret is preset is logged at the start", async () => {
  const args = ["token", "create", "--name", "both", "--database", newFile()];
  const secret = (await runInProcess(args)).out.trim();
  const stored = { PLANT_STORE_OPERATOR_TOKEN: secret };
  await using running = await startTestService({}, args.at(-1), stored);
  const logged = '"plant_store.preset_token":"preset-operator","plant_store.token":"both"';
  expect(running.logged.join("")).toContain(logged);
});
