import type { JWTVerifyOptions, JWTVerifyResult } from "jose";
import type { JwtCaller } from "./jwt-caller.ts";
import { type Fetch, fetchProvider, type Provider } from "./provider.ts";

export interface KeySet {
  readonly provider: Provider;
  /** @throws JOSEError the token is not valid, or not signed with one of these keys. */
  readonly verify: (jwt: string, options: JWTVerifyOptions) => Promise<JWTVerifyResult>;
  /** The callers whose tokens passed, oldest first; by digest, so that its size does not depend on the tokens'. */
  readonly accepted: Map<string, JwtCaller>;
}

export interface ProviderEvents {
  readonly providerUnavailable: (reason: string) => void;
  readonly providerAvailable: () => void;
  /** Tokens that were accepted before must be verified again. */
  readonly keysChanged: () => void;
}

const tickEveryMs = 1000;
const fetchEveryMs = 300_000;
const retryEveryMs = 10_000;
const unknownKeyEveryMs = 30_000;
// For how long the last keys are used while the provider does not respond.
const usableMs = 3_600_000;

/** The identity provider's keys, fetched by one timer. */
export class ProviderKeys implements Disposable {
  readonly #issuer: string;
  readonly #events: ProviderEvents;
  readonly #fetch: Fetch;
  readonly #now: () => number;
  /** Undefined if there are none to use. The same object until the provider publishes something else. */
  current: KeySet | undefined;
  #fetching: Promise<void> | undefined;
  #fetchedMs = Number.NEGATIVE_INFINITY;
  #nextMs = Number.NEGATIVE_INFINITY;
  #nextUnknownMs = Number.NEGATIVE_INFINITY;
  #available = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    issuer: string,
    events: ProviderEvents,
    fetch: Fetch = globalThis.fetch,
    now: () => number = () => performance.now(),
  ) {
    this.#issuer = issuer;
    this.#events = events;
    this.#fetch = fetch;
    this.#now = now;
  }

  start(): void {
    this.tick();
    this.#timer = setInterval(() => this.tick(), tickEveryMs);
  }

  /** Fetches them if it is time to. */
  tick(): void {
    if (this.#now() >= this.#nextMs) void this.#update();
  }

  /** A token names a key that is not there. Settles once it is worth looking again. */
  async fetchUnknown(): Promise<void> {
    if (this.#fetching === undefined) {
      if (this.#now() < this.#nextUnknownMs) return;
      this.#nextUnknownMs = this.#now() + unknownKeyEveryMs;
    }
    return this.#update();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Never rejects. */
  #update(): Promise<void> {
    const startMs = this.#now();
    this.#fetching ??= this.#fetchAll().finally(() => {
      this.#nextMs = startMs + (this.#available ? fetchEveryMs : retryEveryMs);
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetchAll(): Promise<void> {
    try {
      const provider = await fetchProvider(this.#issuer, this.#fetch);
      // Loading it takes tens of milliseconds, which a service without an identity provider does not pay.
      const { createLocalJWKSet, jwtVerify } = await import("jose");
      const find = createLocalJWKSet(provider);
      if (JSON.stringify(provider) !== JSON.stringify(this.current?.provider))
        this.#replace({
          provider,
          verify: (jwt, options) => jwtVerify(jwt, find, options),
          accepted: new Map(),
        });
      this.#fetchedMs = this.#now();
      if (!this.#available) this.#events.providerAvailable();
      this.#available = true;
    } catch (error) {
      if (this.#available) this.#events.providerUnavailable((error as Error).message);
      this.#available = false;
      const isOld = this.#now() - this.#fetchedMs >= usableMs;
      if (isOld && this.current !== undefined) this.#replace(undefined);
    }
  }

  #replace(current: KeySet | undefined): void {
    this.current = current;
    this.#events.keysChanged();
  }
}
