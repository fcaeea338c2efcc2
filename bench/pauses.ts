// npm run bench:pauses [-- MINUTES] [--quick] [--write]
// The longest pause and the memory in so many minutes (10 by default) of full load.
import { fullLoad } from "./full-load.ts";
import { ownOptions } from "./options.ts";
import { saveResults } from "./results.ts";

const options = ownOptions();
saveResults(
  { pauses: await fullLoad(Number(options.positional[0] ?? (options.quick ? 1 / 3 : 10)), []) },
  options,
);
