// npm run test:package: packs both packages, checks them with publint and attw, installs them into empty folders with npm, pnpm
// and Yarn, and runs them on every supported version of Node. It fetches all of these from npm; several minutes.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accessToken, temporaryFolder } from "./harness.ts";

const nodeVersions = [20, 21, 22, 23, 24, 25];
// Fetched here rather than as dev dependencies, of which they would be 66 (ADR 54).
const tools = ["publint@0.3.25", "@arethetypeswrong/cli@0.18.5", "pnpm@10.34.8", "@yarnpkg/cli-dist@4.18.1"];
const root = join(import.meta.dir, "..");
const send = `
  import { PlantStoreClient } from "MODULE";
  const client = new PlantStoreClient({ baseUrl: process.argv[2], token: process.argv[3] });
  console.log(JSON.stringify(await client.createPlant({ id: BigInt(process.argv[4]), name: "fern" })));`;

using folder = temporaryFolder();
const inFolder = (...names: string[]) => join(folder.path, ...names);
const service = pack(".");
const client = pack("./packages/client");

const toolFolder = project("tools", {});
run("npm", ["install", "--no-save", "--ignore-scripts", ...tools], toolFolder);
const tool = (name: string) => join(toolFolder, "node_modules/.bin", name);
for (const archive of [service, client]) {
  run(tool("publint"), [archive, "--strict"], toolFolder);
  run(tool("attw"), [archive, "--profile", "esm-only"], toolFolder);
}
console.log("publint and attw find no problem in either package.");

const withNpm = project("npm", {});
run("npm", ["install", "--ignore-scripts", service, client], withNpm);
for (const version of nodeVersions) await tryOut(fetchNode(version), withNpm, "npm");

const dependencies = { "plant-store": `file:${service}`, "plant-store-client": `file:${client}` };
const withPnpm = project("pnpm", { dependencies });
run(tool("pnpm"), ["install", "--ignore-scripts"], withPnpm);
await tryOut("node", withPnpm, "pnpm");

const withYarn = project("yarn", { dependencies });
writeFileSync(join(withYarn, "yarn.lock"), "");
installWithYarn("node-modules");
await tryOut("node", withYarn, "yarn");
// Bun cannot read packages in archives. The command says so.
installWithYarn("pnp");
const refused = spawnSync(tool("yarn"), ["plant-store", "--help"], { cwd: withYarn, encoding: "utf8" });
if (refused.status !== 1 || !refused.stderr.includes("nodeLinker: node-modules"))
  throw new Error(`With Plug'n'Play: ${refused.status} ${refused.stdout}${refused.stderr}`);
console.log("Yarn's Plug'n'Play is refused with a sentence.");

function installWithYarn(linker: string): void {
  writeFileSync(join(withYarn, ".yarnrc.yml"), `nodeLinker: ${linker}\nenableTelemetry: false\n`);
  run(tool("yarn"), ["install"], withYarn);
}

function pack(path: string): string {
  const args = ["pack", "--silent", "--pack-destination", folder.path, path];
  return inFolder(run("npm", args, root).trim().split("\n").at(-1) ?? "");
}

function project(name: string, content: object): string {
  mkdirSync(inFolder(name));
  writeFileSync(
    inFolder(name, "package.json"),
    JSON.stringify({ private: true, type: "module", ...content }),
  );
  return inFolder(name);
}

/** The binary of that version of Node, in the package that npm's `node` would fetch by its install script. */
function fetchNode(version: number): string {
  const platform = `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const at = project(`node-${version}`, {});
  run("npm", ["install", "--no-save", "--ignore-scripts", `node-${platform}@${version}`], at);
  return join(at, `node_modules/node-${platform}/bin/node`);
}

/** The command, the service, and a plant from either import of the client. */
async function tryOut(node: string, at: string, manager: string): Promise<void> {
  const command = join(at, "node_modules/plant-store/bin/plant-store.js");
  if (!run(node, [command, "--help"], at).includes("plant-store serve"))
    throw new Error("--help has no serve");
  const args = ["serve", "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"];
  const child = spawn(node, [command, ...args, "--database", inFolder("data", `${crypto.randomUUID()}.db`)], {
    cwd: at,
    env: { ...process.env, PLANT_STORE_ACCESS_TOKEN: accessToken },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
  const [url, operatorUrl] = await addresses(child.stderr);
  const sent = ["plant-store-client", "plant-store/client"].map((module) => {
    writeFileSync(join(at, "send.js"), send.replace("MODULE", module));
    return run(node, ["send.js", url, accessToken, "9223372036854775807"], at).trim();
  });
  const expected = [false, true].map((replayed) => JSON.stringify({ name: "fern", replayed }));
  if (sent.join() !== expected.join()) throw new Error(`the client got ${sent.join()}`);
  if (!(await (await fetch(operatorUrl)).text()).includes("<script")) throw new Error("there is no console");
  child.kill("SIGTERM");
  if ((await ended) !== 0) throw new Error("serve did not exit with 0");
  console.log(
    `Node ${run(node, ["--version"], at).trim()}, installed by ${manager}: command, service, console and client work.`,
  );
}

async function addresses(log: AsyncIterable<Uint8Array>): Promise<[string, string]> {
  let text = "";
  for await (const part of log) {
    text += new TextDecoder().decode(part);
    const [, url, operatorUrl] =
      /"message":"listening","url\.full":"([^"]+)","plant_store\.operator_url":"([^"]+)"/.exec(text) ?? [];
    if (url !== undefined && operatorUrl !== undefined) return [url, operatorUrl];
  }
  throw new Error(`serve ended: ${text}`);
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`);
  return stdout;
}
