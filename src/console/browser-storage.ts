/** Kept by the browser until someone clears it, or until the tab is closed. */
type StorageArea = "localStorage" | "sessionStorage";

// A browser may be set to keep nothing for this site. Then even looking for the storage throws.

/** What is stored under the key; undefined if nothing is, or the browser refuses. */
export function readStored(area: StorageArea, key: string): string | undefined {
  try {
    return window[area].getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Returns false if the browser refuses. */
export function writeStored(area: StorageArea, key: string, value: string): boolean {
  try {
    window[area].setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

/** What the browser refuses to store is not there to be removed. */
export function removeStored(area: StorageArea, key: string): void {
  try {
    window[area].removeItem(key);
  } catch {}
}
