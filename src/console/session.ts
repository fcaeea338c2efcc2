import type { CallerJson, MintedTokenJson } from "../operator/responses.ts";
import { Observable } from "./observable.ts";
import type { SignInResponse } from "./sign-in/identity-provider.ts";
import { readStored, removeStored, tryStore } from "./tab-storage.ts";

export type Scope = CallerJson["scopes"][number];

// The browser forgets it when the tab is closed. It is sent only in the Authorization header.
const tokenKey = "plant-store-token";
const tokenEnded = "This token has expired or was revoked. Sign in with another one.";
const sessionEnded = "Your session has ended. Sign in again.";

/** The scopes that a scope is part of. */
const widerScopes: Readonly<Record<Scope, readonly Scope[]>> = {
  "plants:create": [],
  "plants:read": ["operator:read", "operator"],
  "operator:read": ["operator"],
  metrics: ["operator"],
  operator: [],
};

/** Who is signed in to the console in this tab. */
export class Session extends Observable {
  /** The token of this tab, which every request has. When the console is opened, it may be refused. */
  token = readStored(tokenKey);
  /** Whose token it is; undefined while nobody is signed in. */
  caller: CallerJson | undefined;
  /** Why the last session ended; undefined if the user signed out. */
  notice: string | undefined;
  /** What the identity provider has sent back. It can be used once. */
  providerResponse: SignInResponse | undefined;
  /** A new token whose secret is shown. It outlasts the session, which ends if that token replaces the session's own. */
  minted: MintedTokenJson | undefined;

  constructor(providerResponse?: SignInResponse) {
    super();
    this.providerResponse = providerResponse;
  }

  /** Who is signed in, for what is shown only then. */
  get me(): CallerJson {
    if (this.caller === undefined) throw new Error("Nobody is signed in.");
    return this.caller;
  }

  /** Whether the token has the scope, directly or as part of another. */
  may(scope: Scope): boolean {
    return [scope, ...widerScopes[scope]].some((one) => this.me.scopes.includes(one));
  }

  get mayImport(): boolean {
    return this.may("plants:create") && this.may("operator:read");
  }

  signIn(token: string, caller: CallerJson): void {
    tryStore(tokenKey, token);
    this.token = token;
    this.caller = caller;
    this.notice = undefined;
    this.notify();
  }

  signOut(notice?: string): void {
    removeStored(tokenKey);
    this.token = undefined;
    this.caller = undefined;
    this.notice = notice;
    this.notify();
  }

  /** The service has refused the token. A late response to an earlier session's token does not end this one. */
  endWith(token: string | undefined): void {
    if (this.caller !== undefined && token === this.token)
      this.signOut(this.caller.hasJwt ? sessionEnded : tokenEnded);
  }

  /** Shows the secret of a new token, or no longer does. */
  showSecret(minted: MintedTokenJson | undefined): void {
    this.minted = minted;
    this.notify();
  }
}
