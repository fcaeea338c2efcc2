import { descriptorLimit } from "../system/descriptor-limit.ts";

/** How many connections each listener may have open. */
export interface ConnectionBudget {
  readonly publicMax: number;
  readonly operatorMax: number;
}

// The data file and its threads, the database, and whatever inspects the process need these.
const descriptorsReserved = 200;
// The default limit of most systems.
const descriptorsUsual = 1024;
// More than anyone has clients; each connection costs a few kilobytes.
const connectionsMax = 10_000;
// A console needs a handful; exports and scrapes come on top.
const operatorConnectionsMax = 500;

/**
 * Divides the process's file descriptors between the listeners. Each has its own number of connections, so that a flood on the
 * public listener does not lock operators out. (What happens at that number is decided by `wire/connection-limit.ts`.)
 */
export function connectionBudget(descriptors = descriptorLimit() ?? descriptorsUsual): ConnectionBudget {
  const reserved = Math.min(descriptorsReserved, Math.ceil(descriptors / 2));
  const total = Math.max(2, Math.min(connectionsMax, descriptors - reserved));
  const operatorMax = Math.min(operatorConnectionsMax, Math.ceil(total / 8));
  return { publicMax: total - operatorMax, operatorMax };
}
