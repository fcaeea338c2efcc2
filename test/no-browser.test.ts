import { describe, expect, test } from "bun:test";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browsers, installBrowsers } from "../scripts/browsers.js";
import { installChromium } from "../scripts/chromium.js";
import { temporaryFolder } from "./harness.ts";

const scripts = join(import.meta.dir, "../scripts");

describe("without a browser", () => {
  const environment = (more: Record<string, string> = {}) => ({
    PATH: process.env["PATH"] ?? "",
    HOME: process.env["HOME"] ?? "",
    CHROMIUM: "none",
    ...more,
  });

  test("its tests are skipped and counted, and the others pass", () => {
    const files = ["docs-page", "console", "console-work", "console-access"].map((name) =>
      join(import.meta.dir, `${name}.test.ts`),
    );
    const command = ["node", join(scripts, "with-bun.js"), "test", ...files];
    const { exitCode, stderr } = Bun.spawnSync(command, { env: environment(), stdout: "ignore" });
    const said = stderr.toString();
    expect([exitCode, said]).toEqual([0, expect.stringMatching(/^ *0 pass\n *[1-9]\d* skip\n *0 fail$/m)]);
  });

  test("npm test fails immediately under CI", () => {
    const command = ["node", join(scripts, "check.js"), "src/plants/int64.test.ts"];
    const { exitCode, stdout, stderr } = Bun.spawnSync(command, { env: environment({ CI: "true" }) });
    expect([exitCode, stdout.toString(), stderr.toString()]).toEqual([
      1,
      "",
      expect.stringContaining("There is no browser for the tests (CHROMIUM=none), and under CI"),
    ]);
  });
});

describe("a browser is installed", () => {
  /** A fake apt-get: it fails as the real one does while another process holds a lock, and then "installs". */
  function withAptGet(script: string) {
    const folder = temporaryFolder();
    const [apt, chromium, calls] = ["apt-get", "chromium", "calls"].map((name) => join(folder.path, name));
    const text = `#!/bin/sh\necho "$*" >> ${calls}\n${script.replaceAll("CHROMIUM", chromium ?? "")}\n`;
    writeFileSync(apt ?? "", text);
    chmodSync(apt ?? "", 0o755);
    const said: string[] = [];
    const problem = installChromium({
      named: "",
      places: [chromium ?? ""],
      isRoot: true,
      environment: { PATH: `${folder.path}:/usr/bin:/bin` },
      say: (line) => said.push(line),
    });
    const called = readFileSync(calls ?? "", "utf8")
      .trim()
      .split("\n");
    folder[Symbol.dispose]();
    return { problem, called, said };
  }

  test("once another process has released the package lock", () => {
    const { problem, called, said } = withAptGet(`
      held() { echo "E: Could not get lock $1. It is held by process 1 (apt-get)" >&2; exit 100; }
      case "$(wc -l < "$(dirname "$0")/calls")" in
        1) held /var/lib/apt/lists/lock ;;
        3) held /var/lib/dpkg/lock-frontend ;;
        4) : > CHROMIUM ;;
      esac`);
    expect(problem).toBeUndefined();
    expect(called.map((args) => args.split(" ")[0])).toEqual(["update", "update", "install", "install"]);
    expect(said.filter((line) => line.includes("waiting"))).toHaveLength(2);
  });

  test("or the reason is reported", () => {
    const { problem, called } = withAptGet('echo "E: Temporary failure resolving the mirror" >&2; exit 100');
    expect(problem).toBe("apt-get update failed: E: Temporary failure resolving the mirror");
    expect(called).toHaveLength(1);
    expect(installChromium({ named: "", places: [], isRoot: false })).toContain("only root on Debian");
  });

  test("for each of the other browsers too, or a sentence says which one is missing", () => {
    const said: string[] = [];
    installBrowsers({ path: "", isRoot: false, say: (line) => said.push(line) });
    expect(said).toEqual([
      expect.stringMatching(/^Firefox is skipped: firefox-esr is missing \(.*only root on Debian/),
      expect.stringMatching(
        /^WebKit is skipped: WebKitWebDriver and Xvfb are missing \(.*only root on Debian/,
      ),
    ]);
    using folder = temporaryFolder();
    const apt = join(folder.path, "apt-get");
    const programs = Object.values(browsers).flatMap(({ programs }) => programs);
    const create = programs.map((program) => `: > ${join(folder.path, program)}`).join("\n");
    writeFileSync(apt, `#!/bin/sh\n[ "$1" = install ] || exit 0\n${create}\n`);
    chmodSync(apt, 0o755);
    said.length = 0;
    const environment = { PATH: `${folder.path}:/usr/bin:/bin` };
    installBrowsers({ path: folder.path, isRoot: true, environment, say: (line) => said.push(line) });
    expect(said).toEqual([expect.stringContaining("Installing firefox-esr from Debian's packages")]);
  });
});
