/** The listening sockets of a service, in shared memory after the count of waits. */
const sockets = ["public", "operator"] as const;
type SocketName = (typeof sockets)[number];
const noSocket = -1;

/** Tells another thread whether this one is waiting for the disk, and on which sockets it listens. Only this one writes. */
export class DiskWait {
  readonly memory: SharedArrayBuffer;
  readonly #numbers: Int32Array;

  constructor(memory?: SharedArrayBuffer) {
    this.memory = memory ?? new SharedArrayBuffer((1 + sockets.length) * Int32Array.BYTES_PER_ELEMENT);
    this.#numbers = new Int32Array(this.memory);
    if (memory === undefined) this.#numbers.fill(noSocket, 1);
  }

  /** Counts the beginning and the end of each wait, so the number is odd during one. Costs nanoseconds per batch. */
  readonly set = (waits: boolean): void => {
    if (waits !== (this.current !== undefined)) Atomics.add(this.#numbers, 0, 1);
  };

  /** Undefined if it is not waiting; a different number for each wait. */
  get current(): number | undefined {
    const count = Atomics.load(this.#numbers, 0);
    return count % 2 === 0 ? undefined : count;
  }

  /** To be called with undefined once it no longer listens. */
  socketSetter(name: SocketName): (socket: number | undefined) => void {
    const index = 1 + sockets.indexOf(name);
    return (socket) => void Atomics.store(this.#numbers, index, socket ?? noSocket);
  }

  /** Undefined if it does not listen. */
  socket(name: SocketName): number | undefined {
    const socket = Atomics.load(this.#numbers, 1 + sockets.indexOf(name));
    return socket === noSocket ? undefined : socket;
  }
}
