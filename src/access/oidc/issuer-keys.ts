import type { JWK } from "jose";
import {
  discoverProvider,
  fetchObject,
  type ProviderMetadata,
  ProviderProblem,
} from "./provider-metadata.ts";

export interface IssuerKeysEvents {
  readonly providerUnavailable: (reason: string) => void;
  readonly providerAvailable: () => void;
  /** Undefined once the keys are too old to be trusted. */
  readonly onKeys: (keys: readonly JWK[] | undefined) => void;
}

export interface IssuerKeysTiming {
  /** A withdrawn key is refused after at most this long, while the provider responds. */
  readonly refreshEveryMs: number;
  readonly retryAfterMs: number;
  /** However many tokens with unknown keys arrive, the provider is asked no more often. */
  readonly unknownKeyEveryMs: number;
  /** How long known keys are used while the provider does not respond. */
  readonly keepMs: number;
  readonly fetchTimeoutMs: number;
}

const defaultTiming: IssuerKeysTiming = {
  refreshEveryMs: 300_000,
  retryAfterMs: 10_000,
  unknownKeyEveryMs: 30_000,
  keepMs: 86_400_000,
  fetchTimeoutMs: 5000,
};
const keysMax = 100;

/** The provider's public keys, refreshed regularly. */
export class IssuerKeys implements Disposable {
  readonly #issuer: string;
  readonly #events: IssuerKeysEvents;
  readonly #timing: IssuerKeysTiming;
  #metadata: ProviderMetadata | undefined;
  #fetching: Promise<void> | undefined;
  #fetchedMs: number | undefined;
  #unknownKeyMs = Number.NEGATIVE_INFINITY;
  #available = true;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(issuer: string, events: IssuerKeysEvents, timing: IssuerKeysTiming = defaultTiming) {
    this.#issuer = issuer;
    this.#events = events;
    this.#timing = timing;
  }

  get metadata(): ProviderMetadata | undefined {
    return this.#metadata;
  }

  /** Settles after the first attempt, whether it succeeded or not. */
  start(): Promise<void> {
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  /** A token names a key that is not known; settles once it is worth looking again. */
  async refresh(): Promise<void> {
    if (this.#fetching !== undefined) return this.#fetching;
    const nowMs = performance.now();
    if (this.#stopped || nowMs - this.#unknownKeyMs < this.#timing.unknownKeyEveryMs) return;
    this.#unknownKeyMs = nowMs;
    return this.start();
  }

  [Symbol.dispose](): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #fetch(): Promise<void> {
    clearTimeout(this.#timer);
    try {
      const { fetchTimeoutMs } = this.#timing;
      this.#metadata = await discoverProvider(this.#issuer, fetchTimeoutMs);
      const { jwksUri } = this.#metadata;
      const keys = await fetchKeys(jwksUri, fetchTimeoutMs);
      this.#fetchedMs = performance.now();
      this.#events.onKeys(keys);
      if (!this.#available) this.#events.providerAvailable();
      this.#available = true;
    } catch (error) {
      if (this.#available) this.#events.providerUnavailable((error as Error).message);
      this.#available = false;
      const ageMs = performance.now() - (this.#fetchedMs ?? Number.NEGATIVE_INFINITY);
      if (ageMs >= this.#timing.keepMs) this.#events.onKeys(undefined);
    }
    if (this.#stopped) return;
    const { refreshEveryMs, retryAfterMs } = this.#timing;
    this.#timer = setTimeout(() => void this.start(), this.#available ? refreshEveryMs : retryAfterMs);
    this.#timer.unref();
  }
}

/**
 * The public keys at the provider's `jwks_uri`.
 * @throws ProviderProblem
 */
export async function fetchKeys(url: string, timeoutMs: number): Promise<JWK[]> {
  const { keys } = await fetchObject(url, timeoutMs);
  if (!Array.isArray(keys) || keys.length > keysMax)
    throw new ProviderProblem(`${url}: "keys" is not a list of at most ${keysMax} keys`);
  // A symmetric key has no place among public keys.
  const isPublic = (key: unknown): key is JWK =>
    typeof key === "object" && key !== null && ["RSA", "EC", "OKP"].includes((key as JWK).kty ?? "");
  return keys.filter(isPublic);
}
