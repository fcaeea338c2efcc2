import { useState } from "preact/hooks";

// Like the token, a draft is discarded with the tab.
const prefix = "plant-store-draft-";

export interface Draft<Value> {
  readonly value: Value;
  set(value: Value): void;
  discard(): void;
}

/** What is typed into a dialog. It survives a lost session, even if signing in again leaves the page, until it is discarded. */
export function useDraft<Value extends object>(name: string, initial: Value): Draft<Value> {
  const key = prefix + name;
  const [value, setValue] = useState<Value>(() => {
    const stored = sessionStorage.getItem(key);
    return stored === null ? initial : { ...initial, ...(JSON.parse(stored) as Value) };
  });
  return {
    value,
    set(value) {
      sessionStorage.setItem(key, JSON.stringify(value));
      setValue(value);
    },
    discard: () => sessionStorage.removeItem(key),
  };
}

/** Whether the dialog was open with something typed when its session was lost. */
export function hasDraft(name: string): boolean {
  return sessionStorage.getItem(prefix + name) !== null;
}

export function discardDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key);
}
