// npm run soak [-- MINUTES] [--quick] [--write]
// That many minutes (60 by default) of full load: the memory must stay flat. An hour
// needs 10 GB of disk.
import { fullLoad } from "./full-load.ts";
import { ownOptions } from "./options.ts";
import { saveResults } from "./results.ts";

const options = ownOptions();
const minutes = Number(options.positional[0] ?? (options.quick ? 1 / 3 : 60));
saveResults({ soak: await fullLoad(minutes) }, options);
