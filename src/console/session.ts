import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { OperatorApi } from "./api.ts";
import type { Me } from "./api-shapes.ts";
import type { Feed } from "./feed.ts";
import type { ImportRun } from "./import/import-run.ts";

/** What every page has at hand once someone is signed in. */
export interface Surroundings {
  readonly api: OperatorApi;
  readonly feed: Feed;
  readonly me: Me;
  /** The import of this session, which goes on whatever page is looked at. */
  readonly importHolder: { current: ImportRun | undefined };
  /** Opens the dialog for a new plant. */
  addPlant(): void;
  /** Says a sentence to everyone, screen readers included. */
  say(sentence: string): void;
}

export const SurroundingsContext = createContext<Surroundings | undefined>(undefined);

export function useSurroundings(): Surroundings {
  const surroundings = useContext(SurroundingsContext);
  if (surroundings === undefined) throw new Error("used outside of a session");
  return surroundings;
}
