import { createContext } from "preact";
import { useContext, useLayoutEffect, useReducer } from "preact/hooks";
import type { Console, Router } from "./create-console.ts";
import type { Observable } from "./observable.ts";

export const ConsoleContext = createContext<Console | undefined>(undefined);

export function useConsole(): Console {
  const shared = useContext(ConsoleContext);
  if (shared === undefined) throw new Error("There is no console around this component.");
  return shared;
}

/** Renders the component again whenever the model changes. */
export function useObserved<Model extends Observable>(model: Model): Model {
  const [, redraw] = useReducer<number, void>((count) => count + 1, 0);
  // A layout effect does not wait for a frame, in which the model could change unnoticed.
  useLayoutEffect(() => model.subscribe(redraw), [model]);
  return model;
}

/** The address bar, for a component that shows what is there. */
export function useRouter(): Router {
  return useObserved(useConsole().router);
}
