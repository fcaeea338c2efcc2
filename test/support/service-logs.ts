// The logs of the services that a test uses, which it prints when it fails.

const running = new Set<() => string>();
let ended: string[] = [];
const tailCharacters = 2000;

/** Adds a log to what a failing test prints. Returns what to call once the service has ended. */
export function printIfTestFails(log: () => string): () => void {
  running.add(log);
  return () => {
    if (running.delete(log)) ended.push(tail(log()));
  };
}

/** The end of what each service has logged: those that run, and those that ended during this test. */
export function serviceLogs(): string {
  return [...ended, ...Array.from(running, (log) => tail(log()))].filter((text) => text !== "").join("\n");
}

/** A new test starts. */
export function forgetEndedServices(): void {
  ended = [];
}

function tail(log: string): string {
  return log.slice(-tailCharacters);
}
