// Clocks and timers that a test controls. Each is owned by `using`, and the real one is back at the end of its scope.
import { jest, spyOn } from "bun:test";

export interface StoppedClock extends Disposable {
  /** What the clock shows until the test sets it. */
  nowMs: number;
  /** How far each reading advances it; 0 until the test sets it. */
  stepMs: number;
}

/** `performance.now()` stands still until the test sets it. */
export function stoppedClock(nowMs = 0): StoppedClock {
  return stopped((read) => spyOn(performance, "now").mockImplementation(read), nowMs);
}

/** `Date.now()` stands still until the test sets it. */
export function stoppedWallClock(nowMs = Date.now()): StoppedClock {
  return stopped((read) => spyOn(Date, "now").mockImplementation(read), nowMs);
}

/** `performance.now()` runs on, as far ahead of the real one as the test has advanced it. */
export function advancedClock() {
  const realNow = performance.now.bind(performance);
  let aheadMs = 0;
  const spy = spyOn(performance, "now").mockImplementation(() => realNow() + aheadMs);
  return {
    advance(ms: number) {
      aheadMs += ms;
    },
    [Symbol.dispose]: () => spy.mockRestore(),
  };
}

/** Timers that fire only when the test advances them. */
export function fakeTimers() {
  jest.useFakeTimers();
  return {
    advance: (ms: number) => void jest.advanceTimersByTime(ms),
    /** How many have not fired yet. */
    pending: () => jest.getTimerCount(),
    [Symbol.dispose]: () => void jest.useRealTimers(),
  };
}

/**
 * A `setTimeout` whose delays end at once, while `performance.now()` advances by each: for code that waits, in turn, for a timer
 * and for something else. One with the delay `neverMs` never fires.
 */
export function instantDelays(neverMs: number) {
  const stack = new DisposableStack();
  const clock = stack.use(advancedClock());
  const realTimeout = globalThis.setTimeout;
  const lengthsMs: number[] = [];
  const setTimeout = (work: () => void, ms: number) => {
    if (ms === neverMs) return undefined;
    lengthsMs.push(ms);
    clock.advance(ms);
    return realTimeout(work, 0);
  };
  stack.use(spyOn(globalThis, "setTimeout").mockImplementation(setTimeout as never));
  return { lengthsMs, [Symbol.dispose]: () => stack.dispose() };
}

/** A `Bun.sleepSync` that returns at once, while `performance.now()` advances by as much: for a wait that nothing ends. */
export function instantSleeps(): Disposable {
  const stack = new DisposableStack();
  const clock = stack.use(advancedClock());
  stack.use(spyOn(Bun, "sleepSync").mockImplementation((ms) => clock.advance(Number(ms))));
  return stack;
}

function stopped(replace: (read: () => number) => { mockRestore(): void }, nowMs: number): StoppedClock {
  const clock = { nowMs, stepMs: 0, [Symbol.dispose]: () => spy.mockRestore() };
  const spy = replace(() => {
    clock.nowMs += clock.stepMs;
    return clock.nowMs;
  });
  return clock;
}
