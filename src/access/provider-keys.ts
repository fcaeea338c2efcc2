import type { JWK, JWTVerifyOptions, JWTVerifyResult } from "jose";
import { RecentMap } from "../cache/recent-map.ts";
import { messageOf } from "../system/errors.ts";
import { isLoopbackHttp } from "../system/ip-address.ts";
import { hourMs, minuteMs } from "../text/duration.ts";
import type { Caller } from "./scopes.ts";

/** Whose tokens are accepted. */
export interface OidcSettings {
  readonly issuer: string;
  readonly audience: string;
  /** The console's own client; its tokens belong to the people who signed in. */
  readonly clientId: string | undefined;
}

/** What an identity provider publishes (OpenID Connect Discovery 1.0). */
export interface Provider {
  readonly keys: JWK[];
  /** Undefined if it has none; the console then offers no sign-in. */
  readonly authorizationEndpoint: string | undefined;
  readonly tokenEndpoint: string | undefined;
}

export interface KeySet {
  readonly provider: Provider;
  /** @throws JOSEError the token is not valid, or not signed with one of these keys. */
  readonly verify: (jwt: string, options: JWTVerifyOptions) => Promise<JWTVerifyResult>;
  /** The callers whose tokens passed; by digest, so that its size does not depend on the tokens'. */
  readonly accepted: RecentMap<string, Caller>;
}

export interface ProviderEvents {
  providerUnavailable(reason: string): void;
  providerAvailable(): void;
}

const acceptedMax = 20_000;
const fetchEveryMs = minuteMs;
const unknownKeyEveryMs = 10_000;
// How long the last keys are used while the provider does not respond.
const usableMs = hourMs;
// How many tokens that waited for a fetch continue in one turn of the event loop.
const tokensPerTurn = 256;
const responseMsMax = 5000;
const responseBytesMax = 512 * 1024;

