import { useEffect, useState } from "preact/hooks";

// The same line as in style/plants.css, where a row of the table becomes two lines.
const wideScreen = "(min-width: 48rem)";

export function useWide(): boolean {
  const [wide, setWide] = useState(() => matchMedia(wideScreen).matches);
  useEffect(() => {
    const query = matchMedia(wideScreen);
    const follow = (): void => setWide(query.matches);
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  return wide;
}
