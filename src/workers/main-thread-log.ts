import { type Log, levels } from "../telemetry/log.ts";
import type { Channel } from "../threads/channel.ts";
import type { MainCalls } from "./messages.ts";

/** The main thread's log, for another thread. */
export function mainThreadLog(main: Pick<Channel<Pick<MainCalls, "log">>, "tell">): Log {
  const entries = levels.map((level) => {
    const write: Log["info"] = (message, fields = {}) => main.tell("log", level, message, fields);
    return [level, write] as const;
  });
  return Object.fromEntries(entries) as unknown as Log;
}
