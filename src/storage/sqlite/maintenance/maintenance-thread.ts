// The thread on which on-thread.ts runs its calls.
import { connectReadOnly } from "../reading/connect-read-only.ts";
import { serveThread } from "../threads/thread.ts";
import { copyInto } from "../writing/copy-into.ts";
import { findDamagedIdIndex, findDamagedTables } from "../writing/find-damage.ts";
import { checkRows } from "./check-rows.ts";
import { comparePlants } from "./compare-plants.ts";
import type { MaintenanceCalls } from "./on-thread.ts";
import { setPlantsDone, setPlantTotal } from "./step.ts";

const calls: MaintenanceCalls = {
  copy(from, to) {
    using database = connectReadOnly(from);
    copyInto(database, to);
  },
  findDamagedTables,
  findDamagedIdIndex(path, progress) {
    return findDamagedIdIndex(path, (plants, total) => {
      setPlantTotal(progress, total);
      setPlantsDone(progress, plants);
    });
  },
  checkRows,
  comparePlants,
};

serveThread(() => ({ calls }));
