import { clientNetwork } from "./client-address.ts";
import type { Exchange } from "./exchange.ts";
import { heldConnectionsMax } from "./wire/connection-limit.ts";

interface Client {
  failures: number;
  /** How many of its responses are being held. */
  held: number;
  lastMs: number;
}

export interface FailedCredentialsOptions {
  /** How many connections the listener may have open. */
  readonly connectionsMax: number;
  /** Called at the tenth failure of a client, the hundredth, and so on. */
  readonly onMany: (address: string, failures: number) => void;
  readonly now?: () => number;
}

// Someone who mistyped a token, or a job whose token has expired, is not slowed.
const undelayedFailures = 10;
const firstDelayMs = 10;
const delayMsMax = 1000;
const forgottenAfterMs = 60_000;
const clientsMax = 10_000;

/**
 * Slows down guessing: the more credentials of one client have failed, the longer each further failure waits for its
 * response. Nothing else from that client waits.
 */
export class FailedCredentials {
  readonly #onMany: FailedCredentialsOptions["onMany"];
  readonly #now: () => number;
  readonly #heldMax: number;
  // In the order of their last failure.
  readonly #clients = new Map<string, Client>();
  #held = 0;

  constructor({ connectionsMax, onMany, now = () => performance.now() }: FailedCredentialsOptions) {
    this.#onMany = onMany;
    this.#now = now;
    this.#heldMax = heldConnectionsMax(connectionsMax);
  }

  /** How many responses are being held. */
  get held(): number {
    return this.#held;
  }

  /** Responds, now or later. If too many already wait, now, and the client needs a new connection for its next guess. */
  respond(exchange: Pick<Exchange, "address" | "closeAfterResponse">, send: () => void): void {
    const client = this.#fail(exchange.address);
    const delayMs = delayAfter(client.failures);
    if (delayMs === 0) return send();
    if (this.#held >= this.#heldMax || client.held >= Math.ceil(this.#heldMax / 4)) {
      exchange.closeAfterResponse();
      return send();
    }
    this.#held++;
    client.held++;
    setTimeout(() => {
      this.#held--;
      client.held--;
      send();
    }, delayMs);
  }

  #fail(address: string): Client {
    const network = clientNetwork(address);
    const nowMs = this.#now();
    const known = this.#clients.get(network);
    const client = known ?? { failures: 0, held: 0, lastMs: nowMs };
    if (nowMs - client.lastMs > forgottenAfterMs) client.failures = 0;
    client.failures++;
    client.lastMs = nowMs;
    this.#clients.delete(network);
    this.#clients.set(network, client);
    if (this.#clients.size > clientsMax) this.#forgetOldest();
    if (client.failures >= 10 && Number.isInteger(Math.log10(client.failures)))
      this.#onMany(address, client.failures);
    return client;
  }

  #forgetOldest(): void {
    for (const network of this.#clients.keys()) return void this.#clients.delete(network);
  }
}

function delayAfter(failures: number): number {
  if (failures <= undelayedFailures) return 0;
  return Math.min(delayMsMax, firstDelayMs * 2 ** (failures - undelayedFailures - 1));
}
