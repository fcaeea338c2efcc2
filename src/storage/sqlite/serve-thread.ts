import type { ErrorFields, FromThread, ToThread } from "./thread.ts";

declare const self: Worker;

export interface ThreadService {
  /** The functions that the starter may call. */
  readonly calls: object;
  /** Releases what the thread holds, before it is stopped. */
  readonly stop?: () => void;
}

/** The thread's side of a Thread: `start` gets the setting. If it throws, the thread is lost. */
export function serveThread<Setting>(start: (setting: Setting) => ThreadService): void {
  let service: ThreadService | undefined;
  self.onmessage = ({ data }: MessageEvent<ToThread>) => {
    if (data.kind === "start") service = start(data.setting as Setting);
    else if (data.kind === "call") void answer(service?.calls as Functions, data);
    else {
      service?.stop?.();
      post({ kind: "stopped" });
    }
  };
}

type Functions = Readonly<Record<string, (...values: unknown[]) => unknown>>;

async function answer(
  calls: Functions,
  { number, method, values }: ToThread & { readonly kind: "call" },
): Promise<void> {
  try {
    post({ kind: "result", number, result: await calls[method]?.(...values) });
  } catch (error) {
    post({ kind: "error", number, error: fieldsOf(error) });
  }
}

function post(message: FromThread): void {
  self.postMessage(message);
}

function fieldsOf(error: unknown): ErrorFields {
  if (!(error instanceof Error)) return { name: "Error", message: String(error), code: undefined };
  return { name: error.name, message: error.message, code: (error as NodeJS.ErrnoException).code };
}
