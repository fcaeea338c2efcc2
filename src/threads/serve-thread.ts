import { Channel, type Message } from "./channel.ts";

declare const self: Worker;

export interface ThreadService {
  /** The functions that the starter may call. */
  readonly calls: object;
  /** Releases what the thread holds, before it is stopped. */
  readonly stop?: () => void;
}

/**
 * The thread's side of a Thread: `start` gets the setting, and a way to call the starter back. If it throws, the thread is lost.
 */
export function serveThread<Setting, StarterCalls = object>(
  start: (setting: Setting, starter: Channel<StarterCalls>) => ThreadService,
): void {
  const post = (message: Message): void => self.postMessage(message);
  self.onmessage = ({ data: first }: MessageEvent<Message>) => {
    if (first.kind !== "start") return;
    const channel = new Channel<StarterCalls>(post);
    const { calls, stop } = start(first.setting as Setting, channel);
    channel.serve(calls);
    self.onmessage = ({ data }: MessageEvent<Message>) => {
      if (data.kind !== "stop") return channel.receive(data);
      stop?.();
      post({ kind: "stopped" });
    };
    post({ kind: "started" });
  };
}
