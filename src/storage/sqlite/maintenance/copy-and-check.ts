import { DataFileProblem } from "../data-file-problem.ts";

export type MaintenanceTask =
  | { readonly kind: "copy"; readonly path: string; readonly to: string }
  | { readonly kind: "check"; readonly path: string };

export type MaintenanceAnswer = { readonly problems: readonly string[] } | { readonly failed: string };

/** Writes all that a data file holds at this moment into a new one. Nobody who writes to the first waits for it. */
export async function copyDatabase(path: string, to: string): Promise<void> {
  await inThread({ kind: "copy", path, to });
}

/** What SQLite finds wrong in a data file, its indexes included; nothing, in a sound one. */
export function checkDatabase(path: string): Promise<readonly string[]> {
  return inThread({ kind: "check", path });
}

async function inThread(task: MaintenanceTask): Promise<readonly string[]> {
  const thread = new Worker(new URL("./copy-and-check-thread.ts", import.meta.url).href);
  try {
    const answer = await new Promise<MaintenanceAnswer>((resolve) => {
      thread.onmessage = ({ data }: MessageEvent<MaintenanceAnswer>) => resolve(data);
      thread.onerror = (event) => {
        event.preventDefault();
        resolve({ failed: event.message });
      };
      thread.addEventListener("close", () => resolve({ failed: "the thread ended" }));
      thread.postMessage(task);
    });
    if ("failed" in answer) {
      const what = task.kind === "copy" ? `cannot be copied to ${task.to}` : "cannot be read";
      throw new DataFileProblem(`${task.path} ${what}: ${answer.failed}.`);
    }
    return answer.problems;
  } finally {
    thread.terminate();
  }
}
