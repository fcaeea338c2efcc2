import { connectReadOnly } from "../reading/open-read-only.ts";
import { serveThread } from "../threads/thread.ts";
import { copyInto, findDamage } from "../writing/copy-and-check.ts";
import { checkRows } from "./check-rows.ts";
import { comparePlants } from "./compare-plants.ts";
import type { CopyCalls } from "./copy.ts";

const calls: CopyCalls = {
  copy(from, to) {
    using database = connectReadOnly(from);
    copyInto(database, to);
  },
  check: findDamage,
  checkRows,
  compare: comparePlants,
};

serveThread(() => ({ calls }));
