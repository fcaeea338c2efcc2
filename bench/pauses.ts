// npm run bench:pauses [-- MINUTES] [--quick] [--write]
// The longest pause and the memory in that many minutes (10 by default) of full load. With a C compiler, and as root, it also
// reports the pauses without the times in which the service waited for its disk, or the hypervisor did not run a core.
import { fullLoad } from "./full-load.ts";
import { ownOptions } from "./options.ts";
import { saveResults } from "./results.ts";

const options = ownOptions();
saveResults(
  { pauses: await fullLoad(Number(options.positional[0] ?? (options.quick ? 1 / 3 : 10))) },
  options,
);
