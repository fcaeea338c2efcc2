/** The plants that tell most about a recorded store. */
export const extremes = [
  { id: -9223372036854775808n, name: "Fern", tag: "indoor" },
  { id: 0n, name: "Größe 🌱\n", tag: "日本" },
  { id: 9007199254740993n, name: "", tag: "" },
  { id: 9223372036854775807n, name: "Moss", tag: null },
];
/** It was stored last in the file that was copied in use. */
export const onlyInWal = { id: 2n, name: "Only in the WAL", tag: null };
