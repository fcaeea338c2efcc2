import type { Caller } from "../access/scopes.ts";
import { clientGone, type Exchange } from "../http/exchange.ts";
import { Refusal } from "../http/refusal.ts";

const waitingMax = 32;

/** What waits for whom: everything of one caller, one after the other. */
interface Chain {
  /** Settles when the last of them ends. */
  end: Promise<void>;
  /** How many there are: one that reads, and those that wait. */
  length: number;
}

/**
 * Lets each caller read one thing at a time. The store reads for one after the other, so whatever a caller asks for, a request of
 * anyone else waits for one of its reads at most.
 */
export class CallerTurns {
  /** By the name of the caller. One that neither reads nor waits has none. */
  readonly #chains = new Map<string, Chain>();

  /**
   * Reads when the caller has its turn, which ends with the read.
   * @throws Refusal too many requests of the caller wait already.
   */
  take<Value>(exchange: Exchange, caller: Caller, read: () => Promise<Value>): Promise<Value> {
    const length = this.#chains.get(caller.name)?.length ?? 0;
    if (length > waitingMax)
      throw new Refusal(
        "too-busy",
        `This token already has ${waitingMax} requests that wait for their turn to read. Try again when one has finished.`,
      );
    return this.await(exchange, caller, read);
  }

  /**
   * Like `take`, but for what runs already, such as an export: it only waits. Rejects with `clientGone`, and does not read, if there
   * is no one left to read for.
   */
  async await<Value>(exchange: Exchange, { name }: Caller, read: () => Promise<Value>): Promise<Value> {
    const turn = Promise.withResolvers<void>();
    const chain = this.#chains.getOrInsertComputed(name, () => ({ end: Promise.resolve(), length: 0 }));
    const before = chain.end;
    chain.end = turn.promise;
    chain.length++;
    await before;
    try {
      if (!exchange.isOpen) throw clientGone;
      return await read();
    } finally {
      chain.length--;
      if (chain.length === 0) this.#chains.delete(name);
      turn.resolve();
    }
  }
}
