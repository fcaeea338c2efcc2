// What the tab keeps across reloads. A browser may be set to keep nothing for this site; then even looking for the storage throws.

export function readStored(key: string): string | undefined {
  try {
    return sessionStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Returns false if the browser refuses. */
export function tryStore(key: string, value: string): boolean {
  try {
    sessionStorage.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

/** What the browser refuses to store is not there to be removed. */
export function removeStored(key: string): void {
  try {
    sessionStorage.removeItem(key);
  } catch {}
}
