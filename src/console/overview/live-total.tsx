import { useEffect, useState } from "preact/hooks";
import { formatCount } from "../format.ts";
import { useSession } from "../session.ts";

const countUpMs = 450;

/** The number of plants, live. */
export function LiveTotal({ known }: { readonly known: number }) {
  const { feed } = useSession();
  const [total, setTotal] = useState(known);
  useEffect(() => setTotal((previous) => Math.max(previous, known)), [known]);
  useEffect(() => feed.subscribe({ onPlants: (event) => setTotal(Number(event.total)) }), [feed]);
  const animated = useCountUp(total);
  return (
    <>
      <span aria-hidden="true">{formatCount(animated)}</span>
      <span class="visually-hidden">{formatCount(total)}</span>
    </>
  );
}

function useCountUp(target: number): number {
  const [value, setValue] = useState(target);
  useEffect(() => {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return setValue(target);
    const from = value;
    const startMs = performance.now();
    let frame = requestAnimationFrame(function step(nowMs) {
      const progress = Math.min((nowMs - startMs) / countUpMs, 1);
      setValue(Math.round(from + (target - from) * progress));
      if (progress < 1) frame = requestAnimationFrame(step);
    });
    return () => cancelAnimationFrame(frame);
  }, [target]);
  return value;
}
