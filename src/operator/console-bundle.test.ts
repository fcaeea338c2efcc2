import { expect, test } from "bun:test";
import { bundleConsole } from "./console-bundle.ts";

// What a slow phone loads in about a second.
const scriptGzipBytesMax = 45_000;

test("the console's script is less than 45 kB as gzip", async () => {
  const files = [...(await bundleConsole()).entries()];
  const scripts = files.filter(([path]) => path.endsWith(".js"));
  expect(scripts.map(([path]) => path.replace(/-\w+\.js$/, "")).sort()).toEqual([
    "/assets/main",
    "/assets/theme.browser",
  ]);
  const bytes = scripts.reduce((sum, [, { gzip }]) => sum + gzip.length, 0);
  expect(bytes).toBeLessThan(scriptGzipBytesMax);
});
