// Both npm packages, packed and installed.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import packageFile from "../../package.json" with { type: "json" };
import { outputOf } from "../../scripts/processes.js";
import { minuteMs } from "../../src/text/duration.ts";
import { serve, start, untilListening } from "../support/command.ts";
import { lacks } from "../support/lacks.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { accessToken, accessTokenEnvironment } from "../support/tokens.ts";

const nodeVersions = [20, 22, 24, 26];
// Fetched here rather than as dev dependencies, of which they would be 66.
const tools = ["publint@0.3.25", "@arethetypeswrong/cli@0.18.5"];
const packagesMsMax = 15 * minuteMs;
const root = join(import.meta.dir, "../..");
const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

describe("the service's package", () => {
  const copy = project("sources");
  let files: string[];
  beforeAll(() => {
    const left = /^(?:\.git|node_modules|dist|packages|data|test|bench|tmp)$/;
    for (const name of readdirSync(root).filter((one) => !left.test(one)))
      cpSync(join(root, name), join(copy, name), { recursive: true });
    cpSync(join(root, "packages/client/README.md"), join(copy, "packages/client/README.md"));
    for (const path of ["deploy/examples/secrets/access-token", "dist/plant-store", "data/plant-store.db"]) {
      mkdirSync(join(copy, dirname(path)), { recursive: true });
      writeFileSync(join(copy, path), "x");
    }
    outputOf("node", ["scripts/supply-chain.js", "pack"], copy);
    const packed = JSON.parse(outputOf("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], copy));
    const [entry] = Object.values(packed) as { files: { path: string }[] }[];
    files = (entry?.files ?? []).map(({ path }) => path);
    outputOf("node", ["scripts/supply-chain.js", "unpack"], copy);
  }, packagesMsMax);

  test("has the program, its sources, the pinned versions and the bill of materials", () => {
    const some = ["bin/plant-store.js", "src/main.ts", "npm-shrinkwrap.json", "dist/sbom.cdx.json"];
    expect(files).toEqual(expect.arrayContaining(some));
  });

  test("has nothing private", () => {
    const isPrivate = /\.test\.ts$|^test\/|^data\/|\/secrets\/|^dist\/plant|package-lock/;
    expect(files.filter((path) => isPrivate.test(path))).toEqual([]);
  });

  test("has what its pages link to", () => {
    const known = new Set(files.flatMap((path) => [path, `${dirname(path)}/`, dirname(path)]));
    const links = /\]\((?!https?:|#|mailto:)([^)#]+)|(?:src|srcset|href)="(?!https?:|#)([^"#]+)"/g;
    const broken = files
      .filter((path) => path.endsWith(".md"))
      .flatMap((page) =>
        Array.from(readFileSync(join(root, page), "utf8").matchAll(links), ([, inMarkdown, inHtml]) =>
          normalize(join(dirname(page), inMarkdown ?? inHtml ?? "")),
        ),
      )
      .filter((target) => !known.has(target));
    expect(broken).toEqual([]);
  });

  test("leaves no pinned versions in the sources", () => {
    expect(readdirSync(copy)).not.toContain("npm-shrinkwrap.json");
  });
});

describe("the client's package", () => {
  const at = project("client");
  const installed = join(at, "node_modules/plant-store-client");
  beforeAll(() => {
    mkdirSync(installed, { recursive: true });
    outputOf("tar", ["-xzf", pack("./packages/client"), "--strip-components=1", "-C", installed], at);
  }, packagesMsMax);

  test("runs on Node and Bun", async () => {
    const database = join(at, "plants.db");
    await using service = await serve(["--database", database], { environment: accessTokenEnvironment });
    const sent = ["node", process.execPath].map((program) =>
      send(program, at, "plant-store-client", service.url),
    );
    expect(sent).toEqual([false, true].map((replayed) => ({ name: "fern", replayed })));
    expect(storedPlants(database)).toMatchObject([{ id: 2n ** 63n - 1n }]);
  });

  test("has the service's version, and needs no other package", () => {
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    expect(manifest.version).toBe(packageFile.version);
    expect(manifest.dependencies).toBeUndefined();
  });

  // No tests, and none of an earlier build.
  test("has only the files that it uses", () => {
    expect(readdirSync(installed).sort()).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
    const modules = ["errors", "in-order", "plant-store-client"];
    expect(readdirSync(join(installed, "dist")).sort()).toEqual(
      modules.flatMap((name) => [`${name}.d.ts`, `${name}.js`]),
    );
  });
});

// It fetches all that it needs from npm.
const offline = spawnSync("npm", ["view", "publint", "version"]).status !== 0;
test.skipIf(lacks("a registry of npm", offline))(
  "both packages pass publint and attw, and run on every Node with long-term support",
  async () => {
    const service = pack(".");
    const client = pack("./packages/client");
    const toolFolder = project("tools");
    outputOf("npm", ["install", "--no-save", "--ignore-scripts", ...tools], toolFolder);
    const tool = (name: string) => join(toolFolder, "node_modules/.bin", name);
    for (const archive of [service, client]) {
      outputOf(tool("publint"), [archive, "--strict"], toolFolder);
      outputOf(tool("attw"), [archive, "--profile", "esm-only"], toolFolder);
    }
    const withNpm = project("npm");
    outputOf("npm", ["install", "--ignore-scripts", service, client], withNpm);
    for (const version of nodeVersions) await tryOut(fetchNode(version), withNpm);
  },
  packagesMsMax,
);

function pack(path: string): string {
  const args = ["pack", "--silent", "--pack-destination", folder.path, path];
  return join(folder.path, outputOf("npm", args, root).trim().split("\n").at(-1) ?? "");
}

function project(name: string): string {
  const path = join(folder.path, name);
  mkdirSync(path);
  writeFileSync(join(path, "package.json"), JSON.stringify({ private: true, type: "module" }));
  return path;
}

/** The binary of that version of Node, in the package that npm's `node` would fetch by its install script. */
function fetchNode(version: number): string {
  const platform = `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const at = project(`node-${version}`);
  outputOf("npm", ["install", "--no-save", "--ignore-scripts", `node-${platform}@${version}`], at);
  return join(at, `node_modules/node-${platform}/bin/node`);
}

/** The command, the service, its console, and a plant from either import of the client. */
async function tryOut(node: string, at: string): Promise<void> {
  const command = join(at, "node_modules/plant-store/bin/plant-store.js");
  expect(outputOf(node, [command, "--help"], at)).toContain("\n  serve  ");
  const database = join(folder.path, "data", `${crypto.randomUUID()}.db`);
  await using service = await untilListening(
    start(node, [command, "serve", "--database", database], {
      folder: at,
      environment: accessTokenEnvironment,
      through: "launcher",
    }),
  );
  const { url, operatorUrl, child, ended } = service;
  const sent = ["plant-store-client", "plant-store/client"].map((module) => send(node, at, module, url));
  expect(sent).toEqual([false, true].map((replayed) => ({ name: "fern", replayed })));
  expect(await (await fetch(operatorUrl)).text()).toContain("<script");
  child.kill("SIGTERM");
  expect((await ended).code).toBe(0);
}

/** Sends a plant with that import of the client. */
function send(node: string, at: string, module: string, url: string): unknown {
  const script = `import { PlantStoreClient } from "${module}";
    const client = new PlantStoreClient({ baseUrl: process.argv[2], token: process.argv[3] });
    console.log(JSON.stringify(await client.createPlant({ id: 9223372036854775807n, name: "fern" })));`;
  writeFileSync(join(at, "send.js"), script);
  return JSON.parse(outputOf(node, ["send.js", url, accessToken], at));
}
