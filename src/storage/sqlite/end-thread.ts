/** What a thread is told to close its connection, and what it says once that is done. */
export const endThread = "end";

// A long search or count is cut off after this: nobody waits for its answer any more.
const endMsMax = 2000;

/** Ends a thread in good order: the last connection to a data file tidies up after all, so none may be left behind. */
export function ended(thread: Worker): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => end(), endMsMax);
    const end = (): void => {
      clearTimeout(late);
      thread.terminate();
      resolve();
    };
    thread.addEventListener("message", ({ data }) => data === endThread && end());
    thread.addEventListener("error", end);
    thread.addEventListener("close", end);
    thread.postMessage(endThread);
  });
}
