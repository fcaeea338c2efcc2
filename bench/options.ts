export interface BenchOptions {
  /** Whether docs/benchmarks.md and its charts are changed. */
  readonly write: boolean;
  /** One short round, to check that everything works; its numbers mean nothing. */
  readonly quick: boolean;
  readonly positional: readonly string[];
}

/** The options of all benchmarks; the rest are specific to one. */
export function benchOptions(args: readonly string[]): BenchOptions {
  const flags = args.filter((argument) => argument.startsWith("--"));
  const unknown = flags.find((flag) => flag !== "--write" && flag !== "--quick");
  if (unknown !== undefined)
    throw new Error(`There is no option ${unknown}. The options are --quick and --write.`);
  const [write, quick] = [flags.includes("--write"), flags.includes("--quick")];
  if (write && quick) throw new Error("A quick run is too short to be written: use --quick or --write.");
  return { write, quick, positional: args.filter((argument) => !argument.startsWith("--")) };
}

/** Those of this process. Exits with 2 if they are invalid. */
export function ownOptions(): BenchOptions {
  try {
    return benchOptions(process.argv.slice(2));
  } catch (error) {
    console.error((error as Error).message);
    return process.exit(2);
  }
}
