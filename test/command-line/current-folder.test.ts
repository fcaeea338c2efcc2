// The folder in which a command is run: nothing that lies there is run or read as settings.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { plantStore, serve } from "../support/command.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

/** A folder from an untrusted archive: it has every file that Bun reads from the current folder, and each runs code. */
function hostileFolder() {
  const folder = temporaryFolder();
  const write = (name: string, text: string) => writeFileSync(join(folder.path, name), text);
  const marker = join(folder.path, "marker");
  write(
    "hijack.ts",
    `require("node:fs").appendFileSync(${JSON.stringify(marker)}, "ran\\n");
     export const hijacked = "hijacked by the current folder"; export default hijacked; console.log(hijacked);`,
  );
  const preload = 'preload = ["./hijack.ts"]\n';
  for (const name of ["bunfig.toml", ".bunfig.toml"])
    write(name, `${preload}[run]\n${preload}[test]\n${preload}[define]\n"Math.max" = "hijacked"\n`);
  const paths = { "*": ["./hijack.ts"] };
  const tsconfig = JSON.stringify({ compilerOptions: { baseUrl: ".", paths, jsxImportSource: "hijack" } });
  for (const name of ["tsconfig.json", "jsconfig.json"]) write(name, tsconfig);
  for (const mode of ["", ".local", ".development", ".production", ".test", ".production.local"])
    write(`.env${mode}`, "PLANT_STORE_DATABASE=hijacked.db\nPLANT_STORE_LOG_LEVEL=hijacked\n");
  write(
    "package.json",
    '{"type":"commonjs","imports":{"#x":"./hijack.ts"},"browser":{"preact":"./hijack.ts"}}',
  );
  for (const name of ["pg", "preact"]) {
    mkdirSync(join(folder.path, "node_modules", name), { recursive: true });
    write(`node_modules/${name}/index.js`, 'import "../../hijack.ts";');
  }
  return { ...folder, ran: () => existsSync(marker) };
}

test("no command, thread or page runs the code or uses the settings of an untrusted current folder", async () => {
  using folder = hostileFolder();
  const environment = accessTokenEnvironment;
  const options = { folder: folder.path, through: "launcher", environment } as const;
  const inside = (...args: string[]) => plantStore(args, options);
  const settings = JSON.parse((await inside("config", "--json")).out) as { name: string; source: string }[];
  // Every test's environment sets the ports, and these the token.
  const changed = settings.filter(({ source }) => source !== "default").map(({ name }) => name);
  expect(changed).toEqual(["listen", "operator-listen", "PLANT_STORE_ACCESS_TOKEN"]);

  await using service = await serve(["--database", "plants.db"], options);
  const { operatorUrl } = service;
  const page = await (await fetch(operatorUrl)).text();
  const script = await (await fetch(operatorUrl + /type="module" src="([^"]+\.js)"/.exec(page)?.[1])).text();
  expect(script).not.toContain("hijacked");
  expect(script.length).toBeGreaterThan(50_000);

  writeFileSync(join(folder.path, "plants.ndjson"), '{"id":1,"name":"Fern"}\n');
  const imported = await inside("import", "plants.ndjson", "--url", service.url);
  expect(imported.code).toBe(0);
  expect(imported.err).toContain("1 created");
  expect(folder.ran()).toBe(false);
});
