/** Icons are decoration next to text, so they have no accessible name. */
export function Leaf() {
  return (
    <svg class="leaf" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M14.9 30V17.9C7.6 17.4 4 12.5 4 4c7 0 11 3.2 11.9 8.6C17.2 8.2 21 6 28 6c0 7.6-3.6 11.6-10.9 12v12z" />
    </svg>
  );
}

const paths = {
  overview: "M4 19V11M10 19V5M16 19v-6M22 19V8",
  plants: "M4 7h18M4 13h18M4 19h18",
  import: "M13 4v12m0 0l-5-5m5 5l5-5M5 20h16",
  tokens: "M15.5 10.5a4.5 4.5 0 1 0-4.2 4.5L13 16.5h2v2h2v2h4v-3.5l-5.6-5.4z",
  refused: "M13 4a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM6.6 6.6l12.8 12.8",
  system: "M5 5h16v6H5zM5 15h16v6H5zM8 8h3M8 18h3",
  search: "M11.5 18a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13zm5-1.5l5 5",
  plus: "M13 5v16M5 13h16",
  close: "M6 6l14 14M20 6L6 20",
  copy: "M9 9h12v12H9zM5 17V5h12",
  done: "M5 14l5 5L21 8",
  up: "M13 21V5m0 0l-7 7m7-7l7 7",
  "theme-system": "M4 5h18v12H4zM13 17v4M9 21h8",
  "theme-light":
    "M13 8.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM13 2.5v2M13 21.5v2M2.5 13h2M21.5 13h2M5.6 5.6L7 7M19 19l1.4 1.4M5.6 20.4L7 19M19 7l1.4-1.4",
  "theme-dark": "M21 15.5A9 9 0 1 1 10.5 5a7 7 0 0 0 10.5 10.5z",
  leave: "M11 5H5v16h6M16 8l5 5-5 5M21 13H10",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 26 26" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
