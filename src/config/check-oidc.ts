import { jwtShape } from "../access/secret.ts";
import { ConfigProblem } from "./values.ts";

export interface OidcValues {
  readonly oidcIssuer: string | undefined;
  readonly oidcAudience: string | undefined;
  readonly oidcClientId: string | undefined;
  readonly operatorListen: unknown;
}

/**
 * Settings of the identity provider that contradict each other, or a preset token.
 * @throws ConfigProblem
 */
export function checkOidc(
  { oidcIssuer, oidcAudience, oidcClientId, operatorListen }: OidcValues,
  presetSecrets: Readonly<Record<string, string | undefined>>,
): void {
  if (oidcIssuer === undefined) {
    if (oidcAudience !== undefined) throw new ConfigProblem("--oidc-audience needs --oidc-issuer.");
    if (oidcClientId !== undefined) throw new ConfigProblem("--oidc-client-id needs --oidc-issuer.");
    return;
  }
  if (oidcAudience === undefined)
    throw new ConfigProblem(
      "--oidc-issuer needs --oidc-audience: without it, a token for any other service of that issuer would be accepted.",
    );
  if (oidcClientId !== undefined && operatorListen === undefined)
    throw new ConfigProblem("--oidc-client-id is for the console, which --operator-listen off turns off.");
  for (const [label, secret = ""] of Object.entries(presetSecrets))
    if (jwtShape.test(secret))
      throw new ConfigProblem(
        `${label} holds a token in three parts with dots between them, which --oidc-issuer makes a JWT; choose another.`,
      );
}
