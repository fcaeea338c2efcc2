import { afterAll, expect } from "bun:test";
import { describe, test } from "./browser.ts";
import { makeToken, useConsole } from "./console-session.ts";
import { eventually, storedPlants } from "./harness.ts";

const plants = 2000;
const waitMs = 60_000;
const session = useConsole(plants, { "drain-timeout": "10m" });
const { open } = session;

afterAll(() => expect(session.pageErrors).toEqual([]));

describe("stopping the service", () => {
  test(
    "does not wait for open tabs of the console, nor for an import in one of them",
    async () => {
      const { running } = session;
      const tabs = [
        ["/", "Overview"],
        ["/plants", "Plants"],
        ["/tokens", "Tokens"],
        ["/audit", "Audit"],
        ["/system", "System"],
      ] as const;
      for (const [path, title] of tabs) {
        const page = await open(path);
        await page.getByRole("heading", { name: title, level: 1 }).waitFor();
      }
      const scopes = ["operator", "plants:create"];
      const importing = await open("/import", { token: await makeToken(running, "slow", scopes, "1/s") });
      const rows = Array.from({ length: 600 }, (_, row) => `{"id":${-row - 1},"name":"Slow"}\n`).join("");
      await importing.locator("input[type=file]").setInputFiles({
        name: "slow.ndjson",
        mimeType: "application/octet-stream",
        buffer: Buffer.from(rows),
      });
      await importing.getByRole("button", { name: "Start import" }).click();
      await eventually(() => storedPlants(running.database).length > plants, waitMs);
      // Without a drain timeout that could end before the test does.
      await running.service.close("test");
      expect(running.logged.join("")).not.toContain("drain timeout reached");
      await importing.getByText("The import waits, and continues by itself.").waitFor();
    },
    2 * waitMs,
  );
});
