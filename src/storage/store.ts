import type { TokenStore } from "../access/tokens.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import type { PlantStore } from "../plants/plant-store.ts";

/** Everything that is kept, whichever engine keeps it. */
export interface Store extends AsyncDisposable {
  readonly engine: "sqlite" | "postgres";
  readonly plants: PlantStore;
  readonly tokens: TokenStore;
  readonly archive: PlantArchive;
}
