// Records what a version promises: node scripts/with-bun.js test/compatibility/record.ts CHECKOUT >
// test/fixtures/VERSION/surface.json
import { resolve } from "node:path";
import { recordSurface } from "./surface.ts";

const [, , checkout] = process.argv;
if (checkout === undefined) throw new Error("Name the folder of a checkout of that version.");
console.log(JSON.stringify(await recordSurface(resolve(checkout)), null, 2));
