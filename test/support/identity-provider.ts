import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from "jose";
import type { JWKS, Provider } from "oidc-provider";
import { scopes as known } from "../../src/access/scopes.ts";

// It warns on the console that this is not for production, which is so.
const { info, warn } = console;
const unlessItsOwn = (write: typeof warn) => (text: unknown) =>
  String(text).startsWith("oidc-provider") ? undefined : write(text);
Object.assign(console, { info: unlessItsOwn(info), warn: unlessItsOwn(warn) });
// It uses a deprecated function of Node.
process.noDeprecation = true;
const oidcProvider = await import("oidc-provider");

export const audience = "https://plants.example.org";
export const keyId = "key-1";
const scopes = known.join(" ");

/** The package oidc-provider, a certified implementation, on a free port of loopback. */
export async function startProvider() {
  const keyPair = await generateKeyPair("RS256", { extractable: true });
  const { privateKey } = keyPair;
  const jwks = { keys: [{ ...(await exportJWK(privateKey)), kid: keyId, alg: "RS256", use: "sig" }] };
  let handle: RequestListener = () => {};
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const registerConsole = (url: string): void => {
    handle = createProvider(issuer, jwks, url).callback();
  };
  registerConsole("http://127.0.0.1/");
  return {
    issuer,
    keyPair,
    /** The flags of a service that accepts its tokens. */
    flags: { "oidc-issuer": issuer, "oidc-audience": audience },
    /** From now on it accepts requests and answers none. */
    hang() {
      handle = () => {};
    },
    /** Lets the console at this address sign people in. */
    registerConsole,
    /** An access token by the client credentials grant. */
    async token(scope: string) {
      const body = new URLSearchParams({ grant_type: "client_credentials", scope, resource: audience });
      const headers = { Authorization: `Basic ${btoa("greenhouse:not-a-secret")}` };
      const response = await fetch(`${issuer}/token`, { method: "POST", headers, body });
      return ((await response.json()) as { access_token: string }).access_token;
    },
    /** Any token, signed with the provider's key unless another is given. */
    sign: (
      claims: JWTPayload,
      header: Partial<JWTHeaderParameters> = {},
      key: typeof privateKey | Uint8Array = privateKey,
    ) =>
      new SignJWT({ iss: issuer, aud: audience, sub: "alice", client_id: "forger", scope: scopes, ...claims })
        .setProtectedHeader({ alg: "RS256", typ: "at+jwt", kid: keyId, ...header })
        .sign(key),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function inSeconds(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}

function createProvider(issuer: string, jwks: JWKS, consoleUrl: string): Provider {
  return new oidcProvider.Provider(issuer, {
    jwks,
    clients: [
      {
        client_id: "greenhouse",
        client_secret: "not-a-secret",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: "console",
        token_endpoint_auth_method: "none",
        redirect_uris: [consoleUrl],
        application_type: "native",
      },
    ],
    cookies: { keys: ["not-a-secret"] },
    clientBasedCORS: () => true,
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: scopes,
          audience,
          accessTokenFormat: "jwt",
          accessTokenTTL: 600,
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
  });
}
