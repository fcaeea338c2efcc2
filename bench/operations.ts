import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../test/support/temporary-folder.ts";
import { fillStore } from "./fill-store.ts";
import { load } from "./load.ts";
import { type Bench, readMillions } from "./options.ts";
import { table, writeSection } from "./page.ts";
import { operatorTokenOf, ownCheckout, type Server, startOurs, token } from "./servers.ts";

/** What reads or copies a whole store, and a start after a crash. */
export const operations: Bench = {
  usage: "[MILLIONS]",
  summary:
    "how long a start after a crash, backup, verify, restore, export and follow take with that many million plants (10)",
  rounds: 1,
  async run({ positional: [given], quick, write }) {
    const millions = given === undefined ? (quick ? 0.1 : 10) : readMillions(given);
    using folder = temporaryFolder();
    const database = join(folder.path, "store", "plants.db");
    mkdirSync(join(folder.path, "store"));
    console.error(`filling a store with ${millions} million plants`);
    fillStore(database, millions * 1_000_000, "random");
    const bytes = statSync(database).size;
    const backup = join(folder.path, "backup.db");
    const rows: (readonly [what: string, seconds: number])[] = [];
    const time = async (what: string, args: readonly string[], server?: Server): Promise<void> => {
      console.error(what);
      const startedMs = performance.now();
      await run(args, server);
      rows.push([what, (performance.now() - startedMs) / 1000]);
    };
    {
      await using server = await startOurs({ database });
      rows.push(["start", server.firstAnswerMs / 1000]);
      await load(server, { connections: 64, seconds: 2, firstId: millions * 1_000_000 + 1, order: "random" });
      process.kill(server.pid, "SIGKILL");
    }
    {
      await using server = await startOurs({ database });
      rows.push(["start after a crash", server.firstAnswerMs / 1000]);
      await time("backup, beside the service", ["backup", backup, "--database", database]);
      await time("export, beside the service", ["export", "--database", database]);
      const url = `http://127.0.0.1:${server.operatorPort}`;
      await time("follow from the first plant", ["follow", "--once", "--url", url], server);
    }
    await time("verify", ["verify", "--database", backup]);
    await time("restore", ["restore", backup, "--database", join(folder.path, "restored.db")]);
    const text = table(
      ["operation", "#s", "#plants/s"],
      rows.map(([what, seconds]) => [
        what,
        seconds.toFixed(seconds < 10 ? 2 : 0),
        what.startsWith("start") ? "" : Math.round((millions * 1_000_000) / seconds),
      ]),
    );
    const store = `${millions} million plants in ${(bytes / 1e9).toFixed(1)} GB, with random ids`;
    console.log(`${store}.\n\n${text}`);
    if (write) writeSection("results/benchmarks.md", "operations", `With ${store}.\n\n${text}`);
  },
};

async function run(args: readonly string[], server?: Server): Promise<void> {
  const environment = server === undefined ? {} : { PLANT_STORE_ACCESS_TOKEN: operatorTokenOf(token) };
  const child = Bun.spawn([process.execPath, join(ownCheckout, "src/main.ts"), ...args], {
    env: { PATH: process.env["PATH"] ?? "", ...environment },
    stdout: "ignore",
    stderr: "pipe",
  });
  const err = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${args[0]}: ${err}`);
}
