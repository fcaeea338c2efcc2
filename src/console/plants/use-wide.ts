import { useEffect, useState } from "preact/hooks";

// The same breakpoint as in style/plants.css.
const wideScreen = "(min-width: 48rem)";

export function useWide(): boolean {
  const [wide, setWide] = useState(() => matchMedia(wideScreen).matches);
  useEffect(() => {
    const query = matchMedia(wideScreen);
    const onChange = (): void => setWide(query.matches);
    query.addEventListener("change", onChange);
    return () => query.removeEventListener("change", onChange);
  }, []);
  return wide;
}