/** The identity provider's keys, fetched by one timer. */
export class ProviderKeys implements Disposable {
  readonly settings: OidcSettings;
  readonly #events: ProviderEvents;
  readonly #now: () => number;
  #current: KeySet | undefined;
  #fetching: Promise<void> | undefined;
  #fetchedMs = Number.NEGATIVE_INFINITY;
  #nextUnknownMs = Number.NEGATIVE_INFINITY;
  #isAvailable = true;
  /** Aborted by the stop, and with it a fetch in progress, which then logs nothing: "stopped" is the last line of the log. */
  readonly #stopping = new AbortController();
  readonly #waitingForTurn: (() => void)[] = [];
  #onChange: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: OidcSettings, events: ProviderEvents, now: () => number = () => performance.now()) {
    this.settings = settings;
    this.#events = events;
    this.#now = now;
  }

  /** The keys in use, if there are any. It is the same object until the provider publishes something else. */
  get current(): KeySet | undefined {
    return this.#current;
  }

  /** Calls the listener whenever the keys change: tokens that were accepted before must be verified again. */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  start(): void {
    void this.update();
    this.#timer = setInterval(() => this.update(), fetchEveryMs);
  }

  /** Fetches the keys, unless that is in progress. It never rejects. */
  update(): Promise<void> {
    this.#fetching ??= this.#fetchAll().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  /**
   * A token names a key that is not there. Settles once it is worth looking again: true if the provider has published its keys
   * since the token came, or a moment before; false if it does not respond, so that nobody can know whether the key is valid.
   */
  async fetchUnknown(): Promise<boolean> {
    const askedMs = this.#now();
    if (this.#fetching === undefined) {
      if (askedMs < this.#nextUnknownMs) return this.#hasFetchedSince(askedMs);
      this.#nextUnknownMs = askedMs + unknownKeyEveryMs;
    }
    await this.update();
    await this.#turn();
    return this.#hasFetchedSince(askedMs);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#stopping.abort();
  }

  async #fetchAll(): Promise<void> {
    const stopping = this.#stopping.signal;
    try {
      const provider = await fetchProvider(this.settings.issuer, stopping);
      // Loading it takes tens of milliseconds, which a service without an identity provider does not pay.
      const { createLocalJWKSet, jwtVerify } = await import("jose");
      const find = createLocalJWKSet(provider);
      if (JSON.stringify(provider) !== JSON.stringify(this.#current?.provider))
        this.#replace({
          provider,
          verify: (jwt, options) => jwtVerify(jwt, find, options),
          accepted: new RecentMap(acceptedMax),
        });
      this.#fetchedMs = this.#now();
      if (!this.#isAvailable && !stopping.aborted) this.#events.providerAvailable();
      this.#isAvailable = true;
    } catch (error) {
      if (this.#isAvailable && !stopping.aborted) this.#events.providerUnavailable(messageOf(error));
      this.#isAvailable = false;
      const isOld = this.#now() - this.#fetchedMs >= usableMs;
      if (isOld && this.#current !== undefined) this.#replace(undefined);
    }
  }

  /** Thousands of tokens may wait for one fetch. If all went on at once, everyone else would wait for them. */
  #turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waitingForTurn.push(resolve);
    if (this.#waitingForTurn.length === 1) setImmediate(() => this.#runTurns());
    return promise;
  }

  #runTurns(): void {
    for (const resolve of this.#waitingForTurn.splice(0, tokensPerTurn)) resolve();
    if (this.#waitingForTurn.length > 0) setImmediate(() => this.#runTurns());
  }

  /** Whether the keys were fetched since then, or so shortly before that they are not fetched again. */
  #hasFetchedSince(timeMs: number): boolean {
    return timeMs - this.#fetchedMs < unknownKeyEveryMs;
  }

  #replace(current: KeySet | undefined): void {
    this.#current = current;
    this.#onChange();
  }
}

/** @throws Error it did not respond, or not as expected; the message is for the operator. */
async function fetchProvider(issuer: string, stopping: AbortSignal): Promise<Provider> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const metadata = await fetchObject(url, stopping);
  // They must be equal, as the specification demands: otherwise one tenant could answer for another.
  if (metadata["issuer"] !== issuer)
    throw new Error(`${url} names an issuer other than --oidc-issuer; both must be equal`);
  const endpoint = (name: string): string | undefined => {
    const value = metadata[name];
    if (value === undefined || (typeof value === "string" && isTrustedUrl(value, issuer))) return value;
    throw new Error(`${url} names a ${name} that is not an https URL`);
  };
  const jwksUri = endpoint("jwks_uri");
  if (jwksUri === undefined) throw new Error(`${url} names no jwks_uri`);
  const { keys } = await fetchObject(jwksUri, stopping);
  if (!Array.isArray(keys)) throw new Error(`${jwksUri}: "keys" is not a list`);
  return {
    // Sorted, because some providers list the same keys in another order each time.
    keys: keys.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    authorizationEndpoint: endpoint("authorization_endpoint"),
    tokenEndpoint: endpoint("token_endpoint"),
  };
}

/** Whether the provider's credentials may be sent there: https, or plain http on loopback if the issuer is on loopback too. */
export function isTrustedUrl(text: string, issuer: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "https:" || (issuer.startsWith("http:") && url !== null && isLoopbackHttp(url));
}

/** Follows no redirect, so that nobody but the provider decides where keys come from. */
async function fetchObject(url: string, stopping: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
  try {
    const headers = { Accept: "application/json" };
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(responseMsMax)]);
    const response = await fetch(url, { redirect: "error", headers, signal });
    if (!response.ok) throw new Error(`the response is ${response.status}`);
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of response.body ?? []) {
      bytes += piece.length;
      if (bytes > responseBytesMax)
        throw new Error(`the response is over the limit of ${responseBytesMax} bytes`);
      pieces.push(piece);
    }
    return Object(JSON.parse(Buffer.concat(pieces).toString()));
  } catch (error) {
    const reason = error instanceof SyntaxError ? "the response is not JSON" : messageOf(error);
    throw new Error(`${url}: ${reason}`);
  }
}
