import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { temporaryFolder } from "./harness.ts";

// What npm would pack. test/slow/packages.test.ts installs it and runs it.
const root = join(import.meta.dir, "..");

function packedFiles(folder: string): string[] {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const packed = JSON.parse(spawnSync("npm", args, { cwd: folder, encoding: "utf8" }).stdout);
  const [{ files }] = Array.isArray(packed) ? packed : Object.values(packed);
  return files.map(({ path }: { path: string }) => path);
}

describe("the package of the service", () => {
  // A copy: other tests build the client meanwhile. Beside the sources it has what must not be packed.
  const folder = temporaryFolder();
  afterAll(() => folder[Symbol.dispose]());
  let files: string[] = [];
  beforeAll(() => {
    const left = /^(?:\.git|node_modules|dist|packages|data|test|bench|tmp)$/;
    for (const name of readdirSync(root).filter((name) => !left.test(name)))
      cpSync(join(root, name), join(folder.path, name), { recursive: true });
    cpSync(join(root, "packages/client/README.md"), join(folder.path, "packages/client/README.md"));
    for (const path of ["deploy/examples/secrets/access-token", "dist/plant-store", "data/plant-store.db"]) {
      mkdirSync(join(folder.path, dirname(path)), { recursive: true });
      writeFileSync(join(folder.path, path), "x");
    }
    files = packedFiles(folder.path);
  });

  test("has every file that a page in it links to", async () => {
    const folders = new Set(files.flatMap((path) => [`${dirname(path)}/`, dirname(path)]));
    const pages = files.filter((path) => path.endsWith(".md"));
    expect(pages).toEqual(expect.arrayContaining(["README.md", "docs/operating.md"]));
    const links = /\]\((?!https?:|#|mailto:)([^)#]+)|(?:src|srcset|href)="(?!https?:|#)([^"#]+)"/g;
    const broken: string[] = [];
    for (const page of pages) {
      for (const [, inMarkdown, inHtml] of (await Bun.file(join(root, page)).text()).matchAll(links)) {
        const target = normalize(join(dirname(page), inMarkdown ?? inHtml ?? ""));
        if (!files.includes(target) && !folders.has(target)) broken.push(`${page} → ${target}`);
      }
    }
    expect(broken).toEqual([]);
  });

  test("has no tests, data, secrets or executables", () => {
    expect(files).toEqual(
      expect.arrayContaining(["bin/plant-store.js", "src/main.ts", "deploy/examples/compose.yaml"]),
    );
    expect(files.filter((path) => /\.test\.ts$|^test\/|^data\/|\/secrets\/|^dist\//.test(path))).toEqual([]);
  });
});

// An image that was built from a context without a folder that it copies fails late, and elsewhere.
test("the context of the image has what the Dockerfile copies, and no secret or data", async () => {
  const lines = (await Bun.file(join(root, ".dockerignore")).text()).split("\n");
  const admitted = lines.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  const dockerfile = await Bun.file(join(root, "deploy/Dockerfile")).text();
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, list = ""]) =>
    list.split(" "),
  );
  expect(lines).toContain("*");
  expect(copied.sort()).toEqual(admitted.sort());
});
