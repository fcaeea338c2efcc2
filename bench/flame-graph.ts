/** A CPU profile as Bun's --cpu-prof writes it, which is Chrome's format. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  /** The node that ran at each sample. */
  readonly samples: readonly number[];
}

export interface Frame {
  readonly name: string;
  /** The module that it belongs to, or the runtime. */
  readonly module: string;
  /** Its callees' included. */
  samples: number;
  readonly callees: Map<string, Frame>;
}

const width = 1200;
const rowHeight = 18;
const top = 40;
// A narrower bar cannot be seen.
const sharesMin = 0.0015;
const characterWidth = 6.2;
const colours: Readonly<Record<string, string>> = {
  http: "#8ecae6",
  public: "#a7c957",
  plants: "#6fbf73",
  access: "#f4a3a3",
  storage: "#f6bd60",
  telemetry: "#cdb4db",
  runtime: "#c9ced3",
};

/**
 * The samples' stacks, merged: equal calls of one caller are one frame. Each sample has the same weight, whatever time passed since
 * the last: none are taken while the event loop waits, and the next would get all of that time.
 */
export function mergeStacks({ nodes, samples }: CpuProfile): Frame {
  const root = newFrame("all", "runtime");
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const callers = new Map<number, number>();
  for (const { id, children = [] } of nodes) for (const child of children) callers.set(child, id);
  const countOf = new Map<number, number>();
  for (const id of samples) countOf.set(id, (countOf.get(id) ?? 0) + 1);
  for (const [id, count] of countOf) {
    const stack: number[] = [];
    for (let at: number | undefined = id; at !== undefined; at = callers.get(at)) stack.unshift(at);
    root.samples += count;
    let frame = root;
    // The first is the profile's own root.
    for (const nodeId of stack.slice(1)) {
      const { functionName = "", url = "" } = byId.get(nodeId)?.callFrame ?? {};
      const name = functionName || "(anonymous)";
      const key = `${name} ${url}`;
      const callee = frame.callees.get(key) ?? newFrame(name, moduleOf(url));
      frame.callees.set(key, callee);
      callee.samples += count;
      frame = callee;
    }
  }
  return root;
}

/** A static picture: callers above callees, the widest first. */
export function flameGraph(root: Frame, title: string): string {
  const bars: string[] = [];
  const depth = draw(root, root.samples, 0, 0, bars);
  const height = top + depth * rowHeight + 34;
  const legend = Object.entries(colours).map(
    ([name, colour], index) =>
      `<rect x="${index * 110}" y="${height - 22}" width="12" height="12" fill="${colour}"/><text x="${index * 110 + 16}" y="${height - 12}" fill="#8a938d">${name}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" font-family="ui-monospace, monospace" font-size="10" role="img" aria-label="${escaped(title)}">
<text x="0" y="22" font-size="14" fill="#8a938d">${escaped(title)}</text>
${[...bars, ...legend].join("\n")}
</svg>
`;
}

/** Returns how many rows it needed. */
function draw(frame: Frame, total: number, x: number, row: number, bars: string[]): number {
  const share = frame.samples / Math.max(1, total);
  if (share < sharesMin) return row;
  const barWidth = share * width;
  const y = top + row * rowHeight;
  const label = frame.name.slice(0, Math.max(0, Math.floor((barWidth - 6) / characterWidth)));
  const text =
    label.length < 3 ? "" : `<text x="${(x + 3).toFixed(1)}" y="${y + 12}">${escaped(label)}</text>`;
  bars.push(
    `<g><title>${escaped(frame.name)} (${frame.module}): ${(share * 100).toFixed(1)}%</title><rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(0.5, barWidth - 0.5).toFixed(1)}" height="${rowHeight - 1}" fill="${colours[frame.module] ?? colours["runtime"]}"/>${text}</g>`,
  );
  let deepest = row + 1;
  let at = x;
  for (const callee of [...frame.callees.values()].sort((one, other) => other.samples - one.samples)) {
    deepest = Math.max(deepest, draw(callee, total, at, row + 1, bars));
    at += (callee.samples / total) * width;
  }
  return deepest;
}

function newFrame(name: string, module: string): Frame {
  return { name, module, samples: 0, callees: new Map() };
}

function moduleOf(url: string): string {
  return /\/src\/(\w+)\//.exec(url)?.[1] ?? "runtime";
}

function escaped(value: string): string {
  return value
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
