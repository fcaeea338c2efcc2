import { useSession } from "../session.ts";
import { Icon } from "./icons.tsx";

/** Opens the dialog for a new plant. */
export function AddPlantButton() {
  const { addPlant } = useSession();
  return (
    <button type="button" class="primary" onClick={addPlant}>
      <Icon name="plus" /> Add a plant
    </button>
  );
}
