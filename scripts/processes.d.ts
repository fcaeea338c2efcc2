import type { ChildProcess } from "node:child_process";

export function outputOf(program: string, args: readonly string[], folder?: string): string;

/** A process that a signal ended has the code 1. */
export function finished(child: ChildProcess): Promise<{ readonly code: number; readonly output: string }>;

export function fail(message: string, code?: number): never;
