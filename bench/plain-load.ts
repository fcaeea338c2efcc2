import { cc, type Pointer, ptr } from "bun:ffi";
import { join } from "node:path";
import type { Load } from "./servers.ts";

// As in load.c.
const silencesMax = 4000;

/** Open connections to a server. */
export interface PlainLoad extends Disposable {
  /** Blocks this process. */
  run(options: PlainLoadOptions): Omit<Load, "cores">;
}

export interface PlainLoadOptions {
  readonly seconds: number;
  readonly firstId: number;
  readonly isRandom: boolean;
  /** The request line and the headers except the length. */
  readonly head: string;
  /** The body up to the id. */
  readonly bodyOpen: string;
  readonly differing: boolean;
  /** Requests per second; as many as possible if it is 0. */
  readonly rate: number;
}

export function requestHead(path: string, token: string): string {
  return (
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n` +
    "Content-Type: application/json\r\n"
  );
}

/** Compiles load.c, and opens connections with it. */
export function compilePlainLoad(): (port: number, connections: number) => PlainLoad {
  const { symbols } = cc({
    source: join(import.meta.dir, "load.c"),
    symbols: {
      openLoad: { args: ["int", "int"], returns: "ptr" },
      closeLoad: { args: ["ptr"], returns: "void" },
      run: {
        args: ["ptr", "double", "ptr", "ptr", "i64", "int", "int", "double", "ptr", "ptr"],
        returns: "int",
      },
    },
  });
  return (port, connections) => {
    const load = symbols.openLoad(port, connections);
    if (load === null) throw new Error("could not connect");
    return {
      run: (options) => runLoad(symbols.run, load, connections, options),
      [Symbol.dispose]: () => symbols.closeLoad(load),
    };
  };
}

function runLoad(
  run: (...args: (Pointer | number | bigint)[]) => number,
  load: Pointer | bigint,
  connections: number,
  { head, bodyOpen, rate, ...options }: PlainLoadOptions,
): Omit<Load, "cores"> {
  const result = new Float64Array(9);
  const silent = new Float64Array(2 * silencesMax);
  // Named, so that neither is collected before the call.
  const headText = Buffer.from(`${head}\0`);
  const bodyText = Buffer.from(`${bodyOpen}\0`);
  const failed = run(
    load,
    options.seconds,
    ptr(headText),
    ptr(bodyText),
    BigInt(options.firstId),
    Number(options.isRandom),
    Number(options.differing),
    rate > 0 ? (1e6 * connections) / rate : 0,
    ptr(result),
    ptr(silent),
  );
  if (failed !== 0)
    throw new Error(["", "", "could not send", "the server closed a connection", "no answer"][failed]);
  const [
    answered = 0,
    refused = 0,
    nextId = 0,
    elapsedUs = 0,
    p50Us = 0,
    p99Us = 0,
    p999Us = 0,
    maxUs = 0,
    silences = 0,
  ] = result;
  const perSecond = answered / (elapsedUs / 1e6);
  return {
    rate: perSecond,
    answered,
    refused,
    nextId,
    p50Us,
    p99Us,
    p999Us,
    maxUs,
    silences: Array.from({ length: silences }, (_, index) => ({
      startUs: silent[2 * index] ?? 0,
      us: silent[2 * index + 1] ?? 0,
    })),
  };
}
