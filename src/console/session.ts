import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { CallerJson, MintedTokenJson } from "../operator/responses.ts";
import type { OperatorApi } from "./api.ts";
import type { ServiceConnection } from "./connection.ts";
import type { TabImports } from "./import/tab-imports.ts";

/** The context of every page while the user is signed in. */
export interface Session {
  readonly api: OperatorApi;
  readonly connection: ServiceConnection;
  readonly me: CallerJson;
  readonly imports: TabImports;
  /** Opens the dialog for a new plant. */
  addPlant(): void;
  /** Shows the secret of a new token. The dialog outlasts the session, which ends if that token replaces the session's own. */
  showSecret(minted: MintedTokenJson): void;
}

export type Scope = CallerJson["scopes"][number];

/** Whether the token has the scope, directly or as part of another. */
export function hasScope({ scopes }: CallerJson, scope: Scope): boolean {
  const containing: readonly Scope[] = scope === "plants:read" ? ["operator:read", "operator"] : ["operator"];
  return scopes.includes(scope) || (scope !== createScope && containing.some((one) => scopes.includes(one)));
}

export const createScope = "plants:create";

export const SessionContext = createContext({} as Session);

export function useSession(): Session {
  return useContext(SessionContext);
}
