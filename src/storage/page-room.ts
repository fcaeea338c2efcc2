import { pageBytesMax, type StoredPlant } from "../plants/plant-archive.ts";
import { formatJson } from "../text/json-text.ts";

// The id, the time and the names of the fields, about.
const bytesBeside = 120;

/** What still fits into a page, in bytes of the response, in which a control character takes six. The first plant always fits. */
export class PageRoom {
  #bytesLeft = pageBytesMax;
  #isEmpty = true;

  /** Takes the room of the plant, if there is as much. */
  take({ name, tag }: StoredPlant): boolean {
    this.#bytesLeft -= bytesBeside + Buffer.byteLength(formatJson([name, tag]));
    const fits = this.#isEmpty || this.#bytesLeft >= 0;
    this.#isEmpty = false;
    return fits;
  }
}
