// npm run soak [-- MINUTES]
// So many minutes (60 unless told) of full load with a worker for each core: the memory must stay flat. An hour
// takes 10 GB of disk meanwhile.
import { fullLoad } from "./full-load.ts";
import { saveResults } from "./results.ts";

const minutes = Number(process.argv[2] ?? 60);
saveResults({ soak: await fullLoad(minutes, ["--workers", String(navigator.hardwareConcurrency)]) });
