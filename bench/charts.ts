// Small SVG charts that read well on light and dark pages alike: no background, middle greys, one green.
const green = "#3a8f5c";
const grey = "#8a938d";
const text = `font-family="system-ui, sans-serif" fill="${grey}"`;

export interface Bar {
  readonly label: string;
  readonly note: string;
  readonly value: number;
  readonly isOurs: boolean;
}

export function barChart(title: string, bars: readonly Bar[]): string {
  const rowHeight = 34;
  const left = 230;
  const width = 820;
  const most = Math.max(...bars.map(({ value }) => value));
  const rows = bars.map(({ label, note, value, isOurs }, index) => {
    const y = 44 + index * rowHeight;
    const length = Math.max(1, ((width - left - 80) * value) / most);
    return [
      `<text x="${left - 12}" y="${y + 11}" text-anchor="end" font-size="13" ${text}>${escaped(label)}</text>`,
      `<text x="${left - 12}" y="${y + 24}" text-anchor="end" font-size="10" ${text}>${escaped(note)}</text>`,
      `<rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="20" rx="3" fill="${isOurs ? green : grey}" opacity="${isOurs ? 1 : 0.55}"/>`,
      `<text x="${(left + length + 8).toFixed(1)}" y="${y + 15}" font-size="13" ${text}>${grouped(value)}</text>`,
    ].join("");
  });
  return svg(width, 60 + bars.length * rowHeight, title, rows.join("\n"));
}

export interface Line {
  readonly label: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

export function lineChart(title: string, lines: readonly Line[]): string {
  const width = 820;
  const height = 320;
  // Margins, for the title, the labels and the numbers.
  const left = 70;
  const top = 50;
  const right = 110;
  const bottom = 40;
  const all = lines.flatMap(({ points }) => points);
  const xMost = Math.max(...all.map(({ x }) => x), 1);
  const step = roundStep(Math.max(...all.map(({ y }) => y)) / 4);
  const yMost = 4 * step;
  const x = (value: number) => left + ((width - left - right) * value) / xMost;
  const y = (value: number) => height - bottom - ((height - top - bottom) * value) / yMost;
  const grid = [0, 1, 2, 3, 4].map((steps) => {
    const at = y(steps * step).toFixed(1);
    return `<line x1="${left}" x2="${width - right}" y1="${at}" y2="${at}" stroke="${grey}" opacity="0.25"/><text x="${left - 10}" y="${Number(at) + 4}" text-anchor="end" font-size="12" ${text}>${grouped(steps * step)}</text>`;
  });
  const marks = [...new Set(all.map((point) => point.x))].map(
    (value) =>
      `<text x="${x(value).toFixed(1)}" y="${height - bottom + 20}" text-anchor="middle" font-size="12" ${text}>${value}</text>`,
  );
  const curves = lines.map(({ label, points }, index) => {
    const colour = index === 0 ? green : grey;
    const path = points.map((point) => `${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}`);
    const last = points.at(-1);
    return [
      `<polyline points="${path.join(" ")}" fill="none" stroke="${colour}" stroke-width="2.5"/>`,
      ...path.map(
        (point) => `<circle cx="${point.split(",")[0]}" cy="${point.split(",")[1]}" r="4" fill="${colour}"/>`,
      ),
      last === undefined
        ? ""
        : `<text x="${(x(last.x) + 12).toFixed(1)}" y="${(y(last.y) + 4).toFixed(1)}" font-size="13" ${text}>${escaped(label)}</text>`,
    ].join("");
  });
  return svg(width, height, title, [...grid, ...marks, ...curves].join("\n"));
}

/** The next number at or above this that reads well: 1, 2 or 5 with zeros. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return power * ([1, 2, 5].find((digit) => digit * power >= least) ?? 10);
}

function grouped(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function svg(width: number, height: number, title: string, content: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${escaped(title)}">
<text x="16" y="24" font-size="15" font-weight="600" ${text}>${escaped(title)}</text>
${content}
</svg>
`;
}

function escaped(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
