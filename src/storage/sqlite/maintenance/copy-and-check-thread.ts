import { isDamage } from "../data-file-problem.ts";
import { connectReadOnly } from "../reading/open-read-only.ts";
import type { MaintenanceAnswer, MaintenanceTask } from "./copy-and-check.ts";

declare const self: Worker;

const checkCacheKib = 131_072;

// The other half of maintenance.ts: one long statement, while the main thread tells of its progress.
self.onmessage = ({ data: task }: MessageEvent<MaintenanceTask>) => {
  self.postMessage(done(task));
};

function done(task: MaintenanceTask): MaintenanceAnswer {
  try {
    using database = connectReadOnly(task.path);
    if (task.kind === "copy") {
      database.query("VACUUM INTO ?").run(task.to);
      return { problems: [] };
    }
    // Each entry of an index is looked up in its table; with ids in no order that is a page each, so many are kept at hand.
    database.run(`PRAGMA cache_size = -${checkCacheKib}`);
    const rows = database.query<{ integrity_check: string }, []>("PRAGMA integrity_check(20)").all();
    return { problems: rows.map(({ integrity_check }) => integrity_check).filter((text) => text !== "ok") };
  } catch (error) {
    if (task.kind === "check" && isDamage(error)) return { problems: [error.message] };
    return { failed: error instanceof Error ? error.message : String(error) };
  }
}
