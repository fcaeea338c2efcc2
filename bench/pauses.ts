// npm run bench:pauses [-- MINUTES]
// The longest pause and the memory in so many minutes (10 unless told) of full load.
import { fullLoad } from "./full-load.ts";
import { saveResults } from "./results.ts";

saveResults({ pauses: await fullLoad(Number(process.argv[2] ?? 10), []) });
