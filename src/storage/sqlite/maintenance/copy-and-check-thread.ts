import { isDamage } from "../data-file-problem.ts";
import { connectReadOnly } from "../reading/open-read-only.ts";
import { serveThread } from "../thread.ts";
import type { CopyAndCheckCalls } from "./copy-and-check.ts";

const checkCacheKib = 131_072;

const calls: CopyAndCheckCalls = {
  copy(path, to) {
    using database = connectReadOnly(path);
    database.query("VACUUM INTO ?").run(to);
  },

  check(path) {
    try {
      using database = connectReadOnly(path);
      // Each index entry is looked up in its table, which with random ids is a page each, so the cache is large.
      database.run(`PRAGMA cache_size = -${checkCacheKib}`);
      const rows = database.query<{ integrity_check: string }, []>("PRAGMA integrity_check(20)").all();
      return rows.map(({ integrity_check }) => integrity_check).filter((text) => text !== "ok");
    } catch (error) {
      if (isDamage(error)) return [error.message];
      throw error;
    }
  },
};

serveThread(() => ({ calls }));
