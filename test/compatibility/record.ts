// Records what this version promises, before it is released: node scripts/with-bun.js test/compatibility/record.ts >
// test/fixtures/VERSION/surface.json
import { recordSurface } from "./surface.ts";

console.log(JSON.stringify(await recordSurface(), null, 2));
