// The thread on which on-thread.ts runs its calls.
import { connectReadOnly } from "../reading/open-read-only.ts";
import { serveThread } from "../threads/thread.ts";
import { copyInto, findDamage } from "../writing/copy-and-check.ts";
import { checkRows } from "./check-rows.ts";
import { comparePlants } from "./compare-plants.ts";
import type { MaintenanceCalls } from "./on-thread.ts";

const calls: MaintenanceCalls = {
  copy(from, to) {
    using database = connectReadOnly(from);
    copyInto(database, to);
  },
  findDamage,
  checkRows,
  comparePlants,
};

serveThread(() => ({ calls }));
