/** The sockets on which a service listens, in shared memory after the count of the waits. */
const sockets = ["public", "operator"] as const;
type SocketName = (typeof sockets)[number];
const noSocket = -1;

/** Whether one thread waits for the disk, and on which sockets it listens, for another thread to see. Only the first one writes. */
export class DiskWait {
  readonly memory: SharedArrayBuffer;
  readonly #numbers: Int32Array;

  constructor(memory?: SharedArrayBuffer) {
    this.memory = memory ?? new SharedArrayBuffer((1 + sockets.length) * Int32Array.BYTES_PER_ELEMENT);
    this.#numbers = new Int32Array(this.memory);
    if (memory === undefined) this.#numbers.fill(noSocket, 1);
  }

  /** Counts the beginning and the end of each wait, so that the number is odd during one. Costs nanoseconds for each batch. */
  readonly set = (waits: boolean): void => {
    if (waits !== (this.current !== undefined)) Atomics.add(this.#numbers, 0, 1);
  };

  /** Undefined where it does not wait; another number for each wait. */
  get current(): number | undefined {
    const count = Atomics.load(this.#numbers, 0);
    return count % 2 === 0 ? undefined : count;
  }

  /** What it returns is called with undefined where it no longer listens. */
  socketSetter(name: SocketName): (socket: number | undefined) => void {
    const index = 1 + sockets.indexOf(name);
    return (socket) => void Atomics.store(this.#numbers, index, socket ?? noSocket);
  }

  /** Undefined where it does not listen. */
  socket(name: SocketName): number | undefined {
    const socket = Atomics.load(this.#numbers, 1 + sockets.indexOf(name));
    return socket === noSocket ? undefined : socket;
  }
}
