import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";

/** What a browser needs to sign in with the identity provider. Nothing of it is secret. */
export interface ConsoleSignIn {
  readonly issuer: string;
  readonly clientId: string;
  readonly audience: string;
  readonly scope: string;
  /** Undefined while the provider has not been reached. */
  readonly authorizationEndpoint: string | undefined;
  readonly tokenEndpoint: string | undefined;
}

export interface IdentityProviderParts {
  /** Undefined where the console signs in with tokens alone. */
  readonly consoleSignIn: () => ConsoleSignIn | undefined;
}

export const showIdentityProvider: Route<IdentityProviderParts> = {
  method: "GET",
  path: "/api/identity-provider",
  scope: "none",
  operation: {
    operationId: "showIdentityProvider",
    tags: ["tokens"],
    summary: "Says where to sign in.",
    success: {
      status: 200,
      description: "The identity provider; empty where there is none.",
      content: jsonContent("IdentityProvider"),
    },
  },
  handler:
    ({ consoleSignIn }) =>
    (exchange) =>
      exchange.json(consoleSignIn() ?? {}),
};
