/** What a thread is told to close its connection, and what it says once that is done. */
export const endThread = "end";

/** Ends a thread in good order: the last connection to a data file tidies up after all, so none may be left behind. */
export function ended(thread: Worker): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      thread.terminate();
      resolve();
    };
    thread.addEventListener("message", ({ data }) => data === endThread && end());
    thread.addEventListener("error", end);
    thread.addEventListener("close", end);
    thread.postMessage(endThread);
  });
}
