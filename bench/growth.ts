import { statSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../test/support/temporary-folder.ts";
import { lineChart } from "./charts.ts";
import { fillStore, type Order } from "./fill-store.ts";
import { type Load, load } from "./load.ts";
import { operatorQueries } from "./operator-queries.ts";
import { type Bench, readMillions } from "./options.ts";
import { table, writeChart, writeSection } from "./page.ts";
import { memoryMb, type Server, startOurs } from "./servers.ts";
import { median } from "./statistics.ts";

interface Store {
  readonly database: string;
  readonly plants: number;
  readonly server: Server;
  readonly bytes: number;
  readonly loads: Load[];
}

interface Point {
  readonly order: Order;
  readonly millions: number;
  readonly rate: number;
  readonly cells: readonly string[];
}

/** Creates on stores that already hold plants, and the operator's queries on the largest of them. */
export const growth: Bench = {
  usage: "[MILLIONS…]",
  summary:
    "creates, latency, memory and file size on stores of that many million plants (0, 1 and 10), and the operator's queries on the largest",
  rounds: 5,
  async run({ positional, rounds, quick, write }) {
    const sizes = positional.length > 0 ? positional.map(readMillions) : quick ? [0, 0.1] : [0, 1, 10];
    const points: Point[] = [];
    let queries = "";
    for (const order of ["sequential", "random"] as const) {
      await using stores = await Stores.fill(sizes, order);
      points.push(...(await stores.measure(rounds, quick ? 0.5 : 4)));
      if (order === "random") queries = await operatorQueries(stores.largest.server);
    }
    const columns = [
      "ids",
      "#millions stored",
      "#creates/s",
      "#p50 µs",
      "#p99 µs",
      "#MB",
      "#bytes per plant",
    ];
    const text = table(
      [...columns, "#start to first 200, ms"],
      points.map(({ cells }) => cells),
    );
    console.log(`${text}\n\n${queries}`);
    if (!write) return;
    writeSection("results/benchmarks.md", "growth", text);
    writeSection(
      "results/benchmarks.md",
      "operator",
      `With ${Math.max(...sizes)} million plants.\n\n${queries}`,
    );
    const line = (order: Order) => ({
      label: `${order} ids`,
      points: points
        .filter((point) => point.order === order)
        .map(({ millions, rate }) => ({ x: millions, y: rate })),
    });
    const chart = lineChart("Creates per second, by millions of plants stored", [
      line("sequential"),
      line("random"),
    ]);
    writeChart("growth.svg", chart);
  },
};

/** Stores of all the sizes at once, loaded in interleaved rounds, so that a slow minute of the machine affects all. */
class Stores implements AsyncDisposable {
  readonly #order: Order;
  readonly #stores: Store[] = [];
  readonly #stack = new AsyncDisposableStack();

  private constructor(order: Order) {
    this.#order = order;
  }

  static async fill(sizes: readonly number[], order: Order): Promise<Stores> {
    const stores = new Stores(order);
    const folder = stores.#stack.use(temporaryFolder());
    for (const millions of sizes) {
      const database = join(folder.path, `${millions}.db`);
      const plants = millions * 1_000_000;
      console.error(`${order} ids: filling a store with ${millions} million plants`);
      fillStore(database, plants, order);
      const bytes = statSync(database).size;
      const server = stores.#stack.use(await startOurs({ database }));
      stores.#stores.push({ database, plants, server, bytes, loads: [] });
    }
    return stores;
  }

  get largest(): Store {
    return this.#stores.reduce((most, store) => (store.plants > most.plants ? store : most));
  }

  async measure(rounds: number, seconds: number): Promise<Point[]> {
    // Filling a large one evicts the others from the page cache, and the first rounds would only measure that.
    for (const { database } of this.#stores) for await (const _ of Bun.file(database).stream());
    const nextIds = this.#stores.map(({ plants }) => plants + 1);
    for (let round = 0; round <= rounds; round++) {
      console.error(`${this.#order} ids: ${round === 0 ? "warming up" : `round ${round} of ${rounds}`}`);
      for (const [index, { server, loads }] of this.#stores.entries()) {
        const options = { connections: 64, seconds, firstId: nextIds[index] ?? 1, order: this.#order };
        const result = await load(server, options);
        nextIds[index] = result.nextId;
        if (round > 0) loads.push(result);
      }
    }
    return Promise.all(this.#stores.map((store) => this.#pointOf(store)));
  }

  async #pointOf({ plants, server, bytes, loads }: Store): Promise<Point> {
    const millions = plants / 1_000_000;
    const [rate, p50Us, p99Us] = (["rate", "p50Us", "p99Us"] as const).map((of) =>
      median(loads.map((one) => one[of])),
    );
    const whole = [rate, p50Us, p99Us, await memoryMb(server.pid)].map((value = 0) => value.toFixed(0));
    const perPlant = plants === 0 ? "" : (bytes / plants).toFixed(1);
    const cells = [this.#order, String(millions), ...whole, perPlant, server.firstAnswerMs.toFixed(0)];
    return { order: this.#order, millions, rate: rate ?? 0, cells };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
